"""The evaluations that the charts of a page share."""

from collections.abc import Callable
from typing import Any

from playwright.sync_api import Page

from service.dashboard.assets import address
from tests.browser.installation import Service

MIN_COLUMNS = 100  # that the API tells of a long run, if so many are asked for
HELD = """
async ([module, address]) => {
  const { Store } = await import(module);
  window.store = new Store(address);
  await window.store.refresh();
  return window.store.columns;
}
"""
AGAIN = "async () => { await window.store.refresh(); return window.store.columns; }"


def test_a_store_that_holds_a_part_of_a_long_run_adds_all_that_comes_later(
    open_page: Callable[..., Page], service: Service, live_run: str
) -> None:
    service.begin(live_run, evaluated=MIN_COLUMNS + 20)
    page = open_page("/runs")
    first: dict[str, Any] = page.evaluate(
        HELD, [address("columns.js"), f"/v1/runs/{live_run}/columns?points={MIN_COLUMNS}"]
    )
    assert first["sampled"]
    assert len(first["place"]) < first["total"]
    service.begin(live_run, evaluated=first["total"] + 4)
    then = page.evaluate(AGAIN)
    told = len(first["place"])
    assert then["place"][:told] == first["place"]
    assert then["place"][told:] == list(range(first["total"], then["total"]))
    every = service.get(f"/v1/runs/{live_run}/columns")
    assert [every["fitness"][place] for place in then["place"]] == then["fitness"]
    outcomes = [every["outcomes"][every["outcome"][place]] for place in then["place"]]
    assert outcomes == [then["outcomes"][code] for code in then["outcome"]]
