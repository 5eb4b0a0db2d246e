import asyncio
import operator
import sqlite3
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest

from runtime.channels.delta import DeltaSnapshot
from runtime.checkpoint.base import FrozenCheckpoint, Layers, Written, checkpoint_id, empty_checkpoint, shelf_of
from runtime.checkpoint.serde.jsonplus import JsonPlusSerializer
from runtime.checkpoint.sqlite import SqliteSaver, SqliteSaverError
from runtime.graph import START, StateGraph
from runtime.types import Command, interrupt

ROOT = {"configurable": {"thread_id": "t", "checkpoint_ns": ""}}


class Thread(TypedDict):
    log: Annotated[list[str], operator.add]


@pytest.fixture
def file(tmp_path: Path) -> str:
    return str(tmp_path / "threads.sqlite")


@pytest.fixture(params=["ours", "langgraph's"])
def saver(request: pytest.FixtureRequest, file: str) -> Iterator[SqliteSaver]:
    """A saver of a fresh file, in each of the two layouts."""
    if request.param != "ours":
        begun_by_langgraph(file)
    with SqliteSaver.from_conn_string(file) as made:
        yield made


@pytest.fixture
def ours(file: str) -> Iterator[SqliteSaver]:
    with SqliteSaver.from_conn_string(file) as made:
        yield made


def begun_by_langgraph(file: str) -> None:
    theirs = pytest.importorskip("langgraph.checkpoint.sqlite").SqliteSaver
    with theirs.from_conn_string(file) as made:
        made.setup()


def put(saver: SqliteSaver, config: Any = ROOT, step: int = 0, ns: str | None = None, **values: Any) -> Any:
    """The config of a new checkpoint, each of whose values has the version `step`."""
    if ns is not None:
        config = {"configurable": {**config["configurable"], "checkpoint_ns": ns}}
    versions = dict.fromkeys(values, step)
    checkpoint = empty_checkpoint() | {"channel_values": values, "channel_versions": versions}
    return saver.put(config, checkpoint, {"source": "loop", "step": step, "parents": {}}, versions)


def grow(saver: SqliteSaver, lines: int, config: Any = ROOT) -> list[Any]:
    """The configs of checkpoints whose list grows by a line each."""
    configs = []
    for step in range(lines):
        config = put(saver, config, step=step, log=[f"line {each} of the log" for each in range(step + 1)])
        configs.append(config)
    return configs


def steps(found: Any) -> list[int]:
    return [each.metadata["step"] for each in found]


def rows(saver: SqliteSaver, table: str) -> int:
    return int(saver.conn.execute(f"SELECT count(*) FROM {table}").fetchone()[0])


def test_a_thread_goes_on_in_another_connection(file: str):
    for _ in range(2):
        with SqliteSaver.from_conn_string(file) as saver:
            graph = StateGraph(Thread).add_node("say", lambda state: {"log": [str(len(state["log"]))]})
            graph = graph.add_edge(START, "say").compile(checkpointer=saver)
            out = graph.invoke({"log": ["in"]}, {"configurable": {"thread_id": 7}})
    assert out == {"log": ["in", "1", "in", "3"]}


def test_a_checkpoint_comes_back_whole(saver: SqliteSaver):
    first = put(saver, a={"k": (1, 2)}, b=None)
    config = put(saver, first, step=1, a="new")
    saver.put_writes(config, [("a", 1)], "task")
    found = saver.get_tuple(ROOT)
    assert found is not None
    assert (found.config, found.parent_config, found.metadata["step"]) == (config, first, 1)
    assert (found.checkpoint["channel_values"], found.pending_writes) == ({"a": "new"}, [("task", "a", 1)])
    assert saver.get(first)["channel_values"] == {"a": {"k": [1, 2]}, "b": None}
    assert saver.get_tuple({**config, "tags": ["mine"]}).config["tags"] == ["mine"]
    assert saver.get_tuple({"configurable": {"thread_id": "other"}}) is None


def keep(saver: SqliteSaver, parent: Any, id: str, versions: dict[str, Any], new: dict[str, Any]) -> Any:
    """The config of a checkpoint of these versions, of whose values those in `new` are new."""
    shelf = shelf_of(saver, {"thread_id": "t", "checkpoint_ns": ""}, {})
    changed = {channel: versions[channel] for channel in versions if channel in new or versions[channel] == int(id)}
    frozen = FrozenCheckpoint(id, 0.0, Layers(versions), Layers({}), None, changed, new)
    saver.keep(shelf, parent["configurable"]["checkpoint_id"], frozen, {})
    return {"configurable": {**parent["configurable"], "checkpoint_id": id}}


