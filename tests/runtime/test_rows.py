"""Rows say what the events say: of random programs, and of what is rare in them."""

import asyncio
from types import MappingProxyType

import pytest

from runtime.events import SuperstepPlanned, SuperstepUpdated, TaskFinished, TaskStarted, observe
from runtime.graph import START
from runtime.rows import played
from tests.parity.calls import Performance
from tests.parity.engines import engine_of
from tests.parity.sweep import generate
from tests.runtime.scenarios.build import builder, says

NOTHING = MappingProxyType({})


class Events:
    def __init__(self):
        self.kept = []

    def event(self, event):
        self.kept.append(event)


class Rows(Events):
    def later(self, later):
        self.kept.append(later.row)


def both(run):
    """The events of a run, as they were told, and as they are played of rows."""
    events, rows = Events(), Rows()
    with observe(events), observe(rows):
        run()
    return events.kept, list(played(rows.kept))


def bare(event):
    """The event without what rows leave out: the whole state, which the changes tell, and the config's metadata."""
    match event:
        case SuperstepPlanned():
            return event._replace(tasks=tuple(task._replace(metadata=NOTHING) for task in event.tasks))
        case TaskFinished():
            return event._replace(values=NOTHING)
        case SuperstepUpdated():
            return event._replace(values=NOTHING, updated=sorted(event.updated))
    return event


def test_the_rows_of_random_programs_play_the_events_that_were_told():
    tried = []

    def look(program):
        def run():
            with asyncio.Runner() as runner:
                Performance(engine_of("runtime"), program, runner).lines()

        told, from_rows = both(run)
        assert [*map(repr, map(bare, from_rows))] == [*map(repr, map(bare, told))], program
        tried.append(len(told))

    generate(80, 5, look)
    assert sum(tried) > 1000


def test_a_superstep_costs_four_events_but_three_rows(colour):
    graph, rows = builder({"a": says("a")}, [(START, "a")]).compile(), Rows()
    with observe(rows):
        colour.invoke(graph, {"log": []})
    assert [row[0] for row in rows.kept if type(row) is tuple] == ["planned", "finished", "updated"] * 2
    kinds = [type(event) for event in played(rows.kept)]
    assert kinds[-5:-1] == [SuperstepPlanned, TaskStarted, TaskFinished, SuperstepUpdated]


def test_a_failed_task_comes_as_its_event(colour):
    def fails(state):
        raise ValueError("no")

    graph, rows = builder({"a": fails}, [(START, "a")]).compile(), Rows()
    with observe(rows), pytest.raises(ValueError, match="no"):
        colour.invoke(graph, {"log": []})
    assert [one.status for one in rows.kept if isinstance(one, TaskFinished)] == ["failed"]
