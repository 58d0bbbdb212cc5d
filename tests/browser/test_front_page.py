"""The first page, as the address that the terminal shows leads to it."""

import re

from playwright.sync_api import Page, expect

from tests.browser.axe import assert_accessible
from tests.browser.installation import Service


def test_the_first_page_loads_and_complains_of_nothing(page: Page) -> None:
    answer = page.goto("/")
    assert answer
    assert answer.status == 200
    expect(page).to_have_title(re.compile("Evolve"))


def test_the_first_page_shuts_nobody_out(page: Page) -> None:
    page.goto("/")
    assert_accessible(page)


def test_who_is_signed_in_at_the_browser_may_ask_the_api(page: Page, service: Service, finished_run: str) -> None:
    assert page.request.get(f"/v1/runs/{finished_run}").json() == service.get(f"/v1/runs/{finished_run}")