def test_a_value_is_found_by_its_version(ours: SqliteSaver):
    first = put(ours, a=["kept"], b=["old"])
    second = ours.get_tuple(keep(ours, first, "3", {"a": 0, "b": 1}, {"b": ["new"]}))
    assert second is not None
    assert (second.parent_config, second.checkpoint["channel_values"]) == (first, {"a": ["kept"], "b": ["new"]})
    assert ours.get(first)["channel_values"] == {"a": ["kept"], "b": ["old"]}
    assert rows(ours, "pregel_values") == 3


@pytest.mark.parametrize("known", [True, False])
def test_small_values_lie_in_each_checkpoint_whoever_made_the_one_before(ours: SqliteSaver, file: str, known: bool):
    first = put(ours, text="a", number=1, none=None, gone=True, long="x" * 500, loose={"a": 1})
    with SqliteSaver.from_conn_string(file) as other:
        saver = ours if known else other
        saver.setup()
        config = keep(
            saver, first, "9", {**dict.fromkeys(("text", "number", "none", "long"), 0), "gone": 9}, {"text": "b"}
        )
        values = saver.get(config)["channel_values"]
    assert values == {"text": "b", "number": 1, "none": None, "long": "x" * 500}
    assert rows(ours, "pregel_values") == 2
    assert ours.get(first)["channel_values"]["gone"] is True


def test_a_checkpoint_made_by_hand_keeps_values_that_are_not_called_new(saver: SqliteSaver):
    checkpoint = empty_checkpoint() | {"channel_values": {"a": 1, "loose": 2}, "channel_versions": {"a": 1.5}}
    assert saver.get(saver.put(ROOT, checkpoint, {}, {}))["channel_values"] == {"a": 1, "loose": 2}


def test_versions_may_be_numbers_or_text(ours: SqliteSaver):
    for version in (1, 1.5, "0001.0.5"):
        checkpoint = empty_checkpoint() | {"channel_values": {"a": str(version)}, "channel_versions": {"a": version}}
        config = ours.put(ROOT, checkpoint, {}, {"a": version})
        assert ours.get(config)["channel_values"] == {"a": str(version)}
        assert ours.get(config)["channel_versions"] == {"a": version}


def test_a_state_of_many_channels_is_read_back(ours: SqliteSaver):
    values = {f"channel {number}": number for number in range(700)}
    assert ours.get(put(ours, **values))["channel_values"] == values


def test_a_list_is_newest_first_filtered_and_limited(saver: SqliteSaver):
    configs = [put(saver, step=step) for step in range(4)]
    put(saver, {"configurable": {"thread_id": "other"}}, step=9)
    assert steps(saver.list(ROOT)) == [3, 2, 1, 0]
    assert steps(saver.list(None, limit=2)) == [9, 3]
    assert steps(saver.list(ROOT, limit=0)) == []
    assert steps(saver.list(ROOT, before=configs[2])) == [1, 0]
    assert steps(saver.list(configs[1])) == [1]
    assert steps(saver.list(ROOT, filter={"source": "loop", "parents": {}}, limit=1)) == [3]
    assert steps(saver.list(ROOT, filter={"step": 9})) == []


def test_a_filter_key_is_data(saver: SqliteSaver):
    checkpoint = empty_checkpoint()
    saver.put(ROOT, checkpoint, {"a.b": 1, "deep": {"x": {"y": 2}}, 'it\'s "so"': 3}, {})  # type: ignore[typeddict-unknown-key]
    for honest in ({"a.b": 1}, {"deep.x.y": 2}, {'it\'s "so"': 3}):
        assert len(list(saver.list(None, filter=honest))) == 1
    assert list(saver.list(None, filter={"deep.x.z": 2})) == []
    with pytest.raises(ValueError, match="looks like a piece of SQL"):
        next(saver.list(None, filter={"x') = '1' OR 1=1 --": "1"}))


def test_a_write_stays_at_its_place_unless_it_is_no_state(saver: SqliteSaver):
    config = put(saver)
    saver.put_writes(config, [("a", "first")], "task-2", "path-b")
    saver.put_writes(config, [("a", "second"), ("__error__", "late")], "task-2", "path-b")
    saver.put_writes(config, [("__error__", "later")], "task-2", "path-b")
    saver.put_writes(config, [("a", "own")], "task-3", "path-a")
    assert saver.get_tuple(config).pending_writes == [
        ("task-3", "a", "own"),
        ("task-2", "__error__", "later"),
        ("task-2", "a", "first"),
    ]


