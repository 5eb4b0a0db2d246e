from runtime.checkpoint.sqlite.tails import Chain, Piece, grown, split


def read(pieces: dict[int, Piece], version: int | None) -> bytes:
    return b"" if version is None else read(pieces, pieces[version].base) + pieces[version].rest


def chained(bodies: list[bytes]) -> dict[int, Piece]:
    pieces: dict[int, Piece] = {}
    chain: Chain | None = None
    for version, body in enumerate(bodies):
        pieces[version], chain = grown(chain, version, b"head", body)
    return pieces


def test_every_version_of_a_growing_list_is_read_back_from_few_pieces():
    bodies = [b"item" * number for number in range(1, 200)]
    pieces = chained(bodies)
    assert [read(pieces, version) for version in pieces] == bodies
    for version in pieces:
        assert len(list(bases(pieces, version))) <= 8


def bases(pieces: dict[int, Piece], version: int | None):
    while version is not None:
        yield version
        version = pieces[version].base


def test_a_growing_list_costs_its_tails_and_not_itself():
    bodies = [b"item" * number for number in range(1, 1001)]
    stored = sum(len(piece.rest) for piece in chained(bodies).values())
    assert stored < 6 * len(bodies[-1])
    assert sum(map(len, bodies)) > 500 * len(bodies[-1])


def test_a_list_that_does_not_go_on_begins_a_chain():
    pieces = chained([b"aaa", b"aaab", b"xaab"])
    assert [pieces[version].base for version in pieces] == [None, 0, None]


def test_only_a_long_list_is_split():
    assert split("msgpack", b"\x92" + b"x" * 600) == (b"\x92", b"x" * 600)
    assert split("msgpack", b"\xdc\x02\x00" + b"x" * 600) == (b"\xdc\x02\x00", b"x" * 600)
    assert split("msgpack", b"\xdd\x00\x02\x00\x00" + b"x" * 600) == (b"\xdd\x00\x02\x00\x00", b"x" * 600)
    assert split("msgpack", b"\x81" + b"x" * 600) is None
    assert split("msgpack", b"\xdc\x02\x00") is None
    assert split("bytes", b"\xdc\x02\x00" + b"x" * 600) is None
