import pytest


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time, as a list of one number that a test may change."""
    now = [1000.0]
    monkeypatch.setattr("time.time", lambda: now[0])
    return now
