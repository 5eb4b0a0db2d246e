"""A session's verbs on threads that rest in memory, in a file or on a server, with each engine's own saver."""

from widgets.session import Session


def test_every_verb_leaves_the_thread_whole(compiled, engine, says, own_saver):
    ask = lambda state: {"log": [engine.types.interrupt("go?")]}  # noqa: E731
    session = Session(compiled(saver=own_saver, a=says("a"), ask=ask, b=says("b")), "t")
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