def test_what_cannot_be_stored_is_named_and_nothing_of_it_is_kept(saver: SqliteSaver):
    with pytest.raises(TypeError, match="Channel 'b' of thread 't' can't be saved"):
        put(saver, a=1, b=len)
    assert saver.get_tuple(ROOT) is None
    with pytest.raises(TypeError, match="Channel 'c' of thread 't'"):
        saver.put_writes(put(saver), [("a", 1), ("c", len)], "task")


def test_a_list_that_grows_is_stored_as_its_tails(ours: SqliteSaver):
    configs = grow(ours, 150)
    for config in (configs[0], configs[63], configs[101], configs[149]):
        log = ours.get(config)["channel_values"]["log"]
        assert log == [f"line {number} of the log" for number in range(configs.index(config) + 1)]
    stored = ours.conn.execute("SELECT sum(length(value)) FROM pregel_values").fetchone()[0]
    assert stored < 8 * len("".join(log))


def test_a_large_value_comes_back_and_what_is_stored_after_it(saver: SqliteSaver):
    log, text = [f"{number:0100000}" for number in range(3)], "x" * 300_000
    first = put(saver, log=log, text=text)
    second = put(saver, first, step=1, log=[*log, "a tail"], text=text)
    assert [found.checkpoint["channel_values"]["log"] for found in saver.list(ROOT)] == [[*log, "a tail"], log]
    assert saver.get(second)["channel_values"]["text"] == text


def test_a_list_leaves_out_what_is_deleted_while_it_is_read(ours: SqliteSaver):
    for step in range(6):
        put(ours, step=step, log=[f"{step}" * 300_000])
    listing = ours.list(ROOT)
    newest = next(listing)
    ours.delete_thread("t")
    found = steps([newest, *listing])
    assert found == [5, 4, 3, 2, 1, 0][: len(found)]
    assert len(found) < 6


def test_two_branches_of_a_growing_list_do_not_mix(ours: SqliteSaver):
    configs = grow(ours, 60)
    old = ours.get(configs[39])["channel_values"]["log"]
    fork = put(ours, configs[39], step=100, log=[*old, "fork"])
    again = put(ours, fork, step=101, log=[*old, "fork", "again"])
    assert ours.get(again)["channel_values"]["log"] == [*old, "fork", "again"]
    assert len(ours.get(configs[59])["channel_values"]["log"]) == 60


def test_another_value_at_a_version_leaves_what_was_stored_after_it(ours: SqliteSaver):
    configs = grow(ours, 60)
    checkpoint = ours.get(configs[31]) | {"channel_values": {"log": ["other"]}}
    ours.put(configs[30], checkpoint, {"step": 31}, {"log": 31})
    assert ours.get(configs[31])["channel_values"] == {"log": ["other"]}
    assert [len(ours.get(config)["channel_values"]["log"]) for config in configs[32:]] == list(range(33, 61))


def test_a_tail_is_not_stored_after_what_another_connection_deleted(ours: SqliteSaver, file: str):
    grow(ours, 40)
    with SqliteSaver.from_conn_string(file) as other:
        other.delete_thread("t")
    log = [f"line {number} of the log" for number in range(41)]
    assert ours.get(put(ours, step=40, log=log))["channel_values"] == {"log": log}


