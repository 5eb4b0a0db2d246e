"""Drawings in a real browser, with its own fonts: what can be read, what lies on what, and what plays."""

from __future__ import annotations

from collections.abc import Iterator
from operator import add
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from playwright.sync_api import Browser, Page

from runtime.graph import StateGraph
from tests.engines import engine_of
from tests.workbench.shapes import NAMES, build, load
from workbench import draw, record

pytestmark = [pytest.mark.browser, pytest.mark.timeout(120)]

FAULTS = """() => {
  const box = one => one.getBoundingClientRect(), said = one => one.textContent.trim();
  const meets = (a, b, by) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > by
    && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > by;
  const nodes = [...document.querySelectorAll("g.node")], found = [];
  const labels = [...document.querySelectorAll("g.edge text, g.cluster-title text")].filter(said);
  for (const node of nodes) {
    const own = [...node.children].filter(one => one.matches("path, polygon, ellipse")).map(box);
    const left = Math.min(...own.map(one => one.left)), right = Math.max(...own.map(one => one.right));
    for (const text of node.querySelectorAll("text"))
      if (box(text).left < left - 1 || box(text).right > right + 1) found.push(`${said(text)} is wider than its node`);
    for (const label of labels)
      if (meets(box(label), {left, right, top: Math.min(...own.map(one => one.top)),
          bottom: Math.max(...own.map(one => one.bottom))}, 2)) found.push(`${said(label)} lies on a node`);
  }
  labels.forEach((one, i) => labels.slice(i + 1).forEach(other => {
    if (meets(box(one), box(other), 3)) found.push(`${said(one)} and ${said(other)} overlap`);
  }));
  const whole = box(document.documentElement);
  for (const text of document.querySelectorAll("text"))
    if (box(text).left < whole.left || box(text).right > whole.right + 1 || box(text).bottom > whole.bottom + 1)
      found.push(`${said(text)} is cut off`);
  return found;
}"""
SEEN = """seconds => {
  for (const one of document.getAnimations()) {
    one.pause();
    if (one.effect.getTiming().iterations === Infinity) one.currentTime = seconds * 1000;
  }
  return [...document.querySelectorAll(".wb-frame")].filter(one => getComputedStyle(one).visibility === "visible")
    .map(one => [...one.querySelectorAll("text")].map(text => text.textContent));
}"""


class State(TypedDict, total=False):
    log: Annotated[list[str], add]


@pytest.fixture
def still(browser: Browser) -> Iterator[Page]:
    """A page for a reader who wants no motion."""
    context = browser.new_context(reduced_motion="reduce")
    yield context.new_page()
    context.close()


def shown(page: Page, picture: Any, file: Path) -> Page:
    picture.save(file)
    page.goto(file.as_uri())
    return page


def animation() -> Any:
    builder = StateGraph(State)
    for name in ("a", "b"):
        builder.add_node(name, lambda state, name=name: {"log": [name]})
    builder.add_edge("__start__", "a").add_edge("a", "b")
    return record(builder.compile(), {"log": []}).animation()


@pytest.mark.parametrize("name", NAMES)
def test_in_the_browsers_own_letters_nothing_lies_on_something_else_or_is_cut(
    name: str, page: Page, tmp_path: Path
) -> None:
    graph = build(engine_of("runtime"), load(name))
    page.set_viewport_size({"width": 2000, "height": 2000})
    for xray in (False, True):
        assert shown(page, draw(graph, xray=xray), tmp_path / "g.svg").evaluate(FAULTS) == []


def test_one_frame_of_an_animation_is_seen_at_any_time(page: Page, tmp_path: Path) -> None:
    shown(page, animation(), tmp_path / "run.svg")
    frames = [page.evaluate(SEEN, seconds) for seconds in (0.1, 1.3, 2.5, 4.1, 5.3, 6.5, 8.1)]
    assert [len(one) for one in frames] == [1] * 7
    steps = [[words for words in one[0] if words.startswith("Superstep")] for one in frames]
    assert steps == [*[["Superstep 1"]] * 3, *[["Superstep 2"]] * 3, ["Superstep 1"]]
    assert [any("→" in words for words in one[0]) for one in frames] == [False, False, True] * 2 + [False]


def test_an_animation_runs_by_itself(page: Page, tmp_path: Path) -> None:
    shown(page, animation(), tmp_path / "run.svg")
    page.wait_for_function("document.getAnimations().filter(one => one.playState === 'running').length >= 6")


def test_an_animation_stands_at_its_end_where_motion_is_unwelcome(still: Page, tmp_path: Path) -> None:
    (frame,) = shown(still, animation(), tmp_path / "run.svg").evaluate(SEEN, 1.0)
    assert "Ended after 2 supersteps" in frame
    assert still.evaluate("document.getAnimations().length") == 0


def test_a_picture_in_a_file_does_not_fade_in(page: Page, tmp_path: Path) -> None:
    page.emulate_media(color_scheme="dark")
    shown(page, draw(build(engine_of("runtime"), load(NAMES[0]))), tmp_path / "g.svg")
    styles = "[...document.querySelectorAll('g.node path')].map(one => getComputedStyle(one))"
    assert page.evaluate(f"new Set({styles}.map(one => one.transitionDuration)).has('0s')")
    assert page.evaluate(f"{styles}.some(one => one.fill === 'rgb(27, 29, 32)')")
