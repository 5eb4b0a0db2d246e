"""A saver of two layers: one that is only read, and one above it that takes all that is written.

`Overlay(base, top)` opens threads that others go on with (a production database), and whatever is done to one stays in
`top`: forks, resumes, new runs, edits, deletions. Of both savers only the contract's methods are called, and of the
base only those that read.

A thread is the base's, live, until it is first written to here. From then on it is as it was at that moment, with what
is done here on top, and what others add to it in the base is not seen. Two things make that so, both kept as **marks**:
checkpoints in `top`, in a thread of their own for each thread that was written to, whose metadata tell

1. **until** where the base's checkpoints are seen, and
2. which of them are **covered**: `top` answers for them. Before something is put after a checkpoint of the base, or
   beside it, that checkpoint is copied to `top` with its values and writes. So `top` holds the values of all its
   checkpoints, and only a delta channel's history goes on in the base.

Marks are only added, so tasks and threads of one run may do so side by side.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from runtime.checkpoint.asking import (
    Call,
    Listing,
    Next,
    Open,
    Routine,
    adrive,
    alisted,
    drive,
    everything,
    listed,
    pull,
)
from runtime.checkpoint.base import (
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    DeltaChannelHistory,
    DeltaWalk,
    checkpoint_id,
    empty_checkpoint,
    get_checkpoint_id,
)
from runtime.checkpoint.base.arguments import address, is_whole_deletion, named, several
from runtime.checkpoint.base.calls import PutWrites, accepted, put_of, seat_of, seats_of, writes_of
from runtime.checkpoint.memory import InMemorySaver

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig
    from langchain_core.runnables.utils import ConfigurableFieldSpec

__all__ = ("Overlay",)

MARKS: Final = "__overlay__"
"""A thread of `top` whose id begins so holds the marks of the thread whose id follows."""

_SOURCE: Final = "overlay"

# The one mark that is overwritten: until where the base is seen.
_UNTIL_ID: Final = "00000000-0000-6000-8000-000000000000"

# Sorts an id before those that follow it.
_AFTER: Final = "-"

Covered = Mapping[tuple[str, str], Sequence[str]]
"""Checkpoints, by namespace and id, that `top` answers for; with each the tasks that had written in the base."""


class Seen(NamedTuple):
    """What is seen of a thread of the base: the checkpoints before `until`, but for those that are `covered`."""

    until: str | None = None
    """An id; "" hides all, None nothing."""
    covered: Covered = MappingProxyType({})

    def shows(self, ns: str, id: str) -> bool:
        """True where the base answers for a checkpoint."""
        return (self.until is None or id < self.until) and (ns, id) not in self.covered


def _contract(saver: type[Any]) -> type[Any]:
    """The class of savers, of whichever engine, that a saver's class comes from."""
    return next((each for each in saver.__mro__ if each.__name__ == BaseCheckpointSaver.__name__), BaseCheckpointSaver)


def _beside(cls: type[Overlay], contract: type[Any]) -> type[Overlay]:
    """The class itself, or one of its name that comes from the contract as well."""
    return cls if issubclass(cls, contract) else type(cls.__name__, (cls, contract), {"__module__": cls.__module__})


