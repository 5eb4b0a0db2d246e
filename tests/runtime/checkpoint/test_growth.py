"""What a long thread costs, in SQLite's own steps, rows and pages: as much as a short one."""

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import pytest

from runtime.checkpoint.base import empty_checkpoint
from runtime.checkpoint.sqlite import SqliteSaver

SHORT, LONG = 10, 10_000
BIG = "x" * 20_000
THREAD = {"configurable": {"thread_id": "t"}}
ROOT = {"configurable": {"thread_id": "t", "checkpoint_ns": ""}}


class Thread:
    """A thread whose checkpoints have a counter, a large value that stays, and, if it `grows`, a list with a line
    more in each."""

    def __init__(self, saver: SqliteSaver, grows: bool) -> None:
        self.saver = saver
        self.log: list[str] | None = [] if grows else None
        self.config: Any = ROOT
        self.step = 0

    def put(self) -> None:
        """Put the next checkpoint."""
        new: dict[str, Any] = {"count": self.step}
        if self.step == 0:
            new["big"] = BIG
        if self.log is not None:
            self.log.append(f"line {self.step:05} of the log")
            new["log"] = self.log
        checkpoint = empty_checkpoint() | {
            "channel_values": {"big": BIG, **new},
            "channel_versions": {"big": 0, **dict.fromkeys(new, self.step)},
        }
        versions = dict.fromkeys(new, self.step)
        self.config = self.saver.put(self.config, checkpoint, {"source": "loop", "step": self.step}, versions)
        self.step += 1

    def reach(self, length: int) -> None:
        """Put checkpoints until there are so many."""
        with self.saver.together():
            while self.step < length:
                self.put()

    def steps_of(self, call: Callable[[], Any]) -> int:
        """How many steps SQLite's machine takes for a call."""
        counted = [0]

        def count() -> None:
            counted[0] += 1

        self.saver.conn.set_progress_handler(count, 1)
        call()
        self.saver.conn.set_progress_handler(None, 1)
        return counted[0]

    def bytes(self) -> int:
        """The size of the database."""
        pages, size = (self.saver.conn.execute(f"PRAGMA page_{what}").fetchone()[0] for what in ("count", "size"))
        return int(pages * size)


@pytest.fixture
def saver() -> Iterator[SqliteSaver]:
    with SqliteSaver.from_conn_string(":memory:") as made:
        yield made


def listed(saver: SqliteSaver, config: Any = THREAD, **asked: Any) -> Any:
    found = [each.metadata["step"] for each in saver.list(config, limit=10, **asked)]
    assert len(found) == 10
    return found


@pytest.mark.parametrize(
    "call",
    [
        pytest.param(lambda thread: thread.put(), id="writing the next checkpoint"),
        pytest.param(lambda thread: thread.saver.get_tuple(ROOT), id="reading the newest"),
        pytest.param(lambda thread: listed(thread.saver), id="listing ten"),
        pytest.param(lambda thread: listed(thread.saver, ROOT), id="listing ten of a namespace"),
        pytest.param(lambda thread: listed(thread.saver, filter={"source": "loop"}), id="listing ten that match"),
    ],
)
def test_the_ten_thousandth_checkpoint_costs_what_the_hundredth_cost(saver: SqliteSaver, call: Any):
    thread = Thread(saver, grows=False)
    thread.reach(100)
    before = thread.steps_of(lambda: call(thread))
    thread.reach(LONG)
    assert thread.steps_of(lambda: call(thread)) == before


def test_a_list_of_ten_thousand_lines_is_written_as_its_tail_and_read_from_few_rows(saver: SqliteSaver):
    thread = Thread(saver, grows=True)
    thread.reach(100)
    writing = thread.steps_of(thread.put)
    (row,) = saver.conn.execute("SELECT max(length(value)) FROM pregel_values WHERE version = 100 AND channel = 'log'")
    thread.reach(LONG)
    assert thread.steps_of(thread.put) == writing
    (last,) = saver.conn.execute(f"SELECT length(value) FROM pregel_values WHERE version = {LONG} AND channel = 'log'")
    assert last[0] < 17 * row[0]
    reads: list[str] = []
    saver.conn.set_trace_callback(reads.append)
    assert saver.get(ROOT)["channel_values"]["log"] == thread.log
    saver.conn.set_trace_callback(None)
    assert sum("SELECT type, base" in read for read in reads) <= LONG.bit_length()


@pytest.mark.parametrize("grows", [False, True])
def test_the_file_grows_by_the_same_for_each_checkpoint(saver: SqliteSaver, grows: bool):
    thread = Thread(saver, grows)
    sizes = []
    for length in (0, 2_500, 5_000, 7_500, LONG):
        thread.reach(length)
        sizes.append(thread.bytes())
    added = [after - before for before, after in pairwise(sizes[1:])]
    assert max(added) < 1.3 * min(added)
    assert sizes[-1] < LONG * (1000 if grows else 400)


def test_a_large_value_that_stays_is_stored_once(saver: SqliteSaver):
    thread = Thread(saver, grows=False)
    thread.reach(SHORT)
    (count,) = saver.conn.execute("SELECT count(*) FROM pregel_values WHERE channel = 'big'").fetchone()
    assert count == 1
    assert thread.saver.get(ROOT)["channel_values"]["big"] == BIG
