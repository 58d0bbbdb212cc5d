"""Runs side by side."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.axe import assert_accessible
from tests.browser.complaints import Complaints
from tests.browser.conftest import OpenPage
from tests.browser.installation import CONFIG, FINISHED, Service

HOSTILE = "<script>document.title='owned'</script>\u202e"


@pytest.fixture(scope="module")
def seeded(service: Service, finished_run: str) -> list[str]:
    """Ids of three runs: two differ in nothing but the seed, the third has a smaller budget and a hostile name."""
    found = []
    for seed, budget, labels in ((1, 30, {}), (2, 30, {}), (7, 20, {"name": HOSTILE})):
        config = {**CONFIG, "seed": seed, "budget": {"evaluations": budget}}
        body = {"problem": FINISHED, "policy": "syntax", "config": config, "labels": labels}
        found.append(str(service.client.post("/v1/runs", json=body).raise_for_status().json()["id"]))
    for run_id in found:
        assert service.end(run_id)["state"] == "succeeded"
    return found


@pytest.fixture(scope="module")
def crowd(service: Service, seeded: list[str]) -> list[str]:
    """Ids of fifteen short runs that differ in the seed alone."""
    del seeded  # their problem is there
    config = {**CONFIG, "budget": {"evaluations": 4}}
    found = []
    for seed in range(15):
        body = {"problem": FINISHED, "policy": "syntax", "config": {**config, "seed": seed}}
        found.append(str(service.client.post("/v1/runs", json=body).raise_for_status().json()["id"]))
    for run_id in found:
        assert service.end(run_id)["state"] == "succeeded"
    return found


def address(runs: list[str], axis: str = "evaluations") -> str:
    return "/compare?" + "&".join(f"run={run_id}" for run_id in runs) + f"&axis={axis}"


def test_runs_are_chosen_from_a_form(page: Page, seeded: list[str]) -> None:
    page.goto("/compare")
    for run_id in seeded[:2]:
        page.locator(f"input[value='{run_id}']").check()
    page.get_by_role("button", name="Compare").click()
    page.wait_for_url(re.compile("run=.*run="))
    expect(page.get_by_role("heading", name="Compare 2 runs")).to_be_visible()
    expect(page.locator("compare-curve")).to_have_attribute("data-shown", "5")  # two runs, a mean and its range


def test_two_clicks_lead_from_a_run_to_what_another_differs_in(page: Page, seeded: list[str]) -> None:
    page.goto(f"/runs/{seeded[0]}")
    page.get_by_role("link", name="Compare", exact=True).last.click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("with another run")
    expect(page.locator(f"input[value='{seeded[0]}']")).to_be_checked()
    assert_accessible(page)
    page.locator(f"main a[href*='{seeded[1]}']").click()
    expect(page.get_by_role("heading", name="Compare 2 runs")).to_be_visible()


def test_outcomes_and_groups_are_what_the_api_says(page: Page, service: Service, seeded: list[str]) -> None:
    told = service.get(f"/v1/compare?runs={','.join(seeded)}")
    page.goto(address(seeded))
    outcomes = page.get_by_role("region", name="Outcomes").locator("tbody tr")
    expect(outcomes).to_have_count(3)
    for row, run in zip(outcomes.all(), told["runs"], strict=True):
        expect(row).to_contain_text(f"{run['final_fitness']:.5g}")
        expect(row.locator(f"a[href='/candidates/{run['best_candidate_id']}']")).to_be_visible()
    (group,) = told["groups"]
    line = page.get_by_role("region", name="Groups").locator("tbody tr")
    expect(line).to_contain_text("#1, #2")
    expect(line).to_contain_text(f"{group['final_mean']:.5g}")
    keys = page.get_by_role("region", name="Differences in the settings").locator("tbody th")
    expect(keys).to_have_text(["budget.evaluations", "seed"])


def test_what_is_equal_is_left_out_until_it_is_chosen(page: Page, service: Service, seeded: list[str]) -> None:
    page.goto(address(seeded))
    heads = page.get_by_role("region", name="Outcomes").locator("thead th")
    shown = heads.all_inner_texts()
    assert "Evaluations" in shown
    assert not {"State", "Cost", "Problem"} & set(shown)
    expect(page.locator("[data-equal]")).to_contain_text("state succeeded")
    page.get_by_text("Columns", exact=True).click()
    form = page.locator("form.columns-form")
    for box in form.get_by_role("checkbox").all():
        box.set_checked(box.get_attribute("value") in ("state", "time"))
    form.get_by_role("button", name="Show these").click()
    page.wait_for_url("**columns=state**columns=time**")
    assert heads.all_inner_texts() == ["#", "Run", "Best", "Candidate", "State", "Time at work"]
    page.get_by_role("link", name="By time").click()
    page.wait_for_url("**axis=time**columns=state**")


def test_fifteen_runs_stand_below_one_another_and_fit_the_page(open_page: OpenPage, crowd: list[str]) -> None:
    page = open_page(address(crowd), width=1440)
    table = page.get_by_role("region", name="Differences in the settings")
    expect(table.locator("thead th")).to_have_text(["#", "Run", "seed"])
    expect(table.locator("tbody tr")).to_have_count(len(crowd))
    for name in ("Outcomes", "Differences in the settings"):
        assert page.get_by_role("region", name=name).evaluate("one => one.scrollWidth <= one.clientWidth")


def test_the_axis_is_in_the_address(page: Page, service: Service, seeded: list[str]) -> None:
    page.goto(address(seeded))
    page.get_by_role("link", name="By time").click()
    page.wait_for_url("**axis=time")
    expect(page.locator("compare-curve")).to_have_attribute("data-shown", "6")
    page.get_by_text("The chart as a table").click()
    last = page.get_by_role("region", name="Best so far over time").locator("tbody tr").last
    finals = [run["final_fitness"] for run in service.get(f"/v1/compare?runs={','.join(seeded)}")["runs"]]
    assert set(last.locator("td").all_inner_texts()[1:]) & {f"{value:.5g}" for value in finals}
    page.go_back()
    expect(page.get_by_role("link", name="By evaluations")).to_have_attribute("aria-current", "page")


def test_groups_by_a_key_are_compared_at_equal_budgets(page: Page, service: Service, seeded: list[str]) -> None:
    page.goto(address(seeded))
    page.get_by_label("Group by").fill("budget.evaluations")
    page.get_by_role("button", name="Group").click()
    page.wait_for_url("**by=budget.evaluations")
    told = service.get(f"/v1/compare?runs={','.join(seeded)}&by=budget.evaluations")
    rows = page.get_by_role("region", name="At equal budgets").locator("tbody tr")
    expect(rows).to_have_count(2)
    expect(rows.first).to_contain_text(f"{told['groups'][0]['levels'][-1]['mean']:.5g}")
    expect(page.locator(".verdict")).to_have_text([f"{lead['gaps'][-1]['sentence']}." for lead in told["leads"]])
    page.get_by_role("link", name="By tokens").click()
    page.wait_for_url("**by=budget.evaluations")


def test_hostile_names_are_shown_as_text(page: Page, seeded: list[str]) -> None:
    page.goto(address(seeded))
    expect(page.locator("compare-curve")).to_have_attribute("data-shown", "6")
    expect(page.locator("compare-curve .legend")).to_contain_text("<script>")
    expect(page).to_have_title(re.compile("Compare 3 runs"))


@pytest.mark.parametrize(
    ("wanted", "status", "complaint"),
    [
        ([f"run_0190aaaa0000000000000000000000{place:02}" for place in range(41)], 422, "choose 2 to 40"),
        (["run_0190aaaa000000000000000000000001"], 404, "choose others"),
        (["run_0190aaaa000000000000000000000001", "run_0190aaaa000000000000000000000002"], 404, "choose others"),
    ],
)
def test_a_choice_that_cannot_be_shown_is_told_beside_the_form(
    page: Page, complaints: Complaints, seeded: list[str], wanted: list[str], status: int, complaint: str
) -> None:
    complaints.expect(f"console: .*{status}")
    answer = page.goto(address(wanted))
    assert answer
    assert answer.status == status
    expect(page.get_by_role("alert")).to_contain_text(complaint)
    expect(page.locator(f"input[value='{seeded[0]}']")).to_be_visible()


def test_without_script_the_tables_are_there(open_page: OpenPage, seeded: list[str]) -> None:
    page = open_page(address(seeded, "tokens"), javascript=False)
    expect(page.get_by_role("region", name="Outcomes").locator("tbody tr")).to_have_count(3)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_pages_shut_nobody_out(open_page: OpenPage, seeded: list[str], theme: str) -> None:
    page = open_page(address(seeded), theme=theme)
    expect(page.locator("compare-curve canvas").first).to_be_visible()
    assert_accessible(page)
    page.goto("/compare")
    assert_accessible(page)


def test_a_phone_scrolls_no_page_sideways(open_page: OpenPage, seeded: list[str]) -> None:
    page = open_page(address(seeded), width=360)
    expect(page.locator("compare-curve canvas").first).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
