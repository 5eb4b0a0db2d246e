"""A graph runtime in the Pregel (bulk synchronous parallel) manner, with LangGraph's public API.

A superstep is plan, execute, update; the barrier is the moment between execute and update. A LangGraph program runs
here when `langgraph` becomes `runtime` in its imports: `runtime.graph`, `runtime.types`, `runtime.checkpoint.memory`.
"""
