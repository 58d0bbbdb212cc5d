"""The page of a candidate."""

import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from service.dashboard.numbers import number, signed
from tests.browser import hostile
from tests.browser.axe import assert_accessible
from tests.browser.complaints import Complaints
from tests.browser.conftest import OpenPage
from tests.browser.installation import Service, until


@pytest.fixture(scope="module")
def child(service: Service, finished_run: str) -> dict[str, Any]:
    """The best candidate of the run that has parents."""
    best = service.get(f"/v1/runs/{finished_run}/candidates?order=fitness")["items"]
    found: dict[str, Any] = next(one for one in best if one["parents"])
    return found


def parent_of(service: Service, candidate: dict[str, Any]) -> dict[str, Any]:
    first = next(edge["candidate_id"] for edge in candidate["parents"] if edge["role"] == "parent")
    found: dict[str, Any] = service.get(f"/v1/candidates/{first}")
    return found


def test_scores_stand_beside_those_of_the_parent(page: Page, service: Service, child: dict[str, Any]) -> None:
    parent = parent_of(service, child)
    page.goto(f"/candidates/{child['id']}")
    row = page.locator("#scores tr", has=page.locator("th", has_text=re.compile("^value$")))
    mine, theirs = child["scores"]["value"], parent["scores"]["value"]
    expect(row.locator("td").nth(0)).to_have_text(number(mine))
    expect(row.locator("td").nth(1)).to_have_text(number(theirs))
    verdict = "equal" if mine == theirs else "better" if mine > theirs else "worse"
    expect(row.locator("td").nth(2)).to_have_text(f"{signed(mine - theirs)} {verdict}")


def test_a_difference_can_be_seen_below_each_other_and_side_by_side(
    page: Page, service: Service, child: dict[str, Any]
) -> None:
    diff = service.get(f"/v1/candidates/{child['id']}/diff")
    page.goto(f"/candidates/{child['id']}")
    expect(page.locator("#diff tr.added")).to_have_count(diff["added"])
    expect(page.locator("#diff tr.removed")).to_have_count(diff["removed"])
    page.get_by_label("As", exact=True).select_option("side by side")
    page.get_by_role("button", name="Compare").click()
    expect(page).to_have_url(re.compile(r"view=split"))
    expect(page.locator("#diff td.added")).to_have_count(diff["added"])
    expect(page.locator("#diff td.removed")).to_have_count(diff["removed"])


def test_a_program_that_is_not_there_is_said_beside_the_field(page: Page, child: dict[str, Any]) -> None:
    page.goto(f"/candidates/{child['id']}?against=cnd_nowhere")
    expect(page.get_by_label("Against")).to_have_value("cnd_nowhere")
    expect(page.locator("#against-complaint")).to_be_visible()
    expect(page.locator("#source pre")).to_contain_text("def give")


def test_what_stands_unchanged_around_a_change_can_be_unfolded(
    page: Page, service: Service, child: dict[str, Any]
) -> None:
    page.goto(f"/candidates/{child['id']}?against={_seed(service, child)}")
    text = service.get(f"/v1/candidates/{child['id']}/source")["files"][0]["text"]
    for fold in page.locator("#diff details.fold").all():
        fold.locator("summary").click()
    shown = page.locator("#diff tr:not(.removed) .code").all_text_contents()
    assert [line[2:] for line in shown] == text.rstrip("\n").split("\n")


def _seed(service: Service, candidate: dict[str, Any]) -> str:
    return str(service.get(f"/v1/candidates/{candidate['id']}/lineage")["items"][-1]["id"])


def test_a_file_is_copied_as_it_is(page: Page, service: Service, child: dict[str, Any]) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.goto(f"/candidates/{child['id']}")
    page.get_by_role("button", name="Copy").click()
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    text = service.get(f"/v1/candidates/{child['id']}/source")["files"][0]["text"]
    assert page.evaluate("navigator.clipboard.readText()") == text


def test_keys_lead_to_the_parent_the_diff_and_the_neighbours(
    page: Page, service: Service, finished_run: str, child: dict[str, Any]
) -> None:
    order = [one["id"] for one in service.get(f"/v1/runs/{finished_run}/candidates?limit=200")["items"]]
    at = order.index(child["id"])
    page.goto(f"/candidates/{child['id']}")
    page.keyboard.press("[")
    expect(page).to_have_url(re.compile(order[at - 1]))
    page.keyboard.press("]")
    expect(page).to_have_url(re.compile(child["id"]))
    page.keyboard.press("d")
    expect(page).to_have_url(re.compile(r"against=.*#diff"))
    page.keyboard.press("p")
    expect(page).to_have_url(re.compile(f"/candidates/{parent_of(service, child)['id']}$"))