class Overlay(BaseCheckpointSaver[Any]):
    """Shows what `base` holds, never writes to it, and keeps what is done in `top`, by default in memory.

    Each may be a saver of ours, of LangGraph's or a third party's. The sync methods call theirs, and so do the async
    ones, but where a saver has none they call its sync methods from another thread. A `top` on a file may be gone on
    with later, over the same base. `revert` gives a thread back to the base.

    Over a saver of LangGraph's it is one of LangGraph's, too, so that LangGraph compiles a graph on it.
    """

    def __new__(cls, base: Any, top: Any = None) -> Overlay:
        return super().__new__(_beside(cls, _contract(type(base))))

    def __init__(self, base: Any, top: Any = None) -> None:
        top = InMemorySaver(serde=getattr(base, "serde", None)) if top is None else top
        super().__init__(serde=getattr(top, "serde", None))
        self.base = base
        self.top = top

    @property
    def config_specs(self) -> list[ConfigurableFieldSpec]:
        """The configurable keys that either saver takes."""
        return [*dict.fromkeys((*self.base.config_specs, *self.top.config_specs))]

    def get_next_version(self, current: Any, channel: None) -> Any:
        """The version that follows, of the base's kind."""
        return self.base.get_next_version(current, channel)

    def with_allowlist(self, extra_allowlist: Collection[tuple[str, ...] | type]) -> Overlay:
        base, top = (_allowing(saver, extra_allowlist) for saver in (self.base, self.top))
        return self if base is self.base and top is self.top else Overlay(base, top)

    # -- what the methods do, in either colour -------------------------------------------------------------------------

    def _get(self, config: RunnableConfig) -> Routine[CheckpointTuple | None]:
        thread_id, ns, wanted = address(config)
        mine: CheckpointTuple | None = yield Call(self.top, "get_tuple", (config,))
        if mine is not None and wanted:
            return mine
        seen = yield from self._seen(thread_id)
        if wanted:
            shown = seen.shows(ns, wanted)
            return (yield Call(self.base, "get_tuple", (config,))) if shown else None
        if mine is not None and seen.until is not None:  # a thread goes on where it was gone on with here
            return mine
        theirs = yield from self._newest(config, seen)
        return max((each for each in (mine, theirs) if each is not None), key=_id, default=None)

    def _newest(self, config: RunnableConfig, seen: Seen) -> Routine[CheckpointTuple | None]:
        """The newest checkpoint of the namespace that is seen of the base."""
        if seen == Seen():
            found: CheckpointTuple | None = yield Call(self.base, "get_tuple", (config,))
            return found
        thread_id, ns, _ = address(config)
        conf: RunnableConfig = {"configurable": {"thread_id": thread_id, "checkpoint_ns": ns}}
        return (yield from pull(self._shown(conf, None, None, 1, {thread_id: seen})))

    def _list(
        self,
        config: RunnableConfig | None,
        filter: dict[str, Any] | None,
        before: RunnableConfig | None,
        limit: int | None,
    ) -> Listing:
        if limit is not None and limit <= 0:
            return
        seen, marks = yield from self._marks(config)
        most = None if limit is None else limit + marks
        above = self._above((yield Open(self.top, config, filter, before, most)))
        below = self._shown(config, filter, before, limit, seen)
        mine, theirs = (yield from pull(above)), (yield from pull(below))
        while limit != 0 and (mine is not None or theirs is not None):
            if mine is not None and (theirs is None or _id(mine) >= _id(theirs)):
                yield mine
                mine = yield from pull(above)
            elif theirs is not None:
                yield theirs
                theirs = yield from pull(below)
            limit = None if limit is None else limit - 1

    def _above(self, found: Any) -> Listing:
        """The checkpoints of `top` that are no marks."""
        while (each := (yield Next(found))) is not None:
            if not address(each.config)[0].startswith(MARKS):
                yield each

    def _shown(
        self,
        config: RunnableConfig | None,
        filter: dict[str, Any] | None,
        before: RunnableConfig | None,
        limit: int | None,
        seen: Mapping[str, Seen],
    ) -> Listing:
        """The checkpoints that are seen of the base, at least `limit` of them if there are so many."""
        only = None if config is None else config["configurable"].get("thread_id")
        until = None if only is None else seen[str(only)].until
        if until == "":
            return
        if until is not None and (before is None or until < (get_checkpoint_id(before) or until)):
            before = named(str(only), "", until)
        hidden = sum(len(each.covered) for each in seen.values())
        given = 0
        for most in (None,) if limit is None else (limit + hidden, None):  # more than that may be hidden
            found = yield Open(self.base, config, filter, before, most)
            met = 0
            while (each := (yield Next(found))) is not None:
                met += 1
                thread_id, ns, id = address(each.config)
                if met > given and seen.get(thread_id, Seen()).shows(ns, id or ""):
                    yield each
            given = met
            if most is None or met < most:
                return

    def _history(self, config: RunnableConfig, channels: Sequence[str]) -> Routine[Mapping[str, DeltaChannelHistory]]:
        walk = DeltaWalk(channels)
        found = (yield from self._get(config)) if channels else None
        while (config_above := walk.parent_of(found)) is not None and found is not None:
            parent = yield Call(self.top, "get_tuple", (config_above,))
            if parent is None:
                asked = {"config": found.config, "channels": sorted(walk.open)}
                return walk.continued((yield Call(self.base, "get_delta_channel_history", (), asked)))
            walk.visit(parent.pending_writes or (), parent.checkpoint["channel_values"])
            found = parent
        return walk.histories()

    def _seen(self, thread_id: str) -> Routine[Seen]:
        config: RunnableConfig = {"configurable": {"thread_id": MARKS + thread_id}}
        found = yield Open(self.top, config)
        until, covered = None, {}
        while (each := (yield Next(found))) is not None:
            mark: Any = each.metadata
            if "until" in mark:
                until = mark["until"]
            else:
                covered[tuple(mark["covers"])] = mark["tasks"]
        return Seen(until, covered)

    def _marks(self, config: RunnableConfig | None) -> Routine[tuple[dict[str, Seen], int]]:
        """What is seen of the threads that a config covers, and how many marks may stand among its checkpoints."""
        only = None if config is None else config["configurable"].get("thread_id")
        if only is not None:
            return {str(only): (yield from self._seen(str(only)))}, 0
        found = yield Open(self.top, None, {"source": _SOURCE})
        marked = []
        while (each := (yield Next(found))) is not None:
            marked.append(address(each.config)[0].removeprefix(MARKS))
        seen = {}
        for thread_id in dict.fromkeys(marked):
            seen[thread_id] = yield from self._seen(thread_id)
        return seen, len(marked)

    def _put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> Routine[RunnableConfig]:
        yield from self._own(*address(config))
        stored: RunnableConfig = yield Call(self.top, "put", (config, checkpoint, metadata, new_versions))
        return stored

    def _put_writes(self, call: PutWrites) -> Routine[None]:
        thread_id, ns, id = address(call.config)
        seen = yield from self._own(thread_id, ns, id)
        seat = seat_of(seen.covered.get((ns, id or ""), ()), call.task_id)
        yield self._writing(call if seat is None else call._replace(task_path=seat))

    def _own(self, thread_id: str, ns: str, id: str | None) -> Routine[Seen]:
        """Make the thread one that is written to here, and the checkpoint, if it is the base's, one of `top`."""
        seen = yield from self._seen(thread_id)
        if seen.until is None:
            place = {"configurable": {"thread_id": thread_id, "checkpoint_ns": ns}}
            newest = yield Call(self.base, "get_tuple", (place,))
            known = [each + _AFTER for each in (id, None if newest is None else _id(newest)) if each]
            seen = Seen(max((checkpoint_id(), *known)), seen.covered)
            yield self._mark(thread_id, _UNTIL_ID, {"until": seen.until})
        if id and seen.shows(ns, id):
            found = yield Call(self.base, "get_tuple", (named(thread_id, ns, id),))
            if found is not None:
                yield from self._copy(found)
                seen = Seen(seen.until, {**seen.covered, (ns, id): seats_of(found)})
                yield self._covering(thread_id, ns, id, seats_of(found))
        return seen

    def _copy(self, found: CheckpointTuple, thread_id: str | None = None) -> Routine[None]:
        yield Call(self.top, "put", put_of(found, thread_id))
        for call in writes_of(found, thread_id):
            yield self._writing(call)

    def _writing(self, call: PutWrites) -> Call:
        return Call(self.top, "put_writes", accepted(self.top.put_writes, call))

    def _mark(self, thread_id: str, id: str, told: Mapping[str, Any]) -> Call:
        place: RunnableConfig = {"configurable": {"thread_id": MARKS + thread_id, "checkpoint_ns": ""}}
        metadata = {"source": _SOURCE, "step": 0, "parents": {}, **told}
        return Call(self.top, "put", (place, {**empty_checkpoint(), "id": id}, metadata, {}))

    def _covering(self, thread_id: str, ns: str, id: str, tasks: Sequence[str]) -> Call:
        return self._mark(thread_id, checkpoint_id(), {"covers": [ns, id], "tasks": [*tasks]})

    def _delete_thread(self, thread_id: str) -> Routine[None]:
        yield self._mark(str(thread_id), _UNTIL_ID, {"until": ""})
        yield Call(self.top, "delete_thread", (thread_id,))

    def _revert(self, thread_id: str) -> Routine[None]:
        yield Call(self.top, "delete_thread", (thread_id,))
        yield Call(self.top, "delete_thread", (MARKS + str(thread_id),))

    def _delete_checkpoints(self, thread_id: str, ns: str, ids: Sequence[str]) -> Routine[None]:
        seen = yield from self._seen(str(thread_id))
        for id in several(ids, "checkpoint_ids"):
            if seen.shows(ns, id):
                yield self._covering(thread_id, ns, id, ())
        yield Call(self.top, "delete_checkpoints", (thread_id, ns, ids))

    def _delete_for_runs(self, run_ids: Sequence[str]) -> Routine[None]:
        seen, _ = yield from self._marks(None)
        for run_id in several(run_ids, "run_ids"):
            shown = self._shown(None, {"run_id": run_id}, None, None, seen)
            for thread_id, ns, id in [address(each.config) for each in (yield from everything(shown))]:
                yield self._covering(thread_id, ns, id or "", ())
        yield Call(self.top, "delete_for_runs", (run_ids,))

    def _copy_thread(self, source: str, target: str) -> Routine[None]:
        found = yield from everything(self._list({"configurable": {"thread_id": source}}, None, None, None))
        if not found or source == target:
            return
        yield from self._delete_thread(target)
        for each in sorted(found, key=_id):
            yield from self._copy(each, target)

    def _prune(self, thread_ids: Sequence[str], strategy: str) -> Routine[None]:
        whole = is_whole_deletion(strategy)
        for thread_id in several(thread_ids, "thread_ids"):
            if whole:
                yield from self._delete_thread(thread_id)
                continue
            seen = yield from self._seen(thread_id)
            config: RunnableConfig = {"configurable": {"thread_id": thread_id}}
            for each in sorted(
                (yield from everything(self._shown(config, None, None, None, {thread_id: seen}))), key=_id
            ):
                yield from self._copy(each)
            yield self._mark(thread_id, _UNTIL_ID, {"until": ""})
            yield Call(self.top, "prune", ([thread_id],))

    # -- the sync methods ----------------------------------------------------------------------------------------------

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        return drive(self._get(config))

    def list(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:
        """The checkpoints of both savers that the config covers, newest first as far as each gives them so."""
        return listed(self._list(config, filter, before, limit))

    def get_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, DeltaChannelHistory]:
        return drive(self._history(config, channels))

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        return drive(self._put(config, checkpoint, metadata, new_versions))

    def put_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        drive(self._put_writes(PutWrites(config, writes, task_id, task_path)))

    def delete_thread(self, thread_id: str) -> None:
        drive(self._delete_thread(thread_id))

    def delete_checkpoints(self, thread_id: str, checkpoint_ns: str, checkpoint_ids: Sequence[str]) -> None:
        drive(self._delete_checkpoints(thread_id, checkpoint_ns, checkpoint_ids))

    def delete_for_runs(self, run_ids: Sequence[str]) -> None:
        drive(self._delete_for_runs(run_ids))

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        drive(self._copy_thread(source_thread_id, target_thread_id))

    def prune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        drive(self._prune(thread_ids, strategy))

    def revert(self, thread_id: str) -> None:
        """Forget what was done to a thread here: it is the base's again, live."""
        drive(self._revert(thread_id))

    # -- the async twins -----------------------------------------------------------------------------------------------

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        return await adrive(self._get(config))

    def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        return alisted(self._list(config, filter, before, limit))

    async def aget_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, DeltaChannelHistory]:
        return await adrive(self._history(config, channels))

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        return await adrive(self._put(config, checkpoint, metadata, new_versions))

    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        await adrive(self._put_writes(PutWrites(config, writes, task_id, task_path)))

    async def adelete_thread(self, thread_id: str) -> None:
        await adrive(self._delete_thread(thread_id))

    async def adelete_checkpoints(self, thread_id: str, checkpoint_ns: str, checkpoint_ids: Sequence[str]) -> None:
        await adrive(self._delete_checkpoints(thread_id, checkpoint_ns, checkpoint_ids))

    async def adelete_for_runs(self, run_ids: Sequence[str]) -> None:
        await adrive(self._delete_for_runs(run_ids))

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        await adrive(self._copy_thread(source_thread_id, target_thread_id))

    async def aprune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        await adrive(self._prune(thread_ids, strategy))

    async def arevert(self, thread_id: str) -> None:
        """`revert`, awaited."""
        await adrive(self._revert(thread_id))


def _id(found: CheckpointTuple) -> str:
    return found.checkpoint["id"]


def _allowing(saver: Any, extra: Collection[tuple[str, ...] | type]) -> Any:
    extend = getattr(saver, "with_allowlist", None)
    return saver if extend is None else extend(extra)