def test_a_thread_is_deleted_with_all_that_is_kept_of_it(saver: SqliteSaver):
    saver.put_writes(put(saver, a=1), [("a", 1)], "task")
    put(saver, {"configurable": {"thread_id": "other"}}, step=5)
    saver.delete_thread("t")
    assert steps(saver.list(None)) == [5]
    tables = [name for (name,) in saver.conn.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    assert sum(rows(saver, table) for table in tables if table != "pregel_layout") == 1


def test_pruning_keeps_the_newest_checkpoint(saver: SqliteSaver):
    config = grow(saver, 48)[-1]
    put(saver, step=2, ns="child")
    saver.put_writes(config, [("log", "next")], "task")
    before = saver.get_tuple(config)
    saver.prune(["t", "never was"])
    assert steps(saver.list({"configurable": {"thread_id": "t"}})) == [2, 47]
    assert saver.get_tuple(config) == before


def test_single_checkpoints_are_forgotten_with_the_values_that_only_they_name(ours: SqliteSaver):
    configs = grow(ours, 48)
    before = ours.get_tuple(configs[-1])
    ours.delete_checkpoints("t", "", [config["configurable"]["checkpoint_id"] for config in configs[:-1]])
    assert ours.get_tuple(configs[-1]) == before
    assert rows(ours, "pregel_values") <= 7


def test_pruning_refuses_a_text_and_an_unknown_strategy(ours: SqliteSaver):
    with pytest.raises(TypeError, match="Give a list"):
        ours.prune("t")
    with pytest.raises(ValueError, match="'half' is unknown"):
        ours.prune(["t"], strategy="half")


def test_checkpoints_of_a_run_can_be_forgotten(saver: SqliteSaver):
    for run in ("one", "two"):
        saver.put(ROOT, empty_checkpoint(), {"run_id": run}, {})
    saver.delete_for_runs(["one", "never was"])
    assert [each.metadata["run_id"] for each in saver.list(ROOT)] == ["two"]


def test_a_copied_thread_goes_its_own_way(saver: SqliteSaver):
    config = grow(saver, 40)[-1]
    saver.put_writes(config, [("a", 1)], "task")
    saver.copy_thread("t", "copy")
    saver.copy_thread("t", "t")
    saver.delete_thread("t")
    found = saver.get_tuple({"configurable": {"thread_id": "copy"}})
    assert (len(found.checkpoint["channel_values"]["log"]), found.pending_writes) == (40, [("task", "a", 1)])


def test_a_delta_history_goes_back_to_the_nearest_stored_value(saver: SqliteSaver):
    config: Any = ROOT
    for step, values in enumerate([{}, {"x": DeltaSnapshot(["seed"])}, {}, {}]):
        checkpoint = empty_checkpoint() | {"channel_values": values, "channel_versions": {"x": step}}
        metadata: Any = {"step": step, "counters_since_delta_snapshot": {"x": (step, step)}}
        config = saver.put(config, checkpoint, metadata, {"x": step})
        saver.put_writes(config, [("x", [step])], "task")
    found = saver.get_delta_channel_history(config=config, channels=["x"])
    assert found == {"x": {"writes": [("task", "x", [1]), ("task", "x", [2])], "seed": DeltaSnapshot(["seed"])}}
    assert saver.get_delta_channel_history(config=config, channels=[]) == {}
    saver.prune(["t"])
    assert steps(saver.list(ROOT)) == [3, 2, 1]
    assert saver.get_delta_channel_history(config=config, channels=["x"]) == found


def test_many_threads_may_share_one_connection(ours: SqliteSaver):
    def work(number: int) -> None:
        config: Any = {"configurable": {"thread_id": str(number % 5), "checkpoint_ns": ""}}
        for step in range(5):
            config = put(ours, config, step=100 * number + step, a=[number, step])
            ours.put_writes(config, [("a", step)], f"task-{number}")
            assert ours.get(config)["channel_values"] == {"a": [number, step]}

    with ThreadPoolExecutor(10) as pool:
        list(pool.map(work, range(20)))
    assert sum(1 for _ in ours.list(None)) == 100


def test_a_put_waits_for_the_disk_unless_told_otherwise(file: str):
    for asked, mode in ((None, 2), ("FULL", 2), ("NORMAL", 1)):
        with SqliteSaver.from_conn_string(file, synchronous=asked) as saver:  # type: ignore[arg-type]
            saver.setup()
            assert saver.conn.execute("PRAGMA synchronous").fetchone() == (mode,)
            assert saver.conn.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    refused: Any = SqliteSaver.from_conn_string(":memory:", synchronous="OFF")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="synchronous is 'OFF'"), refused:
        pass


def test_what_is_put_together_is_one_commit(saver: SqliteSaver, file: str):
    other = sqlite3.connect(file)
    table = "SELECT count(*) FROM checkpoints" if begun(other) else "SELECT count(*) FROM pregel_checkpoints"
    put(saver)
    with saver.together():
        config = put(saver, step=1, log=["x" * 600])
        saver.put_writes(config, [("log", 1)], "task")
        assert other.execute(table).fetchone() == (1,)
        assert steps(saver.list(ROOT)) == [1, 0]
    assert other.execute(table).fetchone() == (2,)
    other.close()


