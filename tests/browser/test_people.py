"""Who comes to the dashboard: with a key, without one, with a session that has ended, to where there is nothing."""

import pytest
from playwright.sync_api import Page, expect

from tests.browser.axe import assert_accessible
from tests.browser.complaints import Complaints
from tests.browser.conftest import OpenPage
from tests.browser.installation import Service

ELSEWHERE = ("https://elsewhere.example/", "//elsewhere.example/", "/\\elsewhere.example", "javascript:alert(1)")
NOWHERE = ("/nothing", "/runs/run_nothing", "/candidates/cnd_nothing", "/runs/run_nothing/lineage")


@pytest.fixture(scope="package")
def key(service: Service) -> str:
    """A key that reads and controls runs."""
    scopes = ["runs:read", "runs:write", "runs:control", "programs:read"]
    made = service.client.post("/v1/api-keys", json={"name": "browser", "scopes": scopes}).raise_for_status()
    return str(made.json()["key"])


def test_who_signs_in_comes_back_to_the_page(open_page: OpenPage, key: str, finished_run: str) -> None:
    page = open_page(f"/runs/{finished_run}?a=1", stranger=True)
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
    assert_accessible(page)
    page.get_by_label("API key").fill(key)
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url(f"**/runs/{finished_run}?a=1")
    page.get_by_role("button", name="Sign out").click()
    page.goto(f"/runs/{finished_run}")
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()


def test_a_wrong_key_is_said_beside_its_field(open_page: OpenPage, complaints: Complaints) -> None:
    complaints.expect("403")
    page = open_page("/sign-in", stranger=True)
    page.get_by_label("API key").fill("evo_nothing")
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("alert")).to_contain_text("unknown or void")
    expect(page.get_by_label("API key")).to_have_attribute("aria-invalid", "true")


@pytest.mark.parametrize("place", ELSEWHERE)
def test_nobody_is_led_elsewhere(open_page: OpenPage, key: str, place: str) -> None:
    page = open_page(stranger=True)
    page.goto(f"/sign-in?next={place}")
    page.get_by_label("API key").fill(key)
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url("**/runs")


def test_nobody_is_signed_out_by_another_site(page: Page) -> None:
    answer = page.request.post("/sign-out", headers={"Sec-Fetch-Site": "cross-site"})
    assert answer.status == 403


@pytest.mark.parametrize("path", NOWHERE)
def test_where_there_is_nothing_is_a_way_on(open_page: OpenPage, complaints: Complaints, path: str) -> None:
    complaints.expect("404")
    page = open_page(path)
    expect(page.get_by_role("heading", name="Not found")).to_be_visible()
    expect(page.get_by_role("link", name="All runs")).to_be_visible()
    assert_accessible(page)


def test_machines_get_machines_answers(page: Page) -> None:
    for path in ("/v1/nothing", "/nothing"):
        answer = page.request.get(path, headers={"Accept": "application/json"})
        assert (answer.status, answer.headers["content-type"]) == (404, "application/problem+json")


def test_the_theme_that_was_chosen_stays(open_page: OpenPage) -> None:
    page = open_page("/runs", theme="dark")
    dark = page.evaluate("getComputedStyle(document.documentElement).backgroundColor")
    button = page.get_by_role("button", name="Theme")
    button.click()
    expect(button).to_have_text("Theme: light")
    page.reload()
    expect(button).to_have_text("Theme: light")
    assert page.evaluate("getComputedStyle(document.documentElement).backgroundColor") != dark


def test_keys_lead_to_pages_and_are_listed(page: Page, finished_run: str) -> None:
    page.goto(f"/runs/{finished_run}")
    page.keyboard.press("?")
    dialog = page.get_by_role("dialog", name="Keyboard shortcuts")
    expect(dialog.get_by_text("Overview")).to_be_visible()
    assert_accessible(page)
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    page.keyboard.press("g")
    page.keyboard.press("r")
    page.wait_for_url("**/runs")
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to content")).to_be_focused()


def test_a_few_letters_or_an_id_lead_anywhere(page: Page, finished_run: str) -> None:
    page.goto(f"/runs/{finished_run}")
    page.keyboard.press("Control+k")
    dialog = page.get_by_role("dialog", name="Go to")
    expect(dialog.get_by_role("searchbox")).to_be_focused()
    assert_accessible(page)
    page.keyboard.type("linea")
    expect(dialog.get_by_role("link")).to_have_text(["Lineage"])
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/runs/{finished_run}/lineage")
    page.keyboard.press("Control+k")
    page.keyboard.type(finished_run)
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/runs/{finished_run}")
