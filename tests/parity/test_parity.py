"""LangGraph and this engine give the same on 2,000 programs: some the same on every run, the others new each time.

`PARITY_SEED=… pytest tests/parity` repeats a run; `python -m tests.parity` runs as many as one likes.
"""

import os
import secrets

import pytest

from tests.parity.sweep import sweep

SEED = int(os.environ.get("PARITY_SEED") or secrets.randbits(32))


@pytest.mark.slow
@pytest.mark.timeout(600)  # about a minute; more where a difference is made small
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("programs", "seed"), [(1000, 1), (1000, SEED)], ids=["fixed", f"seed {SEED}"])
def test_both_engines_give_the_same(programs, seed):
    found = [str(one.difference) for one in sweep(programs, seed)]
    assert not found, f"PARITY_SEED={seed}\n" + "\n\n".join(found)
