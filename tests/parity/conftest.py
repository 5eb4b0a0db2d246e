"""The seeds of the random programs: one that is always the same, and one that is new and printed."""

import os
import secrets
from typing import Any

import pytest

NEW = int(os.environ.get("PARITY_SEED") or secrets.randbits(32))


@pytest.fixture(params=["the same", "new"])
def seed(request: pytest.FixtureRequest) -> int:
    return 1 if request.param == "the same" else NEW


def pytest_terminal_summary(terminalreporter: Any) -> None:
    terminalreporter.write_line(f"The new half of the random programs: PARITY_SEED={NEW}")