def begun(db: sqlite3.Connection) -> bool:
    return db.execute("SELECT 1 FROM sqlite_master WHERE name = 'checkpoints'").fetchone() is not None


def put_together(saver: SqliteSaver, *values: Any) -> None:
    with saver.together():
        for step, value in enumerate(values, 1):
            put(saver, step=step, a=value)


def test_a_put_that_fails_leaves_what_was_put_together_with_it(ours: SqliteSaver):
    with pytest.raises(TypeError, match="Channel 'a'"):
        put_together(ours, 1, len)
    assert steps(ours.list(ROOT)) == [1]


def test_a_full_database_undoes_what_was_put_together(ours: SqliteSaver):
    put(ours)
    pages = ours.conn.execute("PRAGMA page_count").fetchone()[0]
    ours.conn.execute(f"PRAGMA max_page_count = {pages + 2}")
    with pytest.raises(SqliteSaverError, match="Can't save checkpoint '.*' of thread 't': .* full"):
        put_together(ours, 1, "x" * 100_000)
    assert steps(ours.list(ROOT)) == [0]
    put(ours, step=3)


def test_a_saver_of_more_types_shares_the_database(file: str):
    strict = JsonPlusSerializer(allowed_msgpack_modules=None)
    with SqliteSaver.from_conn_string(file, serde=strict) as saver:
        wider: Any = saver.with_allowlist([("my.module", "Thing")])
        with saver.together():
            put(wider, step=1)
            put(saver, step=2)
        assert steps(wider.list(ROOT)) == [2, 1]


def test_a_connection_may_give_rows_with_names(ours: SqliteSaver):
    ours.conn.row_factory = sqlite3.Row
    config = grow(ours, 40)[-1]
    ours.put_writes(config, [("a", 1)], "task")
    ours.prune(["t"])
    found = ours.get_tuple(config)
    assert (len(found.checkpoint["channel_values"]["log"]), found.pending_writes) == (40, [("task", "a", 1)])


