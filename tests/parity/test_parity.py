"""LangGraph and this engine give the same on 2,000 programs.

They are the same on every run; `PARITY_SEED=… pytest tests/parity` takes another thousand for the second half, and
`python -m tests.parity` as many as one likes.
"""

import os

import pytest

from tests.parity.sweep import sweep

SEED = int(os.environ.get("PARITY_SEED") or 2)


@pytest.mark.slow
@pytest.mark.timeout(600)  # about a minute; more where a difference is made small
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("programs", "seed"), [(1000, 1), (1000, SEED)])
def test_both_engines_give_the_same(programs, seed):
    found = [str(one.difference) for one in sweep(programs, seed)]
    assert not found, f"PARITY_SEED={seed}\n" + "\n\n".join(found)
