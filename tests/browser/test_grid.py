"""The grid of a run: what is covered, and who holds each cell."""

import re

import pytest
from playwright.sync_api import Page, expect

from service.dashboard.numbers import number
from tests.browser.axe import assert_accessible
from tests.browser.conftest import OpenPage
from tests.browser.installation import CONFIG, EVALUATOR, PROBLEM, PROGRAM, Service

THIRD = """
[[measures]]
name = "<i>rest</i>"
bins = 3
low = 0
high = 3
"""


def run_of(service: Service, name: str, problem: str, evaluator: str, evaluations: int) -> str:
    """The id of a run of a problem of this file, once it has ended."""
    files = {"problem.toml": problem, "program.py": PROGRAM, "evaluator.py": evaluator}
    service.client.post("/v1/problems", json={"files": files}).raise_for_status()
    run_id = service.submit(name, evaluations=evaluations)
    service.end(run_id)
    return run_id


@pytest.fixture(scope="module")
def deep_run(service: Service) -> str:
    """The id of a run of three measures, of which one has a hostile name."""
    evaluator = EVALUATOR.format(seconds=0.0).replace('"digits":', '"<i>rest</i>": len(text) % 3, "digits":')
    return run_of(service, "deep", PROBLEM.format(name="deep") + THIRD, evaluator, 40)


@pytest.fixture(scope="module")
def tessellated_run(service: Service) -> str:
    """The id of a run whose islands keep regions of three measures, with two candidates in each, or none at all."""
    evaluator = EVALUATOR.format(seconds=0.0).replace('"digits":', '"<i>rest</i>": len(text) % 3, "digits":')
    files = {"problem.toml": PROBLEM.format(name="tiles") + THIRD, "program.py": PROGRAM, "evaluator.py": evaluator}
    service.client.post("/v1/problems", json={"files": files}).raise_for_status()
    archive = {"kind": "cvt", "size": 20, "front": 2}
    variants = [{"islands": [2], "archive": {"kind": "dominated_novelty"}}]
    config = {**CONFIG, "archive": archive, "variants": variants, "budget": {"evaluations": 60}}
    body = {"problem": "tiles", "policy": "syntax", "config": config}
    run_id = str(service.client.post("/v1/runs", json=body).raise_for_status().json()["id"])
    service.end(run_id)
    return run_id


def test_the_grid_shows_what_the_api_says(page: Page, service: Service, finished_run: str) -> None:
    grid = service.get(f"/v1/runs/{finished_run}/grid")
    last = service.get(f"/v1/runs/{finished_run}/metrics")["points"][-1]
    page.goto(f"/runs/{finished_run}/grid")
    tiles = page.locator("#grid-standing .tile")
    expect(tiles.filter(has_text="Coverage")).to_contain_text(f"{grid['filled']} of 48 cells")
    expect(tiles.filter(has_text="QD score").locator("strong")).to_have_text(f"{last['qd_score']:.5g}")
    expect(page.locator("cell-grid")).to_have_attribute("data-filled", str(grid["filled"]))
    expect(page.locator("grid-series")).to_have_attribute("data-shown", re.compile(r"\d"))
    rows = page.get_by_role("region", name="Cells").locator("tbody tr")
    expect(rows).to_have_count(grid["filled"])
    first = grid["cells"][0]
    expect(rows.first.get_by_role("link")).to_have_attribute("href", f"/candidates/{first['candidate_id']}")
    expect(rows.first).to_contain_text(f"{first['fitness']:.5g}")


def test_a_cell_shows_its_candidate_in_place(page: Page, service: Service, finished_run: str) -> None:
    grid = service.get(f"/v1/runs/{finished_run}/grid")
    cell = grid["cells"][0]
    page.goto(f"/runs/{finished_run}/grid")
    expect(page.locator("cell-grid")).to_have_attribute("data-filled", re.compile(r"\d"))
    x, y = page.evaluate(
        "key => { const grid = document.querySelector('cell-grid'), [x, y] = grid.corner(key);"
        " return [x + grid.side[0] / 2, y + grid.side[1] / 2]; }",
        ",".join(map(str, cell["bins"])),
    )
    canvas = page.locator("cell-grid canvas").first
    canvas.hover(position={"x": x, "y": y})
    expect(page.locator("cell-grid .tip")).to_contain_text(f"fitness {number(cell['fitness'])}")
    canvas.click(position={"x": x, "y": y})
    panel = page.locator("candidate-inspector[open] [data-candidate]")
    expect(panel).to_have_attribute("data-candidate", cell["candidate_id"])


