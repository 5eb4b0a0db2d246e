import json

import pytest

from runtime.graph import START, StateGraph
from workbench import Recording, html, lint
from workbench.lint import RULES, Finding, Findings

EVIL = "<script>alert(1)</script>"
ONE = Finding("WB101", f"Nothing leads to {EVIL}.", "It never runs.", "Add an edge.", (EVIL,))


def unreached(*names):
    made = StateGraph(dict).add_node("a", lambda state: state).add_edge(START, "a")
    for name in names:
        made.add_node(name, lambda state: state)
    return made


def test_findings_are_shown_as_text():
    assert str(lint(unreached("b"))).splitlines() == [
        "1 finding",
        "",
        "WB101  b",
        "  Nothing leads to b.",
        "  The node never runs, and nothing says so.",
        "  Add an edge to b, or take the node out.",
    ]
    assert str(Findings()) == "No findings."


def test_findings_are_shown_as_a_table_in_which_nothing_of_the_users_is_a_tag():
    bundle = Findings([ONE])._repr_mimebundle_()
    assert "<table" in bundle["text/html"]
    assert "<script" not in bundle["text/html"]
    assert "&lt;script&gt;" in bundle["text/html"]
    assert EVIL in bundle["text/plain"]
    long = ONE._replace(fix="Give it a reducer, or let one node follow the other. " * 3)
    assert html.escape(long.fix) in Findings([long]).fragment()


def test_findings_are_false_when_there_are_none_and_a_frame_when_asked():
    assert not Findings()
    assert Findings([ONE, ONE]) == Findings([ONE])
    frame = Findings([ONE, ONE._replace(code="WB201", step=3)]).frame
    assert list(frame.code) == ["WB101", "WB201"]
    assert list(frame.step.fillna(-1)) == [-1, 3]


def test_every_rule_has_a_code_of_its_own_and_words():
    assert len({rule.code for rule in RULES}) == len(RULES) == 19
    assert all(rule.words for rule in RULES)


def test_rules_are_silenced_by_name_or_by_a_comment():
    assert not lint(unreached("b"), noqa="WB101")
    assert not lint(unreached("b"), noqa=["WB101"])
    with pytest.raises(ValueError, match="There is no rule 'WB999'"):
        lint(unreached("b"), noqa="WB999")

    def later(state):  # noqa: WB101, WB102
        return state

    assert not lint(unreached().add_node(later))


def test_a_finding_names_its_place():
    assert ONE._replace(nodes=("a", "b"), ns="desk", step=2).where == "desk: a, b, superstep 2"
    assert ONE._replace(nodes=(), channel="x").where == "x"
    assert json.dumps(ONE._asdict())


def test_an_empty_recording_has_no_findings():
    assert str(Recording().lint()) == "No findings."
