import re
import xml.etree.ElementTree as ET

import pytest
from langchain_core.messages import AIMessage, HumanMessage

from workbench import html, text
from workbench.signs import PALETTE, STATUSES

HOSTILE = [
    "<script>alert(1)</script>",
    'a"b',
    "A:B|C",
    "节点",
    "🙂",
    "x" * 300,
    "a\nb",
    "</style><b>",
    "\x00\x08",
    "'><i",
]


def parse(fragment: str) -> ET.Element:
    return ET.fromstring(f"<div>{fragment}</div>")


def words(fragment: str) -> str:
    return "".join(parse(fragment).itertext())


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_text_is_text_wherever_it_stands(name):
    made = html.table([name, "value"], [[name, {name: [name]}]], mono=[0], caption=name)
    made = html.join([made, html.value({name: name}), html.value(HumanMessage(name)), html.tag("p", title=name)])
    tags = {element.tag for element in parse(made).iter()}
    assert not tags & {"script", "style", "b", "i"}


def test_an_attribute_cannot_be_left():
    made = parse(html.tag("p", title='" onclick="x'))[0]
    assert made.attrib == {"title": '" onclick="x'}


def test_html_is_not_escaped_twice():
    assert html.tag("p", html.tag("b", "a & b")) == "<p><b>a &amp; b</b></p>"


def test_a_long_text_opens_to_the_whole():
    made = parse(html.value("x" * 1234))
    assert made.find(".//summary").text == "x" * 80
    assert words(html.value("x" * 1234)).startswith("x" * 80 + "… 1,234 characters")
    assert made.find(".//pre").text == "x" * 1234


def test_a_mapping_is_a_table_of_its_keys():
    assert [cell.text for cell in parse(html.value({"topic": "coffee"})).findall(".//code")] == ["topic"]


def test_messages_stand_under_each_other_with_their_role():
    made = html.value([HumanMessage("Hello"), AIMessage("Hi")])
    assert words(made) == "human Helloai Hi"


def test_a_long_list_says_how_many_more():
    assert words(html.value([str(n) for n in range(30)])).endswith("and 10 more")


def test_numbers_stand_right_and_names_are_mono():
    made = parse(html.table(["channel", "version"], [["topic", 3]], right=["version"], mono=["channel"]))
    cells = made.findall(".//td")
    assert cells[0].find("code").text == "topic"
    assert cells[1].get("class") == "num"


def test_a_missing_value_is_an_empty_cell():
    assert words(html.table(["a"], [[None]])) == "a"


def test_html_and_text_count_the_same_rest():
    things = [str(n) for n in range(9)]
    assert text.value(things).endswith("… 3 more]")
    assert "more" not in words(html.value(things))


def test_every_status_sign_has_a_name_for_a_screen_reader():
    assert [parse(html.sign(status))[0].get("aria-label") for status in STATUSES] == list(STATUSES)


def test_a_page_needs_nothing_from_outside():
    made = html.page("<run>", html.tag("p", "hello"))
    assert "<title>&lt;run&gt;</title>" in made
    assert not re.search(r"<script|https?://|src=|url\(", made)


def tokens(block: str) -> dict[str, str]:
    return dict(re.findall(r"--wb-([a-z0-9-]+):\s*(#[0-9a-f]{6})", block))


def test_the_style_sheet_has_the_light_hexes_of_the_palette():
    light = html.sheet("tokens").partition("}")[0]
    sheet = tokens(light) | {"paper": "#fdfdfd", "ink": "#1f2328"}
    assert {name: sheet[name] for name in PALETTE} == PALETTE
    assert all(f'[fill="{hexa}"] {{ fill: var(--wb-{name})' in html.sheet("graph") for name, hexa in PALETTE.items())


def test_dark_is_the_same_by_theme_and_by_system():
    by_theme, by_system = html.sheet("tokens").split("@media")
    assert tokens(by_theme.rpartition("--wb-wash")[0] + by_theme[by_theme.rindex("--wb-wash") :]) == tokens(by_system)


def shine(hexa: str) -> float:
    parts = [int(hexa[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    r, g, b = (c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
    return 0.2126 * r + 0.7152 * g + 0.0722 * b


def contrast(one: str, other: str) -> float:
    high, low = sorted((shine(one), shine(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_every_hue_can_be_read_on_paper_and_on_its_tint(theme):
    dark = tokens(html.sheet("tokens").split("@media")[1]) | {"paper": "#1b1d20", "ink": "#e6e8ea"}
    own = PALETTE if theme == "light" else dark
    for hue in ("blue", "green", "orange", "red", "purple"):
        for ground in (own["paper"], own[f"{hue}-tint"]):
            assert contrast(own[hue], ground) >= 3
            assert contrast(own[f"{hue}-ink"], ground) >= 4.5
        assert contrast(own["ink"], own[f"{hue}-tint"]) >= 4.5
    assert contrast(own["ink2"], own["paper"]) >= 4.5


def test_only_a_very_long_word_may_break_inside_and_a_name_never_does():
    shown = html.table(["channel", "value"], [["messages[4]", "x" * 40], ["look_up", "a b " * 15]], mono=["channel"])
    assert "<code>messages[4]</code>" in shown
    assert f'<span class="long">{"x" * 40}</span>' in shown
    assert shown.count("long") == 1