def test_the_grid_is_replayed(page: Page, service: Service, finished_run: str) -> None:
    early = service.get(f"/v1/runs/{finished_run}/grid?until=4")
    whole = service.get(f"/v1/runs/{finished_run}/grid")
    assert 0 < early["filled"] < whole["filled"]  # of nine cells, four evaluations fill four at most
    assert all(cell["place"] < 4 for cell in early["cells"])
    page.goto(f"/runs/{finished_run}/grid?until=4")
    expect(page.locator("cell-grid")).to_have_attribute("data-filled", str(early["filled"]))
    expect(page.locator("cell-grid output")).to_have_text(f"After 4 evaluations: {early['filled']} cells are filled.")
    page.get_by_role("button", name="Play").click()
    expect(page.locator("cell-grid")).to_have_attribute("data-filled", str(whole["filled"]))
    expect(page.get_by_role("button", name="Play")).to_be_visible()
    expect(page).not_to_have_url(re.compile("until="))


def test_a_third_measure_is_sliced_or_passed_over(page: Page, service: Service, deep_run: str) -> None:
    cells = service.get(f"/v1/runs/{deep_run}/grid")["cells"]
    sliced = {tuple(cell["bins"][:2]) for cell in cells if cell["bins"][2] == 1}
    page.goto(f"/runs/{deep_run}/grid")
    picture = page.locator("cell-grid")
    expect(picture).to_have_attribute("data-filled", str(len({tuple(cell["bins"][:2]) for cell in cells})))
    page.get_by_label("<i>rest</i>").select_option("1")
    page.get_by_role("button", name="Show").click()
    expect(page).to_have_url(re.compile("at2=1"))
    expect(picture).to_have_attribute("data-filled", str(len(sliced)))
    expect(page.get_by_role("region", name="Cells").locator("tbody tr")).to_have_count(len(sliced))


def test_regions_are_drawn_by_the_measures_of_who_holds_them(
    page: Page, service: Service, tessellated_run: str
) -> None:
    grid = service.get(f"/v1/runs/{tessellated_run}/grid")
    assert (grid["tessellation"], grid["size"]) == (True, 20)
    page.goto(f"/runs/{tessellated_run}/grid")
    expect(page.locator("#grid-standing")).to_contain_text(f"{grid['filled']} of 20 cells")
    expect(page.locator("svg.regions circle")).to_have_count(grid["filled"])
    page.wait_for_function("customElements.get('candidate-inspector') !== undefined")  # until then marks are links
    page.locator("svg.regions circle").first.click(force=True)
    expect(page.locator("candidate-inspector[open] [data-candidate]")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("cell-grid")).to_have_count(0)
    rows = page.get_by_role("region", name="Cells").locator("tbody tr")
    expect(rows).to_have_count(grid["filled"])
    best = grid["cells"][0]
    expect(rows.first).to_contain_text(f"{best['centre'][0]:.4g}")
    page.get_by_label("Across").select_option("<i>rest</i>")
    page.get_by_role("button", name="Show").click()
    expect(page.locator("svg.regions text").nth(1)).to_have_text("<i>rest</i>")
    assert_accessible(page)


def test_coverage_of_an_island_counts_cells_not_programs(page: Page, service: Service, tessellated_run: str) -> None:
    islands = service.get(f"/v1/runs/{tessellated_run}/islands")["items"]
    assert all(island["cells"] == 20 and island["filled"] <= min(20, island["members"]) for island in islands)
    assert any(island["filled"] < island["members"] for island in islands)
    page.goto(f"/runs/{tessellated_run}/islands")
    for island in islands:
        row = page.locator("table.islands tbody tr").nth(island["number"])
        expect(row).to_contain_text(f"{100 * island['filled'] / 20:.0f}")


def test_a_run_without_measures_says_how_they_are_declared(page: Page, service: Service) -> None:
    problem = PROBLEM.format(name="flat").split("[[measures]]")[0]
    page.goto(f"/runs/{run_of(service, 'flat', problem, EVALUATOR.format(seconds=0.0), 3)}/grid")
    expect(page.get_by_text("This run has no grid")).to_be_visible()
    expect(page.locator("pre")).to_contain_text("[[measures]]")


def test_without_script_the_axes_are_turned_by_the_form(open_page: OpenPage, finished_run: str) -> None:
    page = open_page(f"/runs/{finished_run}/grid", javascript=False)
    page.get_by_label("Across").select_option("digits")
    page.get_by_label("Up", exact=True).select_option("complexity")
    page.get_by_role("button", name="Show").click()
    expect(page).to_have_url(re.compile("x=digits&y=complexity"))
    expect(page.get_by_label("Across")).to_have_value("digits")
    expect(page.get_by_role("region", name="Cells").locator("tbody tr").first).to_be_visible()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_grid_shuts_nobody_out(open_page: OpenPage, finished_run: str, theme: str) -> None:
    page = open_page(f"/runs/{finished_run}/grid", theme=theme, width=360)
    expect(page.locator("cell-grid")).to_have_attribute("data-filled", re.compile(r"\d"))
    expect(page.locator("grid-series canvas").first).to_be_visible()
    assert_accessible(page)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
