"""Long work shows how far it is to who looks on, and Ctrl-C ends it without a trace."""

import asyncio
import sys

import pytest

from runtime.checkpoint.memory import InMemorySaver
from runtime.graph import START
from tests.runtime.scenarios.build import builder, says, thread
from workbench import Recording, progress


@pytest.fixture
def at_once(monkeypatch):
    """Somebody who looks on, and a bar that does not wait."""
    monkeypatch.setattr(progress, "_is_looked_at", lambda: True)
    monkeypatch.setattr(progress, "AFTER", 0.0)


def ran(saver):
    graph = builder({"a": says("a"), "b": says("b")}, [(START, "a"), ("a", "b")]).compile(checkpointer=saver)
    graph.invoke({"log": []}, thread())
    return graph


def test_on_a_terminal_reading_a_thread_and_writing_its_report_show_bars(at_once, capsys, tmp_path):
    rec = Recording.from_thread(ran(InMemorySaver()), "t")
    rec.report(tmp_path / "run.html")
    told = capsys.readouterr()
    assert [doing for doing in ("Checkpoints:", "Events:", "Arranging:", "Report:") if doing not in told.err] == []
    assert told.out == ""


def test_an_async_saver_is_read_behind_a_bar_too(at_once, capsys):
    rec = asyncio.run(Recording.afrom_thread(ran(InMemorySaver()), "t"))
    assert list(rec.supersteps.step) == [-1, 0, 1, 2]
    assert "Checkpoints:" in capsys.readouterr().err


def test_what_is_quick_or_goes_to_a_file_shows_none(capsys, monkeypatch):
    graph = ran(InMemorySaver())
    assert list(Recording.from_thread(graph, "t").writes.channel)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    assert list(Recording.from_thread(graph, "t").writes.channel)
    assert capsys.readouterr().err == ""


class Stopped(InMemorySaver):
    """A saver in the middle of whose list Ctrl-C comes, once."""

    stops = True

    def list(self, *args, **kwargs):
        for number, found in enumerate(super().list(*args, **kwargs)):
            if number == 2 and self.stops:
                self.stops = False
                raise KeyboardInterrupt
            yield found


def test_ctrl_c_ends_the_reading_and_the_next_reading_is_whole(at_once, capsys):
    graph = ran(Stopped())
    with pytest.raises(KeyboardInterrupt):
        Recording.from_thread(graph, "t")
    assert len(Recording.from_thread(graph, "t").checkpoints) == 4
    assert capsys.readouterr().err.endswith("\r")
