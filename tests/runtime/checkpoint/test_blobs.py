from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.checkpoint.memory.blobs import AtomList, PackedList, freeze, thaw
from runtime.checkpoint.serde.jsonplus import JsonPlusSerializer

SERDE = JsonPlusSerializer()
ATOMS = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text(), st.binary())


def frozen(value: Any, previous: Any = None) -> Any:
    return freeze(value, SERDE, previous)


@pytest.mark.parametrize("atom", ["text", b"bytes", 3, 2.5, True, None, 2**80])
def test_an_atom_is_kept_as_it_is(atom: Any):
    assert frozen(atom) is atom


def test_a_stored_list_does_not_follow_the_live_one():
    live = ["a"]
    blob = frozen(live)
    live.append("b")
    assert thaw(blob, SERDE) == ["a"]


def test_what_is_read_does_not_reach_what_is_stored():
    blob = frozen(["a"])
    thaw(blob, SERDE).append("b")
    assert thaw(blob, SERDE) == ["a"]


def test_a_list_that_grows_shares_one_buffer():
    first = frozen(["a"])
    second = frozen(["a", "b"], first)
    assert first._buffer is second._buffer
    assert (thaw(first, SERDE), thaw(second, SERDE)) == (["a"], ["a", "b"])


def test_the_second_branch_of_a_list_gets_a_buffer_of_its_own():
    root = frozen(["a"])
    left, right = frozen(["a", "left"], root), frozen(["a", "right"], root)
    assert (thaw(left, SERDE), thaw(right, SERDE)) == (["a", "left"], ["a", "right"])


def test_equal_numbers_of_another_type_are_another_list():
    ints = frozen([1, 0])
    assert [type(item) for item in thaw(frozen([True, 0.0, 2], ints), SERDE)] == [bool, float, int]


def test_a_list_that_is_cut_or_changed_starts_anew():
    long = frozen(["a", "b"])
    assert thaw(frozen(["a"], long), SERDE) == ["a"]
    assert thaw(frozen(["x", "b", "c"], long), SERDE) == ["x", "b", "c"]


def test_a_list_with_something_mutable_in_it_is_serialised():
    inner = {"k": 1}
    blob = frozen(["a", inner])
    inner["k"] = 2
    assert not isinstance(blob, AtomList)
    assert thaw(blob, SERDE) == ["a", {"k": 1}]


def test_a_long_list_of_records_that_grows_shares_its_bytes():
    rows = [{"row": index, "text": "x" * 20} for index in range(40)]
    first = frozen(rows)
    second = frozen([*rows, {"row": 40}], first)
    assert isinstance(second, PackedList)
    assert first._buffer is second._buffer
    assert (thaw(first, SERDE), thaw(second, SERDE)) == (rows, [*rows, {"row": 40}])


def test_a_record_that_was_changed_in_place_is_stored_changed():
    rows = [{"row": index, "text": "x" * 20} for index in range(40)]
    first = frozen(rows)
    rows[0]["text"] = "new"
    assert thaw(frozen([*rows, {}], first), SERDE)[0] == {"row": 0, "text": "new"}
    assert thaw(first, SERDE)[0]["text"] == "x" * 20


def test_a_serializer_of_another_kind_sees_every_value():
    class Counting(JsonPlusSerializer):
        def dumps_typed(self, obj: Any) -> tuple[str, bytes]:
            return "counted", b""

    assert freeze("atom", Counting()) == ("counted", b"")


@given(st.lists(st.tuples(st.integers(0, 5), st.lists(ATOMS, max_size=3)), max_size=12))
def test_any_tree_of_growing_lists_reads_back_as_it_was(steps: list[tuple[int, list[Any]]]):
    versions: list[tuple[list[Any], Any]] = [([], frozen([]))]
    for parent, tail in steps:
        value, blob = versions[parent % len(versions)]
        versions.append((value + tail, frozen(value + tail, blob)))
    for value, blob in versions:
        assert [(type(item), item) for item in thaw(blob, SERDE)] == [(type(item), item) for item in value]
