import ormsgpack
import pytest

from runtime.checkpoint.serde.jsonplus import JsonPlusSerializer
from runtime.checkpoint.sqlite.tails import Chain, Piece, Stored, grown, header_size

LINE = "a line of some length"


def chained(lists: list[list[object]]) -> dict[int, Piece]:
    pieces: dict[int, Piece] = {}
    chain: Chain | None = None
    for version, items in enumerate(lists):
        data = ormsgpack.packb(items)
        pieces[version], chain = grown(chain, version, data, 1 if len(items) < 16 else 3)
    return pieces


def read(pieces: dict[int, Piece], version: int | None) -> Stored | None:
    return None if version is None else Stored("msgpack", pieces[version].value, read(pieces, pieces[version].base))


def test_every_version_of_a_growing_list_is_read_back_from_few_pieces():
    lists = [[LINE] * number for number in range(200)]
    pieces = chained(lists)
    for version, items in enumerate(lists):
        stored = read(pieces, version)
        assert stored.pair() == ("msgpack", ormsgpack.packb(items))
        assert stored.load(JsonPlusSerializer()) == items
        assert len(list(bases(pieces, version))) <= 8


def bases(pieces: dict[int, Piece], version: int | None):
    while version is not None:
        yield version
        version = pieces[version].base


def test_a_growing_list_costs_its_tails_and_not_itself():
    lists = [[LINE] * number for number in range(1, 1001)]
    stored = sum(len(piece.value) for piece in chained(lists).values())
    assert stored < 6 * len(ormsgpack.packb(lists[-1]))
    assert sum(map(len, map(ormsgpack.packb, lists))) > 500 * len(ormsgpack.packb(lists[-1]))


def test_a_list_that_does_not_go_on_begins_a_chain():
    pieces = chained([["a"], ["a", "b"], ["x", "a", "b"]])
    assert [pieces[version].base for version in pieces] == [None, 0, None]


@pytest.mark.parametrize(
    "items", [[], [LINE, 1, 1.5, True, None, b"bytes"], [{"a": []}, [1], {1, 2}], [LINE, {"a": 1}]]
)
def test_whoever_loads_a_list_may_change_it(items: list[object]):
    serde = JsonPlusSerializer()
    stored = Stored(*serde.dumps_typed(items))
    stored.load(serde).append("changed")
    for item in stored.load(serde):
        if isinstance(item, dict):
            item["changed"] = True
    assert stored.load(serde) == items


def test_the_items_of_a_list_of_atoms_are_made_once():
    lists = [[f"{LINE} {number}" for number in range(count)] for count in range(1, 4)]
    pieces = chained(lists)
    first = Stored("msgpack", pieces[0].value)
    serde, later = JsonPlusSerializer(), Stored("msgpack", pieces[1].value, first)
    assert later.load(serde)[0] is first.load(serde)[0]


@pytest.mark.parametrize("value", [b"\x90", b"\xc1", b"", b"\xdd\0\0\0\7\xa1a\xa1a\xa1a"])
def test_a_tail_that_is_none_is_refused(value: bytes):
    stored = Stored("msgpack", value, Stored("msgpack", ormsgpack.packb([LINE])))
    with pytest.raises((ValueError, KeyError, IndexError, OverflowError)):
        stored.load(JsonPlusSerializer())


def test_only_a_long_list_is_split():
    assert header_size("msgpack", b"\x92" + b"x" * 600) == 1
    assert header_size("msgpack", b"\xdc\x02\x00" + b"x" * 600) == 3
    assert header_size("msgpack", b"\xdd\x00\x02\x00\x00" + b"x" * 600) == 5
    assert header_size("msgpack", b"\x81" + b"x" * 600) is None
    assert header_size("msgpack", b"\xdc\x02\x00") is None
    assert header_size("bytes", b"\xdc\x02\x00" + b"x" * 600) is None