def test_a_pin_is_put_and_taken_away(page: Page, service: Service, finished_run: str, child: dict[str, Any]) -> None:
    page.goto(f"/candidates/{child['id']}")
    page.get_by_role("button", name="Pin", exact=True).click()
    expect(page.get_by_role("button", name="Unpin")).to_be_visible()
    assert [one["candidate_id"] for one in service.get(f"/v1/runs/{finished_run}/pins")["items"]] == [child["id"]]
    page.get_by_role("button", name="Unpin").click()
    expect(page.get_by_role("button", name="Pin", exact=True)).to_be_visible()
    assert service.get(f"/v1/runs/{finished_run}/pins")["items"] == []


def test_notes_are_written_changed_and_removed(page: Page, child: dict[str, Any]) -> None:
    page.goto(f"/candidates/{child['id']}")
    page.get_by_label("New note").fill(f"First {hostile.SCRIPT}\n  indented")
    page.get_by_role("button", name="Write").click()
    note = page.locator("#notes article")
    expect(note.locator("pre")).to_have_text(f"First {hostile.SCRIPT}\n  indented")
    note.get_by_text("Change").click()
    note.get_by_label("Text").fill("Second")
    note.get_by_role("button", name="Save").click()
    expect(note.locator("pre")).to_have_text("Second")
    note.get_by_role("button", name="Delete").click()
    expect(note).to_have_count(0)


def test_an_empty_note_is_refused_beside_its_field(page: Page, complaints: Complaints, child: dict[str, Any]) -> None:
    complaints.expect("422")
    page.goto(f"/candidates/{child['id']}")
    page.get_by_role("button", name="Write").click()
    expect(page.locator("#note-complaint")).to_be_visible()
    expect(page.get_by_label("New note")).to_have_attribute("aria-invalid", "true")


def test_a_program_of_an_ended_run_is_evaluated_again(page: Page, service: Service, child: dict[str, Any]) -> None:
    attempts = f"/v1/candidates/{child['id']}/evaluations"
    before = len(service.get(attempts)["items"])
    page.goto(f"/candidates/{child['id']}")
    page.get_by_role("button", name="Evaluate again").click()
    expect(page).to_have_url(re.compile(f"wanted={before}#attempts"))
    until(lambda: len(service.get(attempts)["items"]) > before)
    page.reload()
    expect(page.locator("#attempts tbody tr")).to_have_count(before + 1)
    expect(page.locator("#attempts [role=status]")).to_have_count(0)


def test_a_program_that_is_being_evaluated_shows_its_score_when_it_has_one(page: Page, service: Service) -> None:
    service.create_problem("slow", seconds=4.0)
    run_id = service.submit("slow", evaluations=1)
    seed = until(lambda: service.get(f"/v1/runs/{run_id}/candidates")["items"])[0]
    page.goto(f"/candidates/{seed['id']}")
    page.get_by_label("New note").fill("being typed")
    expect(page.locator("#candidate-head .state-ok")).to_be_visible()
    value = page.locator("#scores tr", has=page.locator("th", has_text=re.compile("^value$"))).locator("td").first
    expect(value).to_have_text(number(service.get(f"/v1/candidates/{seed['id']}")["scores"]["value"]))
    expect(page.locator("#attempts tbody tr")).to_have_count(1)
    expect(page.get_by_label("New note")).to_have_value("being typed")


def test_a_hostile_program_is_shown_as_text(open_page: OpenPage, service: Service) -> None:
    run_id = hostile.mutated(service)
    candidates = service.get(f"/v1/runs/{run_id}/candidates?outcome=ok")["items"]
    candidate = next(one for one in candidates if one["parents"])
    page = open_page(f"/candidates/{candidate['id']}?view=split", width=400)
    hostile.assert_harmless(page)
    for place in ("#source pre", "#diff"):
        expect(page.locator(place)).to_contain_text(hostile.SCRIPT)
        for words in hostile.SHOWN:
            expect(page.locator(place)).to_contain_text(words)
    expect(page.locator("#source pre")).to_contain_text("more characters on this line")
    expect(page.locator("#source pre")).to_contain_text("return")
    expect(page.locator("#feedback")).to_contain_text("<script>throw new Error('feedback was run')</script>")
    assert len(page.content()) < 100_000


def test_everything_is_there_without_script(open_page: OpenPage, service: Service, child: dict[str, Any]) -> None:
    page = open_page(f"/candidates/{child['id']}", javascript=False)
    text = service.get(f"/v1/candidates/{child['id']}/source")["files"][0]["text"]
    assert page.locator("#source pre").text_content() == text
    expect(page.locator("#attempts tbody tr")).not_to_have_count(0)
    expect(page.get_by_role("link", name="Download")).to_be_visible()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_page_of_a_program_shuts_nobody_out(open_page: OpenPage, child: dict[str, Any], theme: str) -> None:
    assert_accessible(open_page(f"/candidates/{child['id']}", theme=theme))
    assert_accessible(open_page(f"/candidates/{child['id']}?view=split", theme=theme, width=400))
