"""A session's verbs on threads that rest in a file or on a server, with each engine's own saver."""

import pytest

from widgets.session import Session


@pytest.fixture(params=["sqlite", "postgres"])
def saver(request, engine, tmp_path):
    """An empty saver of the engine's own."""
    module = pytest.importorskip(f"{engine.name}.checkpoint.{request.param}")
    if request.param == "sqlite":
        opened = module.SqliteSaver.from_conn_string(str(tmp_path / "runs.db"))
    else:
        opened = module.PostgresSaver.from_conn_string(request.getfixturevalue("postgres"))
    with opened as found:
        found.setup()
        yield found


def test_every_verb_leaves_the_thread_whole(compiled, engine, says, saver):
    ask = lambda state: {"log": [engine.types.interrupt("go?")]}  # noqa: E731
    session = Session(compiled(saver=saver, a=says("a"), ask=ask, b=says("b")), "t")
    session.start({"total": 1})
    session.step()
    session.run()
    assert [one.value for one in session.pending] == ["go?"]
    session.resume("yes")
    assert session.values["log"] == ["a", "yes", "b"]
    planned = session.fork(2, {"log": ["edit"]}, as_node="ask", dry_run=True)
    assert (planned.next, len(session.branches)) == (("b",), 1)
    session.fork(2, {"log": ["edit"]}, as_node="ask")
    session.run()
    assert session.values["log"] == ["a", "yes", "edit", "b"]
    session.replay(1)
    assert [one.value for one in session.pending] == ["go?"]
    assert [branch.name for branch in session.branches] == ["main", "fork 1", "fork 2"]
    assert session.compare("main", "fork 1").channels == ("log",)
    assert session.goto(0).values["total"] == 1
    assert session.recording.status == "interrupted"