def test_a_locked_database_says_which_checkpoint_was_not_saved(ours: SqliteSaver, file: str):
    put(ours)
    ours.conn.execute("PRAGMA busy_timeout = 0")
    other = sqlite3.connect(file, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    id = checkpoint_id()
    with pytest.raises(SqliteSaverError, match=f"Can't save checkpoint '{id}' of thread 't': another connection"):
        ours.put(ROOT, empty_checkpoint() | {"id": id}, {}, {})
    assert steps(ours.list(ROOT)) == [0]
    other.close()


def test_a_database_that_can_only_be_read_is_read(ours: SqliteSaver, file: str):
    config = put(ours, a=1)
    conn = sqlite3.connect(f"file:{file}?mode=ro", uri=True)
    reader = SqliteSaver(conn)
    assert reader.get(ROOT)["channel_values"] == {"a": 1}
    with pytest.raises(SqliteSaverError, match="Can't save the writes with checkpoint .* can only be read") as caught:
        reader.put_writes(config, [("a", 1)], "task")
    assert (caught.value.thread_id, caught.value.sqlite_errorname) == ("t", "SQLITE_READONLY")
    conn.close()


def test_a_full_database_keeps_what_it_had(ours: SqliteSaver):
    grow(ours, 20)
    pages = ours.conn.execute("PRAGMA page_count").fetchone()[0]
    ours.conn.execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(SqliteSaverError, match="is full. Make room"):
        put(ours, step=99, a="x" * 100_000)
    assert steps(ours.list(ROOT, limit=1)) == [19]


def test_a_newer_layout_is_refused(ours: SqliteSaver, file: str):
    ours.setup()
    with ours.conn:
        ours.conn.execute("UPDATE pregel_layout SET version = 99")
    with SqliteSaver.from_conn_string(file) as saver, pytest.raises(sqlite3.NotSupportedError, match="version 99"):
        saver.setup()


def test_reading_the_newest_state_does_not_read_the_history():
    class Counting(JsonPlusSerializer):
        loads = 0

        def loads_typed(self, data: tuple[str, bytes]) -> Any:
            Counting.loads += 1
            return super().loads_typed(data)

    counts, config = set(), ROOT
    with SqliteSaver.from_conn_string(":memory:", serde=Counting()) as saver:
        for step in range(40):
            config = put(saver, config, step=step, a={"n": step})
            Counting.loads = 0
            saver.get_tuple(ROOT)
            next(saver.list(ROOT, limit=1))
            counts.add(Counting.loads)
    assert len(counts) == 1


def test_the_async_methods_name_the_async_saver(ours: SqliteSaver):
    for call in (
        lambda: ours.aget_tuple(ROOT),
        lambda: ours.aput(ROOT, empty_checkpoint(), {}, {}),
        lambda: ours.aput_writes(ROOT, [], "task"),
        lambda: anext(ours.alist(ROOT)),
    ):
        with pytest.raises(NotImplementedError, match="Use AsyncSqliteSaver"):
            asyncio.run(awaited(call))


async def awaited(call: Any) -> None:
    await call()


def test_a_thread_of_langgraph_is_listed_and_resumed(file: str):
    before = asked_by_langgraph(file)
    with SqliteSaver.from_conn_string(file) as saver:
        graph = asking(StateGraph, interrupt, START).compile(checkpointer=saver)
        config: Any = {"configurable": {"thread_id": "t"}}
        state = graph.get_state(config)
        assert (state.values, state.next, len(list(saver.list(config)))) == ({"log": ["in"]}, ("ask",), before)
        assert [each.value for each in state.interrupts] == ["more?"]
        assert graph.invoke(Command(resume="yes"), config) == {"log": ["in", "yes"]}
        assert "pregel_layout" not in [name for (name,) in saver.conn.execute("SELECT name FROM sqlite_master")]


def test_langgraph_reads_what_was_added_to_its_database(file: str):
    asked_by_langgraph(file)
    with SqliteSaver.from_conn_string(file) as saver:
        graph = asking(StateGraph, interrupt, START).compile(checkpointer=saver)
        graph.invoke(Command(resume="yes"), {"configurable": {"thread_id": "t"}})
    theirs = pytest.importorskip("langgraph.checkpoint.sqlite").SqliteSaver
    with theirs.from_conn_string(file) as saver:
        found = saver.get_tuple({"configurable": {"thread_id": "t"}})
    assert found.checkpoint["channel_values"]["log"] == ["in", "yes"]


def test_an_older_database_of_langgraph_is_completed(file: str):
    asked_by_langgraph(file)
    with sqlite3.connect(file) as db:
        db.execute("ALTER TABLE writes DROP COLUMN task_path")
    db.close()
    with SqliteSaver.from_conn_string(file) as saver:
        assert saver.get_tuple({"configurable": {"thread_id": "t"}}).pending_writes[0][1] == "__interrupt__"


def asking(kind: Any, ask: Any, start: str) -> Any:
    """A graph of either library that asks one question."""
    return kind(Thread).add_node("ask", lambda state: {"log": [ask("more?")]}).add_edge(start, "ask")


def asked_by_langgraph(file: str) -> int:
    """How many checkpoints LangGraph kept of a thread that waits for an answer."""
    theirs = pytest.importorskip("langgraph.checkpoint.sqlite").SqliteSaver
    from langgraph.graph import StateGraph as TheirGraph
    from langgraph.types import interrupt as their_interrupt

    with theirs.from_conn_string(file) as saver:
        config = {"configurable": {"thread_id": "t"}}
        asking(TheirGraph, their_interrupt, "__start__").compile(checkpointer=saver).invoke({"log": ["in"]}, config)
        return sum(1 for _ in saver.list(config))


def test_what_a_task_wrote_is_kept_also_where_its_checkpoint_cannot_be(ours: SqliteSaver):
    first = put(ours, a="kept")
    shelf = shelf_of(ours, {"thread_id": "t", "checkpoint_ns": ""}, {})
    id = first["configurable"]["checkpoint_id"]
    frozen = FrozenCheckpoint("3", 0.0, Layers({"a": 1}), Layers({}), None, {"a": 1}, {"a": len})
    with pytest.raises(TypeError, match="'a'"):
        ours.keep(shelf, id, frozen, {}, Written(id, [("a", 1)], "task", ""))
    found = ours.get_tuple(ROOT)
    assert found is not None
    assert (found.checkpoint["id"], found.pending_writes) == (id, [("task", "a", 1)])


def test_very_many_writes_of_one_task_are_all_kept(ours: SqliteSaver):
    config, writes = put(ours), [(f"channel {number}", number) for number in range(250)]
    with ours.together():
        ours.put_writes(config, [("__resume__", ["yes"]), *writes], "task")
    found = ours.get_tuple(ROOT)
    assert found is not None
    assert sorted(found.pending_writes or ()) == sorted(
        [("task", "__resume__", ["yes"])] + [("task", *w) for w in writes]
    )
