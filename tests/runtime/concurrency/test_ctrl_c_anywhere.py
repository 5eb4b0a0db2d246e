"""Ctrl-C at every step of the engine itself, not only in a node: the thread goes on to the right end all the same."""

import sys
from contextlib import suppress
from pathlib import Path

import pytest

import runtime
from runtime.checkpoint.memory import InMemorySaver
from runtime.graph import START
from tests.runtime.scenarios.build import builder, says, thread

ENGINE = str(Path(runtime.__file__).parent)
SERDE = str(
    Path(runtime.__file__).parent / "checkpoint" / "serde"
)  # MessagePack makes a TypeError of whatever is raised


class CtrlC:
    """Raises KeyboardInterrupt in this thread at the n-th place in the engine where Python looks for signals.

    It looks when a function begins or a generator goes on, and when a call into C comes back.
    """

    def __init__(self, place):
        self.left = place

    def __enter__(self):
        sys.setprofile(self.look)
        return self

    def __exit__(self, *error):
        sys.setprofile(None)

    def look(self, frame, event, argument):
        name = frame.f_code.co_filename
        if event in ("call", "c_return") and name.startswith(ENGINE) and not name.startswith(SERDE):
            self.left -= 1
            if self.left == 0:
                raise KeyboardInterrupt


def graph(saver):
    nodes = {name: says(name) for name in ("a", "b", "c", "d")}
    edges = [(START, "a"), ("a", "b"), ("a", "c"), (["b", "c"], "d")]
    return builder(nodes, edges).compile(checkpointer=saver)


def run(app, input, durability, way):
    if way == "invoke":
        return app.invoke(input, thread(), durability=durability)
    return list(app.stream(input, thread(), durability=durability, stream_mode="values"))[-1]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # it may come as a generator is closed
@pytest.mark.parametrize("way", ["invoke", "stream"])
@pytest.mark.parametrize("durability", ["async", "exit"])
def test_wherever_it_comes_the_thread_goes_on_to_the_same_end(durability, way):
    place, more = 1, True
    while more:
        app = graph(InMemorySaver())
        with CtrlC(place) as ctrl_c, suppress(KeyboardInterrupt):
            run(app, {"log": []}, durability, way)
        begun = app.get_state(thread()).created_at is not None
        result = app.invoke(None if begun else {"log": []}, thread())
        assert result == {"log": ["a", "b", "c", "d"]}, f"Ctrl-C at place {place}"
        more = ctrl_c.left <= 0
        place += 13  # all places were tried by hand; this keeps the test short
