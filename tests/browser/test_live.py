"""A page of a run that goes on: nothing on it is stale at the end, and it says when no news comes."""

import os
import signal
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from service.dashboard.numbers import number
from tests.browser.conftest import OpenPage
from tests.browser.installation import Installation, Service, until

# Every part of a page that is fetched anew comes so much later than it was read.
SLOWER = """
const real = window.fetch;
window.fetch = async (...asked) => {
  const answer = await real(...asked);
  await new Promise((resolve) => setTimeout(resolve, 600));
  return answer;
};
"""
AXIS = "document.querySelector('score-curve').chart.axes[1]"
RANGES: list[tuple[float, float]] = [(0.999, 1.0), (0.0, 1e-9), (0.0, 1e9), (0.0, 1e99), (1e-99, 2e-99), (-3.0, 2.0)]


def _tile(page: Page, title: str) -> Locator:
    return page.locator(".tile").filter(has=page.locator("dt", has_text=title)).locator("strong")


def test_no_part_is_stale_once_a_run_has_ended_though_the_service_is_slow(
    page: Page, service: Service, endless_problem: str
) -> None:
    page.add_init_script(SLOWER)
    run_id = service.submit(endless_problem, evaluations=40)
    page.goto(f"/runs/{run_id}")
    run = service.end(run_id)
    expect(_tile(page, "Evaluated")).to_have_text(number(run["progress"]["evaluated"]))
    expect(_tile(page, "Best fitness")).to_have_text(number(run["best_fitness"]))
    summary = page.locator("figure.chart .summary").first
    expect(summary).to_contain_text(f"best so far: {number(run['best_fitness'])} after 40 evaluations")
    expect(page.locator("score-curve")).to_have_attribute("data-shown", "40")
    expect(page.locator("h1 .state")).to_have_text("succeeded")
    expect(_tile(page, "Left")).to_have_count(0)


@pytest.mark.parametrize(("low", "high"), RANGES)
def test_an_axis_tells_its_values_apart_and_has_room_for_them(
    page: Page, finished_run: str, low: float, high: float
) -> None:
    def moved(route: Any) -> None:
        answer = route.fetch()
        told = answer.json()
        count = len(told["fitness"])
        told["fitness"] = [low + (high - low) * (at / (count - 1)) for at in range(count)]
        route.fulfill(response=answer, json=told)

    page.route("**/columns?*", moved)
    page.goto(f"/runs/{finished_run}")
    expect(page.locator("score-curve")).to_have_attribute("data-shown", "120")
    texts = page.evaluate(f"{AXIS}._values")
    assert len(texts) >= 3
    assert len(set(texts)) == len(texts)
    read = [float(text.replace("\u202f", "")) for text in texts]
    assert low - 0.2 * (high - low) <= min(read) < max(read) <= high + 0.1 * (high - low)
    widest = page.evaluate(
        f"texts => {{ const pen = {AXIS} && document.querySelector('score-curve').chart.ctx;"
        " pen.font = `${12 * devicePixelRatio}px system-ui`;"
        " return Math.max(...texts.map((text) => pen.measureText(text).width)) / devicePixelRatio; }",
        texts,
    )
    assert page.evaluate(f"{AXIS}._size") >= widest


def test_the_mark_of_a_run_at_work_beats_with_its_news_and_draws_nothing_between_them(
    open_page: OpenPage, live_run: str
) -> None:
    page = open_page(f"/runs/{live_run}", motion=True)
    page.wait_for_function("() => Number(document.querySelector('score-curve')?.dataset.shown) > 12")
    for opacity in ("0.3", "1", "0.3"):
        page.wait_for_function(
            "(wanted) => getComputedStyle(document.querySelector('h1 .state'), '::before').opacity === wanted",
            arg=opacity,
        )
    endless = "document.getAnimations().filter((one) => one.effect.getTiming().iterations === Infinity).length"
    assert page.evaluate(endless) == 0


def test_a_range_that_was_chosen_stays_while_the_run_goes_on_and_in_the_address(page: Page, live_run: str) -> None:
    page.goto(f"/runs/{live_run}")
    curve = page.locator("score-curve")
    page.wait_for_function("() => Number(document.querySelector('score-curve')?.dataset.shown) > 12")
    over = page.locator("score-curve .u-over").bounding_box()
    assert over
    page.mouse.move(over["x"] + 0.2 * over["width"], over["y"] + 40)
    page.mouse.down()
    page.mouse.move(over["x"] + 0.6 * over["width"], over["y"] + 40, steps=4)
    page.mouse.up()
    page.wait_for_url("**from=*")
    scale = "(({ min, max }) => [min, max])(document.querySelector('score-curve')?.chart?.scales.x ?? {})"
    chosen = page.evaluate(scale)
    seen = int(curve.get_attribute("data-shown") or 0)
    page.wait_for_function("seen => Number(document.querySelector('score-curve').dataset.shown) > seen + 4", arg=seen)
    assert page.evaluate(scale) == chosen
    page.reload()
    page.wait_for_function("() => Number(document.querySelector('score-curve')?.dataset.shown) > 12")
    assert page.evaluate(scale) == pytest.approx([round(value) for value in chosen])
    page.get_by_role("button", name="Show all evaluations").click()
    page.wait_for_function(f"() => {scale}[0] <= 1")
    assert "from=" not in page.url
    page.goto(f"/runs/{live_run}?from=2&to=9")
    page.wait_for_function(f"() => {scale}[0] === 2")
    page.locator("score-curve .u-over").dblclick(position={"x": 60, "y": 60})
    page.wait_for_function(f"() => {scale}[0] <= 1")


def test_a_service_that_stands_still_is_told_and_forgotten(
    page: Page, installation: Installation, live_run: str
) -> None:
    page.goto(f"/runs/{live_run}")
    page.wait_for_function("() => Number(document.querySelector('score-curve')?.dataset.shown) > 4")
    banner = page.get_by_role("status").filter(has_text="the service does not answer")
    os.kill(installation.pid, signal.SIGSTOP)
    try:
        expect(banner).to_be_visible()
    finally:
        os.kill(installation.pid, signal.SIGCONT)
    expect(banner).to_be_hidden()
    seen = page.locator("score-curve").get_attribute("data-shown") or "0"
    until(lambda: int(page.locator("score-curve").get_attribute("data-shown") or 0) > int(seen))
