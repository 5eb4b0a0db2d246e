"""A function as a Runnable, under the name by which programs import it."""

from runtime.pregel.call import RunnableCallable, RunnableLike

__all__ = ("RunnableCallable", "RunnableLike")
