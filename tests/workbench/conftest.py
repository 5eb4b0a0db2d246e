import pytest

from tests.workbench.engines import Engine, engine_of


@pytest.fixture(params=["runtime", "langgraph"])
def engine(request: pytest.FixtureRequest) -> Engine:
    """Our runtime, then LangGraph: what is drawn must not depend on who compiled the graph."""
    return engine_of(request.param)
