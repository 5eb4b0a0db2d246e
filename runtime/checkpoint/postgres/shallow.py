"""The savers that keep only the newest checkpoint of each thread and namespace, in both colours."""

from runtime.checkpoint.postgres import ShallowPostgresSaver
from runtime.checkpoint.postgres.aio import AsyncShallowPostgresSaver

__all__ = ("AsyncShallowPostgresSaver", "ShallowPostgresSaver")
