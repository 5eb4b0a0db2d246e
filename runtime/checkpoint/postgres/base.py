"""What the savers of PostgreSQL have in common: all but the waiting."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from runtime.checkpoint.base import (
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    FrozenCheckpoint,
    Shelf,
    Written,
)
from runtime.checkpoint.base.arguments import address, is_whole_deletion, named, several
from runtime.checkpoint.base.versions import following
from runtime.checkpoint.postgres import routines
from runtime.checkpoint.postgres.coding import Scope, keep_of, put_of, put_statement, writes_statement
from runtime.checkpoint.postgres.layout import DELETE_THREADS, FULL, Layout
from runtime.checkpoint.postgres.routines import AT_ONCE, Key, change
from runtime.checkpoint.postgres.tables import MIGRATIONS
from runtime.checkpoint.postgres.work import Work

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig

__all__ = ("BasePostgresSaver",)

DEPRECATED = "{} is deprecated. Use {}, and durability='exit' where one checkpoint for each run is enough."


class BasePostgresSaver(BaseCheckpointSaver[str]):
    """Turns each method's arguments into work; a subclass says how it gets done."""

    MIGRATIONS: ClassVar[Sequence[str]] = MIGRATIONS
    """The statements that make the tables. What `setup` has carried out is noted in the database by its number here."""

    _layout: ClassVar[Layout] = FULL

    @property
    def takes_frozen(self) -> bool:
        return True

    def get_next_version(self, current: str | float | None, channel: None) -> str:
        """The version that follows: a counter, padded so that text sorts like numbers, and a random fraction."""
        return following(current)

    def _setup(self) -> Work:
        return Work("make the tables for", lambda: routines.set_up(self.MIGRATIONS), atomic=True, alters=True)

    def _get(self, config: RunnableConfig) -> Work:
        scope = Scope(*address(config))
        return Work("read", lambda: routines.find(self._layout, self.serde, scope, 1), scope.thread_id, scope.id)

    def _list(self, scope: Scope, limit: int | None) -> Work:
        """Work that gives checkpoints, where they are few enough for one go, and else the keys for `_these`."""
        if limit is not None and limit <= AT_ONCE:
            return Work(
                "list", lambda: routines.find(self._layout, self.serde, scope, limit), scope.thread_id, scope.id
            )
        return Work("list", lambda: routines.keys(self._layout, scope, limit), scope.thread_id, scope.id)

    def _these(self, keys: Sequence[Key]) -> Work:
        return Work("list", lambda: routines.these(self._layout, self.serde, keys), keys[0][0])

    def _histories(self, config: RunnableConfig, channels: Sequence[str]) -> Work:
        if channels:
            self._check_history()
        thread_id, ns, id = address(config)
        return Work("read", lambda: routines.histories(self.serde, thread_id, ns, id, channels), thread_id, id)

    def _put(
        self, config: RunnableConfig, checkpoint: Checkpoint, metadata: CheckpointMetadata, new: ChannelVersions
    ) -> tuple[Work, RunnableConfig]:
        """The work, and the config that names the checkpoint."""
        if metadata.get("counters_since_delta_snapshot"):
            self._check_history()
        draft = put_of(config, checkpoint, metadata, new)
        statement, parameters = put_statement(self._layout, self.serde, draft)
        thread_id, _, id = draft.key
        return Work("save", lambda: change(statement, **parameters), thread_id, id), named(*draft.key)

    def _keep(
        self,
        shelf: Shelf,
        parent_id: str | None,
        checkpoint: FrozenCheckpoint,
        metadata: CheckpointMetadata,
        last: Written | None,
    ) -> tuple[Work, TypeError | None]:
        """The work, and the error to raise after it: where the checkpoint can't be kept it keeps `last` alone."""
        if metadata.get("counters_since_delta_snapshot"):
            self._check_history()
        draft = keep_of(shelf, parent_id, checkpoint, metadata)
        try:
            statement, parameters = put_statement(self._layout, self.serde, draft, last)
        except TypeError as error:
            if last is None:
                raise
            return self._keep_writes(shelf, last), error
        thread_id, _, id = draft.key
        return Work("save", lambda: change(statement, **parameters), thread_id, id), None

    def _put_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str
    ) -> Work:
        thread_id, ns, _ = address(config)
        written = Written(config["configurable"]["checkpoint_id"], writes, task_id, task_path)
        return self._write(thread_id, ns, written)

    def _keep_writes(self, shelf: Shelf, written: Written) -> Work:
        return self._write(str(shelf.thread_id), shelf.ns, written)

    def _write(self, thread_id: str, ns: str, written: Written) -> Work:
        asked = writes_statement(self.serde, thread_id, ns, written)
        return Work(
            "save the writes with",
            routines.nothing if asked is None else lambda: change(asked[0], **asked[1]),
            thread_id,
            written.checkpoint_id,
        )

    def _delete_threads(self, thread_ids: Sequence[str]) -> Work:
        ids = [str(id) for id in thread_ids]
        return Work("delete", lambda: change(DELETE_THREADS, thread_ids=ids), ids[0] if len(ids) == 1 else None)

    def _delete_checkpoints(self, thread_id: str, ns: str, ids: Sequence[str]) -> Work:
        asked = {"thread_id": str(thread_id), "ns": ns, "ids": [*several(ids, "checkpoint_ids")]}
        return Work("delete", lambda: change(self._layout.drop, **asked), str(thread_id))

    def _thread_ids(self) -> Work:
        return Work("list", routines.thread_ids)

    def _outline(self, thread_id: str) -> Work:
        return Work("list", lambda: routines.outline(self._layout, str(thread_id)), str(thread_id))

    def _delete_for_runs(self, run_ids: Sequence[str]) -> Work:
        runs = [str(id) for id in several(run_ids, "run_ids")]
        return Work("delete", lambda: routines.delete_for_runs(self._layout, runs))

    def _copy_thread(self, source: str, target: str) -> Work:
        copying = (self._layout, str(source), str(target))
        return Work("copy", lambda: routines.copy_thread(*copying), copying[1], atomic=True)

    def _prune(self, thread_ids: Sequence[str], strategy: str) -> Work:
        whole = is_whole_deletion(strategy)
        ids = [str(id) for id in several(thread_ids, "thread_ids")]
        return self._delete_threads(ids) if whole else Work("prune", lambda: routines.prune(self._layout, ids))

    def _check_history(self) -> None:
        if self._layout.shallow:
            raise NotImplementedError(
                f"{type(self).__name__} keeps no history, and a DeltaChannel's value is made of the writes in it. Use "
                "PostgresSaver or AsyncPostgresSaver, in a database of its own, or a channel of another kind."
            )
