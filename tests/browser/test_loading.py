"""A page about a run that came before its figures.

When a service answers with one is a matter of its load (tests/api/test_loading_pages), so the first answer here is
ours; the script that it loads, and the page which that asks for, are the service's.
"""

import pytest
from playwright.sync_api import Page, Route, expect

from service.dashboard.loading import WAIT_HEADER
from tests.browser.complaints import Complaints
from tests.browser.conftest import OpenPage

FIRST = """<!doctype html><html lang="en"><head><title>First</title></head><body>
<main id="content"><section data-loading aria-busy="true"><p role="status">Reading</p></section></main>
<script src="{script}" type="module"></script></body></html>"""


@pytest.fixture
def page(open_page: OpenPage) -> Page:
    """A page whose requests say only what its scripts have them say."""
    return open_page(whole=False)


def answer_first(page: Page, script: str) -> None:
    """Answer with a page without figures, except to who says that it waits for the whole page."""

    def answer(route: Route) -> None:
        if WAIT_HEADER in route.request.headers:
            route.fallback()
        else:
            route.fulfill(body=FIRST.format(script=script), content_type="text/html")

    page.route("**/candidates?order=fitness", answer)


def script_of_loading(page: Page) -> str:
    page.goto("/runs")
    address: str = page.evaluate("[...document.scripts].map((one) => one.src).find((one) => one.endsWith('evolve.js'))")
    return address.replace("evolve.js", "loading.js")


def test_the_whole_page_takes_its_place_with_its_scripts_and_styles(page: Page, finished_run: str) -> None:
    answer_first(page, script_of_loading(page))
    page.goto(f"/runs/{finished_run}/candidates?order=fitness")
    expect(page.locator("[data-loading]")).to_have_count(0)
    expect(page.locator("#candidates tbody tr").first).to_be_visible()
    assert page.title() != "First"
    page.wait_for_function("customElements.get('news-count') !== undefined")
    page.wait_for_function("[...document.styleSheets].some((one) => one.href?.endsWith('evolve.css'))")


def test_a_page_that_does_not_come_can_be_asked_for_again(
    page: Page, finished_run: str, complaints: Complaints
) -> None:
    complaints.expect("net::ERR_CONNECTION_REFUSED")
    answer_first(page, script_of_loading(page))
    page.route(
        "**/candidates?order=fitness",
        lambda route: (
            route.fallback() if route.request.resource_type == "document" else route.abort("connectionrefused")
        ),
    )
    page.goto(f"/runs/{finished_run}/candidates?order=fitness")
    expect(page.get_by_role("status")).to_contain_text("The service did not answer.")
    expect(page.get_by_role("link", name="Try again")).to_have_attribute("href", page.url)
