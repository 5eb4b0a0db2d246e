"""Every superstep of every scenario keeps the invariants."""

from collections.abc import Iterator

import pytest

from tests.runtime.invariants import watched


@pytest.fixture(autouse=True)
def _invariants() -> Iterator[None]:
    with watched():
        yield
