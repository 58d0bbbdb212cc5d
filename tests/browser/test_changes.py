"""Changes of a run at work, made on its pages: hints, and programs edited by hand."""

import re

from playwright.sync_api import Page, expect

from tests.browser.axe import assert_accessible
from tests.browser.complaints import Complaints
from tests.browser.installation import PROGRAM, Service, until

HOSTILE = "<script>throw new Error('a hint was run')</script>try rings"
PROPOSALS = 2  # cells of a row before its count of proposals: who asked, and when


def test_a_hint_is_given_on_the_page_and_shown_with_what_it_brought(
    page: Page, service: Service, live_run: str
) -> None:
    page.goto(f"/runs/{live_run}")
    page.get_by_text("Give a hint").click()
    page.get_by_label("What to try next").fill(HOSTILE)
    page.get_by_label("In the prompts of so many proposals").fill("3")
    assert_accessible(page, within="#hint-form")
    page.get_by_role("button", name="Give the hint").click()
    row = page.get_by_role("region", name="Changes by people").locator("tbody tr")
    expect(row.get_by_role("rowheader")).to_have_text(f"Hint: {HOSTILE}")
    until(lambda: service.get(f"/v1/runs/{live_run}/changes")["items"][0]["proposals"] == 3)
    expect(row.get_by_role("cell").nth(PROPOSALS)).to_have_text("3 of 3")
    [given] = service.get(f"/v1/runs/{live_run}/events?kinds=hint.given&limit=1")["items"]
    assert (given["text"], given["proposals"]) == (HOSTILE, 3)


def test_an_ended_run_offers_no_hint(page: Page, finished_run: str) -> None:
    page.goto(f"/runs/{finished_run}")
    expect(page.get_by_text("Give a hint")).to_have_count(0)


def test_a_candidate_is_edited_on_its_page_and_listed_with_what_came_of_it(
    page: Page, service: Service, live_run: str, complaints: Complaints
) -> None:
    complaints.expect("422")  # the program that is refused
    [seed] = service.get(f"/v1/runs/{live_run}/candidates?proposal_number=0")["items"]
    page.goto(f"/candidates/{seed['id']}")
    page.get_by_role("link", name="Edit as a new candidate").click()
    text = page.get_by_label("program.py")
    expect(text).to_have_value(PROGRAM)
    assert_accessible(page)
    text.fill("def give(:\n")
    page.get_by_role("button", name="Insert the program").click()
    expect(page.get_by_role("alert")).to_contain_text("not valid Python")
    text.fill(PROGRAM.replace("1.5", "1.5625"))
    page.get_by_role("button", name="Insert the program").click()
    row = page.get_by_role("region", name="Changes by people").locator("tbody tr")
    expect(row).to_contain_text(f"child of {seed['name']}")
    found = until(lambda: [one for one in service.get(f"/v1/runs/{live_run}/changes")["items"] if one["outcome"]])
    assert (found[0]["outcome"], found[0]["evaluations"] > 0) == ("ok", True)
    mine = service.get(f"/v1/candidates/{found[0]['candidate_id']}")
    assert (mine["operator"], mine["parents"][0]["candidate_id"]) == ("manual", seed["id"])
    expect(row.get_by_role("link", name=mine["name"])).to_be_visible()


def test_a_candidate_is_banned_on_its_page_and_its_ban_is_lifted(page: Page, service: Service, live_run: str) -> None:
    found = until(lambda: service.get(f"/v1/runs/{live_run}/candidates?outcome=ok&limit=5")["items"][2:])
    candidate = found[0]
    page.goto(f"/candidates/{candidate['id']}")
    page.get_by_role("button", name="Ban", exact=True).click()
    until(lambda: service.get(f"/v1/runs/{live_run}/bans")["items"][0]["at"])
    page.reload()
    expect(page.get_by_role("heading", level=1)).to_contain_text("banned")
    expect(page.get_by_text("it is not a parent, inspiration or migrant")).to_be_visible()
    assert_accessible(page, within="#candidate-head")
    assert service.get(f"/v1/candidates/{candidate['id']}")["islands"] == []
    page.goto(f"/runs/{live_run}#changes")
    row = page.get_by_role("region", name="Changes by people").locator("tbody tr")
    expect(row.first).to_contain_text(f"Ban of {candidate['name']}")
    page.goto(f"/candidates/{candidate['id']}")
    page.get_by_role("button", name="Lift the ban").click()
    until(lambda: service.get(f"/v1/runs/{live_run}/bans")["items"] == [])
    expect(page.get_by_role("button", name="Ban", exact=True)).to_be_visible()


def test_a_setting_is_changed_on_the_page_setup(page: Page, service: Service, live_run: str) -> None:
    page.goto(f"/runs/{live_run}/setup")
    page.get_by_label("Setting", exact=True).select_option("inspirations.top")
    page.get_by_label("New value").fill("1")
    assert_accessible(page, within="#settings")
    page.get_by_role("button", name="Change the setting").click()
    expect(page.get_by_role("row", name="inspirations.top")).to_contain_text("1 (changed)")
    [changed] = until(
        lambda: service.get(f"/v1/runs/{live_run}/events?kinds=settings.changed&limit=1")["items"] or None
    )
    assert changed["settings"] == {"inspirations.top": 1}
    page.goto(f"/runs/{live_run}")
    row = page.get_by_role("region", name="Changes by people").locator("tbody tr")
    expect(row.first).to_contain_text("inspirations.top = 1")


def test_a_candidate_has_priority_on_its_page_until_it_is_used_up_or_lifted(
    page: Page, service: Service, live_run: str
) -> None:
    found = until(lambda: service.get(f"/v1/runs/{live_run}/candidates?outcome=ok&limit=5")["items"][2:])
    candidate = found[0]
    page.goto(f"/candidates/{candidate['id']}")
    page.get_by_label("for").fill("3")
    page.get_by_role("button", name="Give priority").click()
    until(lambda: service.get(f"/v1/runs/{live_run}/changes")["items"][0]["proposals"] == 3)
    page.goto(f"/runs/{live_run}#changes")
    row = page.get_by_role("region", name="Changes by people").locator("tbody tr")
    expect(row.first).to_contain_text(f"Priority of {candidate['name']}")
    expect(row.first.get_by_role("cell").nth(PROPOSALS)).to_have_text("3 of 3")
    page.goto(f"/candidates/{candidate['id']}")
    page.get_by_label("for").fill("5000")
    page.get_by_role("button", name="Give priority").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("priority")
    expect(page.get_by_text(re.compile(r"of 5\D000 proposals are still to start from it"))).to_be_visible()
    assert_accessible(page, within="#candidate-head")
    until(lambda: service.get(f"/v1/runs/{live_run}/priorities")["items"][0]["at"])
    page.get_by_role("button", name="Lift the priority").click()
    expect(page.get_by_role("button", name="Give priority")).to_be_visible()
    until(lambda: service.get(f"/v1/runs/{live_run}/changes")["items"][0]["kind"] == "priority.lifted")
    assert service.get(f"/v1/runs/{live_run}/priorities")["items"] == []
