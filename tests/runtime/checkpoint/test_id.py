import threading

import pytest

from runtime.checkpoint.base.id import UUID, checkpoint_id, sort_after, uuid6


def test_ids_sort_as_they_were_made_and_never_repeat():
    ids = [checkpoint_id() for _ in range(5000)]
    assert ids == sorted(set(ids))


def test_ids_of_several_threads_never_repeat():
    made: list[str] = []
    workers = [threading.Thread(target=lambda: made.extend([checkpoint_id() for _ in range(500)])) for _ in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert len(set(made)) == 4000


def test_an_id_does_not_go_back_when_the_clock_does(monkeypatch: pytest.MonkeyPatch):
    before = checkpoint_id()
    monkeypatch.setattr("time.time_ns", lambda: 0)
    assert checkpoint_id() > before


def test_an_id_is_a_uuid_of_version_6():
    assert (UUID(checkpoint_id()).version, UUID(checkpoint_id()).variant) == (6, "specified in RFC 4122")


@pytest.mark.parametrize(("given", "kept"), [(5, 5), (0, 0), (-1, 0x3FFF), (0x4001, 1)])
def test_the_clock_sequence_holds_what_is_given(given: int, kept: int):
    assert uuid6(clock_seq=given).clock_seq == kept


def test_the_node_holds_what_is_given():
    assert uuid6(node=7).node == 7


def test_a_uuid_tells_its_time(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("time.time_ns", lambda: 2**62)  # far in the future, so the clock has not been there yet
    monkeypatch.setattr("runtime.checkpoint.base.id._last", 0)
    assert uuid6().time == 2**62 // 100 + 0x01B21DD213814000


def test_an_id_sorts_after_one_that_another_clock_made(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("runtime.checkpoint.base.id._last", 0)
    ahead = "7" + checkpoint_id()[1:]
    sort_after(ahead)
    assert checkpoint_id() > ahead
    for other in ("1", "", "not an id of any kind at all, but long"):
        sort_after(other)
