"""The frames of a run do not depend on the engine, and recording changes nothing of it."""

import pytest
from hypothesis import HealthCheck, Phase, assume, given, settings

from tests.parity.calls import run
from tests.parity.compare import difference as seen_difference
from tests.parity.engines import engine_of
from tests.parity.programs import programs
from tests.parity.spec import source
from tests.workbench.same import comparable, difference, recorded

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]
few = settings(max_examples=40, phases=[Phase.generate], suppress_health_check=list(HealthCheck))


@few
@given(programs())
def test_the_frames_of_langgraphs_run_are_those_of_ours(program):
    assume(comparable(program))
    found = difference(program)
    assert not found, "\n".join([source(program), *found])


@few
@given(programs())
def test_a_run_of_langgraph_gives_the_same_when_it_is_recorded(program):
    found = seen_difference(run(engine_of("langgraph"), program), recorded("langgraph", program)[0])
    assert not found, "\n".join([source(program), *found])
