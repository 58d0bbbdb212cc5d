"""What policies and operators brought and cost."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, Route, expect

from service.dashboard.numbers import number
from tests.browser import hostile
from tests.browser.axe import assert_accessible
from tests.browser.conftest import OpenPage
from tests.browser.installation import Installation, Service

MAZE = Path(__file__).parents[2] / "examples" / "maze"


@pytest.fixture(scope="module")
def written_run(installation: Installation) -> str:
    """The id of a run whose candidates a small model wrote."""
    words = ("run", str(MAZE), "--policy", "bundled:maze-vpo", "--evaluations", "24", "--json")
    return str(installation.evolve.lines(*words)[-1]["run_id"])


def test_tables_show_what_the_api_says(page: Page, service: Service, written_run: str) -> None:
    metrics = service.get(f"/v1/runs/{written_run}/metrics")
    (cost,) = metrics["policy_costs"]
    page.goto(f"/runs/{written_run}/policy")
    row = page.get_by_role("region", name="By policy").nth(1).locator("tbody tr")
    expect(row).to_have_count(1)
    cells = [cell.replace("\u202f", "") for cell in row.locator("th, td").all_inner_texts()]
    told = [cost[name] for name in ("proposals", "failed", "answers")]
    assert cells[:4] == ["bundled:maze-vpo", *map(str, told)]
    assert (cells[9], cells[11]) == (str(cost["tokens_input"]), str(cost["tokens_output"]))
    positions = page.get_by_role("region", name="By position in the chain").locator("tbody tr")
    expect(positions).to_have_count(len(metrics["positions"]))


def test_the_curve_says_what_was_read_and_written(page: Page, service: Service, written_run: str) -> None:
    (cost,) = service.get(f"/v1/runs/{written_run}/metrics")["policy_costs"]
    page.goto(f"/runs/{written_run}/policy")
    curve = page.locator("token-curve")
    expect(curve).to_have_attribute("data-shown", re.compile(r"\d+"))
    expect(curve.locator(".legend")).to_contain_text(f"{cost['tokens_output']:,}".replace(",", "\u202f"))


def test_curves_tell_the_best_by_its_cost_and_each_policy(page: Page, service: Service, written_run: str) -> None:
    metrics = service.get(f"/v1/runs/{written_run}/metrics?points=400")
    last, (policy,) = metrics["points"][-1], metrics["policy_curves"]
    page.goto(f"/runs/{written_run}/policy?over=time&show=candidates")
    best = page.locator("best-cost")
    expect(best).to_have_attribute("data-shown", re.compile(r"\d"))
    expect(best.locator(".legend")).to_contain_text(f"in seconds {number(last['evaluation_seconds'])}:")
    best.get_by_role("link", name="tokens").click()
    tokens = number(last["tokens_input"] + last["tokens_output"])
    expect(best.locator(".legend")).to_contain_text(f"Tokens {tokens}:")
    expect(page).to_have_url(re.compile("over=tokens&show=candidates"))
    curves = page.locator("policy-curves")
    expect(curves.locator(".legend")).to_contain_text(f"bundled:maze-vpo {number(policy['evaluations'][-1])}")
    curves.get_by_role("link", name="gain").click()
    expect(curves.locator(".legend")).to_contain_text(f"bundled:maze-vpo {number(policy['gain'][-1])}")
    row = page.get_by_role("region", name="Policies by gain and cost").locator("tbody tr")
    expect(row).to_have_count(1)
    cells = row.locator("th, td").all_inner_texts()
    assert cells[0] == "bundled:maze-vpo"
    assert cells[1] == number(policy["evaluations"][-1])
    assert cells[4] == tokens


def test_a_hostile_policy_s_name_is_text(page: Page, service: Service, written_run: str) -> None:
    name = f"{hostile.SCRIPT}{hostile.UNSEEN}"

    def answer(route: Route) -> None:
        found = route.fetch()
        body = found.json()
        body["policy_curves"][0]["name"] = name
        route.fulfill(response=found, json=body)

    page.route(re.compile(r"/v1/runs/[^/]+/metrics"), answer)
    page.goto(f"/runs/{written_run}/policy")
    expect(page.locator("policy-curves .legend")).to_contain_text("<script>document.title")
    assert page.title() != "taken over"


def test_figures_keep_up_with_the_run(page: Page, live_run: str) -> None:
    page.goto(f"/runs/{live_run}/policy")
    cell = page.get_by_role("region", name="By policy").first.locator("tbody td").first
    shown = int(cell.inner_text())
    page.wait_for_function(
        "seen => Number(document.querySelector('.policy tbody td').textContent.replace(/\\D/g, '')) > seen", arg=shown
    )


def test_without_script_the_tables_are_there(open_page: OpenPage, written_run: str) -> None:
    page = open_page(f"/runs/{written_run}/policy", javascript=False)
    page.get_by_text("Tokens over evaluations as a table").click()
    expect(page.get_by_role("region", name="Tokens over evaluations").locator("tbody tr").last).to_be_visible()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_page_shuts_nobody_out(open_page: OpenPage, written_run: str, theme: str) -> None:
    page = open_page(f"/runs/{written_run}/policy", theme=theme)
    for chart in ("token-curve", "best-cost", "policy-curves"):
        expect(page.locator(f"{chart} canvas").first).to_be_visible()
    assert_accessible(page)


def test_a_phone_scrolls_no_page_sideways(open_page: OpenPage, written_run: str) -> None:
    page = open_page(f"/runs/{written_run}/policy", width=360)
    expect(page.locator("token-curve canvas").first).to_be_visible()
    expect(page.locator("policy-curves canvas").first).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
