"""Old forms still work, and their warnings begin with the old name: filters look for it."""

import pytest

from runtime.channels import LastValue
from runtime.func import entrypoint, task
from runtime.graph import START
from runtime.pregel import NodeBuilder, Pregel
from runtime.types import Interrupt, RetryPolicy
from runtime.warnings import LangGraphDeprecatedSinceV05, LangGraphDeprecatedSinceV10
from tests.runtime.scenarios.build import Log, builder, says


def old_pregel():
    node = NodeBuilder().subscribe_only("x").write_to("x")
    return Pregel(
        nodes={"a": node}, channels={"x": LastValue(int)}, input_channels="x", output_channels="x", config_type=Log
    )


FORMS = [
    ("retry", LangGraphDeprecatedSinceV05, lambda app: task(retry=RetryPolicy())(says("x"))),
    ("retry", LangGraphDeprecatedSinceV05, lambda app: entrypoint(retry=RetryPolicy())(lambda x: x)),
    ("config_schema", LangGraphDeprecatedSinceV10, lambda app: entrypoint(config_schema=Log)(lambda x: x)),
    ("config_schema", LangGraphDeprecatedSinceV10, lambda app: app.config_schema()),
    ("get_config_jsonschema", LangGraphDeprecatedSinceV10, lambda app: app.get_config_jsonschema()),
    ("config_type", LangGraphDeprecatedSinceV10, lambda app: old_pregel()),
    ("interrupt_id", LangGraphDeprecatedSinceV10, lambda app: Interrupt("q", id="1").interrupt_id),
]


@pytest.mark.parametrize(("name", "kind", "use"), FORMS)
def test_an_old_form_works_and_says_its_name_first(name, kind, use):
    app = builder({"a": says("a")}, [(START, "a")]).compile()
    with pytest.warns(kind, match=f"^`{name}` is deprecated") as warned:
        assert use(app)
    assert len(warned) == 1


@pytest.mark.parametrize(("during", "durability"), [(True, "async"), (False, "exit")])
def test_checkpoint_during_is_a_durability_and_a_node_can_see_which(colour, saver, during, durability):
    def see(state, config):
        return {"log": [config["configurable"]["__pregel_durability"]]}

    app = builder({"see": see}, [(START, "see")]).compile(checkpointer=saver)
    with pytest.warns(LangGraphDeprecatedSinceV10, match="^`checkpoint_during` is deprecated"):
        result = colour.invoke(app, {"log": []}, {"configurable": {"thread_id": "t"}}, checkpoint_during=during)
    assert result == {"log": [durability]}


def test_a_durability_without_a_checkpointer_is_told_to_have_no_effect(colour):
    app = builder({"a": says("a")}, [(START, "a")]).compile()
    with pytest.warns(UserWarning, match="^`durability` has no effect"):
        assert colour.invoke(app, {"log": []}, durability="sync") == {"log": ["a"]}
