"""LangGraph and this engine give the same on 2,000 programs.

Half of them are the same on every run. The others are new each time, from a seed that is printed;
`PARITY_SEED=… pytest tests/parity` makes them again, and `python -m tests.parity` as many more as one likes.
"""

import pytest

from tests.parity.sweep import sweep


@pytest.mark.slow
@pytest.mark.timeout(600)  # about a minute; more where a difference is made small
@pytest.mark.filterwarnings("ignore")
def test_both_engines_give_the_same(seed):
    found = [str(one.difference) for one in sweep(1000, seed)]
    assert not found, f"PARITY_SEED={seed}\n" + "\n\n".join(found)
