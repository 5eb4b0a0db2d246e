"""Branches, as they are made of checkpoints."""

from __future__ import annotations

from widgets.history import Branch, Checkpoint, branches_of, lineage


def checkpoint(id: str, parent: str | None, source: str = "loop", next: str = "") -> Checkpoint:
    return Checkpoint(id, parent, int(id, 16), source, tuple(next.split()), None, {})


def names(branches: tuple[Branch, ...]) -> dict[str, str]:
    return {one.name: "".join(checkpoint.id for checkpoint in one.checkpoints) for one in branches}


def test_no_checkpoint_makes_no_branch() -> None:
    assert branches_of([]) == ()


def test_a_line_is_main_and_its_last_is_current() -> None:
    (main,) = branches_of([checkpoint("2", "1"), checkpoint("1", None, "input", "a")])
    assert (main.name, main.tip.id, main.current, main.forked_from) == ("main", "2", True, None)


def test_a_second_child_begins_a_branch() -> None:
    found = branches_of([checkpoint("1", None), checkpoint("2", "1"), checkpoint("3", "1"), checkpoint("4", "3")])
    assert names(found) == {"main": "12", "fork 1": "34"}
    assert found[1].forked_from == "1"
    assert [one.current for one in found] == [False, True]


def test_an_edit_where_something_was_to_run_begins_a_branch() -> None:
    found = branches_of([checkpoint("1", None, next="a"), checkpoint("2", "1", "update"), checkpoint("3", "2")])
    assert names(found) == {"main": "1", "fork 1": "23"}


def test_an_edit_of_what_ended_goes_on_with_its_branch() -> None:
    assert names(branches_of([checkpoint("1", None), checkpoint("2", "1", "update")])) == {"main": "12"}


def test_branches_of_branches_are_counted_as_they_began() -> None:
    found = branches_of([checkpoint("1", None), *(checkpoint(i, p) for i, p in ("21", "31", "43", "53", "62"))])
    assert names(found) == {"main": "126", "fork 1": "34", "fork 2": "5"}


def test_a_lineage_leads_from_the_first_to_the_tip() -> None:
    known = [checkpoint("1", None), checkpoint("2", "1"), checkpoint("3", "1"), checkpoint("4", "3")]
    assert [one.id for one in lineage(known, known[-1])] == ["1", "3", "4"]


def test_where_a_run_stands_is_told_in_words() -> None:
    assert checkpoint("1", None, next="__start__").stands == "next START"
    assert checkpoint("1", None, next="a b").stands == "next a and b"
    assert checkpoint("1", None).stands == "ended"
