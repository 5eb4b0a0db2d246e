"""The package's door: what it offers, and what a name costs."""

import subprocess
import sys
from typing import get_type_hints

import pytest

import runtime.prebuilt
from runtime.prebuilt.interrupt import ActionRequest, HumanInterrupt, HumanInterruptConfig, HumanResponse


def test_every_name_that_is_offered_can_be_had():
    assert {getattr(runtime.prebuilt, name).__name__ for name in runtime.prebuilt.__all__} == set(
        runtime.prebuilt.__all__
    )
    assert set(runtime.prebuilt.__all__) <= set(dir(runtime.prebuilt))


def test_a_name_that_is_not_there_says_what_is():
    with pytest.raises(AttributeError, match="ToolNod.*ToolNode"):
        runtime.prebuilt.ToolNod  # noqa: B018 - asked for on purpose


def test_importing_the_package_loads_no_tools():
    script = "import runtime.prebuilt, sys; print([name for name in sys.modules if name.startswith('langchain_core')])"
    shown = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert shown.strip() == "[]"


def test_the_interrupt_types_are_plain_dicts():
    config = HumanInterruptConfig(allow_ignore=True, allow_respond=True, allow_edit=False, allow_accept=False)
    asked = HumanInterrupt(action_request=ActionRequest(action="wipe", args={}), config=config, description=None)
    assert asked["action_request"] == {"action": "wipe", "args": {}}
    assert HumanResponse(type="accept", args=None) == {"type": "accept", "args": None}
    assert set(get_type_hints(HumanResponse)) == {"type", "args"}
