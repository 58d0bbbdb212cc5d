"""What of a run is taken away, and who else reads it: downloads, notes, and addresses that need no key."""

import csv
import io
import json
import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.axe import assert_accessible
from tests.browser.complaints import Complaints
from tests.browser.conftest import OpenPage
from tests.browser.installation import Service

HOSTILE = "<script>document.title = 'run'</script> \u202eturned"


def make_address(page: Page, run_id: str) -> str:
    """Make an address on the page of a run, and read it as it is shown."""
    page.goto(f"/runs/{run_id}/share")
    page.get_by_role("button", name="Make an address").click()
    shown = page.get_by_role("status", name="The address is made").locator("[data-secret]").inner_text()
    assert re.fullmatch(r"http://[^/]+/shared/evs_[0-9A-Za-z]{43}", shown)
    return shown


def test_an_address_opens_the_run_to_who_has_no_key_until_it_is_revoked(
    page: Page, open_page: OpenPage, finished_run: str, service: Service, complaints: Complaints
) -> None:
    address = make_address(page, finished_run)
    guest = open_page(address, stranger=True)
    expect(guest).to_have_url(re.compile(f"/runs/{finished_run}$"))
    expect(guest.get_by_role("note").first).to_contain_text("shared with you")
    evaluated = service.get(f"/v1/runs/{finished_run}")["progress"]["evaluated"]
    expect(guest.locator("score-curve")).to_have_attribute("data-shown", str(evaluated))
    assert guest.get_by_role("navigation", name="Main").count() == 0
    assert guest.locator("form[method=post]").count() == 0
    assert_accessible(guest)
    for link in guest.locator(".tabs a").all():
        assert guest.request.get(link.get_attribute("href") or "").status == 200
    guest.goto(f"/runs/{finished_run}/share")
    assert guest.locator("form[method=post]").count() == 0
    assert "evs_" not in guest.content()

    page.reload()  # the form is sent again, and has no second effect
    expect(page.get_by_role("status", name="The address is made")).to_contain_text("shown once")
    assert "evs_" not in page.content()
    expect(page.get_by_role("button", name="Revoke share")).to_have_count(1)
    page.get_by_role("button", name="Revoke share").click()
    expect(page.locator("#tokens tbody tr").last).to_contain_text("revoked")
    complaints.expect("403")
    guest.reload()
    expect(guest.get_by_role("heading", name="The share has ended")).to_be_visible()
    assert_accessible(guest)
    assert guest.request.get(f"/v1/runs/{finished_run}").status == 401


def test_who_is_signed_in_opens_it_as_themselves(page: Page, finished_run: str) -> None:
    page.goto(make_address(page, finished_run))
    expect(page).to_have_url(re.compile(f"/runs/{finished_run}$"))
    expect(page.get_by_role("navigation", name="Main")).to_be_visible()
    assert not any(cookie["name"] == "evolve_share" for cookie in page.context.cookies())


def test_its_cookie_is_for_the_service_alone(page: Page, open_page: OpenPage, finished_run: str) -> None:
    guest = open_page(make_address(page, finished_run), stranger=True)
    (cookie,) = [cookie for cookie in guest.context.cookies() if cookie["name"] == "evolve_share"]
    assert (cookie["httpOnly"], cookie["sameSite"], cookie["path"]) == (True, "Lax", "/")
    refused = guest.request.post(f"/runs/{finished_run}/share/tokens", form={})
    assert refused.status == 403


def test_an_address_that_opens_nothing_says_so(open_page: OpenPage, complaints: Complaints) -> None:
    complaints.expect("403")
    guest = open_page("/shared/evs_" + "0" * 43, stranger=True)
    expect(guest.get_by_role("heading", name="The share has ended")).to_be_visible()


def test_a_day_that_is_over_is_said_beside_the_field_and_kept(page: Page, finished_run: str) -> None:
    page.goto(f"/runs/{finished_run}/share")
    token = page.locator("#tokens input[name=csrf]").first.get_attribute("value") or ""
    form: dict[str, str | float | bool] = {"expires": "2001-02-03", "csrf": token}
    answer = page.request.post(f"/runs/{finished_run}/share/tokens", form=form)
    assert answer.status == 422
    page.set_content(answer.text())
    expect(page.get_by_label("Last day")).to_have_value("2001-02-03")
    expect(page.locator("#expires-complaint")).to_contain_text("over")


def test_downloads_hold_what_the_api_tells(page: Page, finished_run: str, service: Service) -> None:
    page.goto(f"/runs/{finished_run}/share")
    links = {link.inner_text(): link.get_attribute("href") or "" for link in page.locator("a[download]").all()}
    candidates = service.get(f"/v1/runs/{finished_run}/candidates?limit=1&include=count")["count"]
    lines = page.request.get(links["Candidates with their files"]).text().splitlines()
    assert len(lines) == candidates
    assert len(list(csv.DictReader(io.StringIO(page.request.get(links["Table of candidates"]).text())))) == candidates
    events = [json.loads(line) for line in page.request.get(links["Event log"]).text().splitlines()]
    assert events[-1]["sequence"] == service.get(f"/v1/runs/{finished_run}")["sequence"] == len(events)
    best = service.get(f"/v1/runs/{finished_run}")["best_candidate_id"]
    source = service.get(f"/v1/candidates/{best}/source")["files"][0]["text"]
    assert page.request.get(links["best/program.py"]).text() == source


def test_a_note_is_written_shown_as_text_and_removed(page: Page, finished_run: str) -> None:
    page.goto(f"/runs/{finished_run}/share")
    page.get_by_label("New note").fill(HOSTILE)
    page.get_by_role("button", name="Add note").click()
    shown = page.locator("#notes .note-body").last
    expect(shown).to_contain_text("<script>document.title = 'run'</script>")
    expect(shown).to_contain_text("U+202E")
    page.get_by_role("button", name="Delete note").last.click()
    expect(page.locator("#notes")).not_to_contain_text("turned")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_page_shuts_nobody_out(open_page: OpenPage, finished_run: str, theme: str) -> None:
    page = open_page(f"/runs/{finished_run}/share", theme=theme, width=360)
    assert_accessible(page)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_without_script_everything_is_there(open_page: OpenPage, finished_run: str) -> None:
    page = open_page(f"/runs/{finished_run}/share", javascript=False)
    expect(page.get_by_role("link", name="Event log")).to_be_visible()
    expect(page.get_by_role("button", name="Make an address")).to_be_visible()
    assert page.get_by_role("button", name="Copy").count() == 0
