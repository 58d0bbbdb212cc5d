"""The objectives of a run: fronts, weights, and all of them at once."""

import re

import pytest
from playwright.sync_api import Page, Route, expect

from tests.browser.axe import assert_accessible
from tests.browser.complaints import Complaints
from tests.browser.conftest import OpenPage
from tests.browser.installation import EVALUATOR, PROBLEM, PROGRAM, Service

HOSTILE = "<script>a,b=1</script>"


@pytest.fixture(scope="module")
def single_run(service: Service) -> str:
    """The id of a run of one objective that is minimised, without measures."""
    head, rest = PROBLEM.split("[[objectives]]", 1)
    tables = "[[objectives]]" + rest.split("[[objectives]]")[1].split("[[measures]]")[0]
    files = {
        "problem.toml": head.format(name="single") + tables,
        "program.py": PROGRAM,
        "evaluator.py": EVALUATOR.format(seconds=0.0),
    }
    service.client.post("/v1/problems", json={"files": files}).raise_for_status()
    run_id = service.submit("single", evaluations=20)
    service.end(run_id)
    return run_id


@pytest.fixture(scope="module")
def long_names_run(service: Service) -> str:
    """The id of a run whose objectives and measures have names that no phone shows on a line."""
    problem, evaluator = PROBLEM.format(name="long_names"), EVALUATOR.format(seconds=0.0)
    for name in ("value", "length", "digits"):
        long = f"{name}_of_all_that_the_evaluator_measures_in_ms"
        problem = problem.replace(f'name = "{name}"', f'name = "{long}"')
        evaluator = evaluator.replace(f'"{name}":', f'"{long}":')
    files = {"problem.toml": problem, "program.py": PROGRAM, "evaluator.py": evaluator}
    service.client.post("/v1/problems", json={"files": files}).raise_for_status()
    run_id = service.submit("long_names", evaluations=20)
    service.end(run_id)
    return run_id


@pytest.mark.parametrize("tab", ["objectives", "grid"])
def test_choices_with_long_names_fit_on_a_phone(open_page: OpenPage, long_names_run: str, tab: str) -> None:
    page = open_page(f"/runs/{long_names_run}/{tab}", width=375)
    select = page.locator("#axis-x")
    expect(select).to_be_visible()
    box = select.bounding_box()
    assert box
    assert box["x"] + box["width"] <= 375
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def place(candidate: dict[str, object]) -> str:
    return f"{candidate['proposal_number']}/{candidate['position']}"


def test_the_front_is_that_of_the_api(page: Page, service: Service, finished_run: str) -> None:
    front = service.get(f"/v1/runs/{finished_run}/front?limit=200")
    page.goto(f"/runs/{finished_run}/objectives")
    tiles = page.locator("#front-standing .tile")
    expect(tiles.filter(has_text="Front").first.locator("strong")).to_have_text(str(front["size"]))
    expect(tiles.filter(has_text="Hypervolume").locator("strong")).to_have_text(f"{front['hypervolume']:.5g}")
    rows = page.get_by_role("region", name="The front").locator("tbody tr")
    best = rows.first.get_by_role("link").first  # candidates with equal scores share a row
    expect(best).to_have_attribute("href", f"/candidates/{front['items'][0]['id']}")
    members = front["items"][:25]
    expect(rows).to_have_count(len({tuple(sorted(member["scores"].items())) for member in members}))
    told = rows.locator("small").all_inner_texts()
    assert len(members) == rows.count() + sum(int(words.split()[1]) for words in told)
    scatter = page.locator("pareto-scatter")
    expect(scatter).to_have_attribute("data-front", str(front["size"]))
    volume = page.wait_for_function("() => Number(document.querySelector('pareto-scatter')?.dataset.volume)")
    assert volume.json_value() == pytest.approx(front["hypervolume"])


def test_a_hypervolume_that_a_busy_service_does_not_give_comes_later(
    page: Page, complaints: Complaints, service: Service, finished_run: str
) -> None:
    """An ended run has no news: a page that asked once would never show it."""
    refused: list[str] = []

    def refuse_once(route: Route) -> None:
        if refused:
            route.continue_()
            return
        refused.append(route.request.url)
        route.fulfill(status=503, body="{}", content_type="application/json")

    page.route("**/metrics?*", refuse_once)
    page.goto(f"/runs/{finished_run}/objectives")
    volume = page.wait_for_function("() => Number(document.querySelector('pareto-scatter')?.dataset.volume)")
    front = service.get(f"/v1/runs/{finished_run}/front?limit=1")
    assert volume.json_value() == pytest.approx(front["hypervolume"])
    assert len(refused) == 1
    assert [one for one in complaints.heard if "503" not in one] == []
    complaints.heard.clear()


def test_the_slider_shows_the_front_of_then(page: Page, service: Service, finished_run: str) -> None:
    points = service.get(f"/v1/runs/{finished_run}/metrics?points=1000")["points"]
    page.goto(f"/runs/{finished_run}/objectives?until=5")
    scatter = page.locator("pareto-scatter")
    expect(scatter.locator("output")).to_contain_text("After 5 evaluations")
    expect(scatter).to_have_attribute("data-volume", re.compile("."))
    assert float(scatter.get_attribute("data-volume") or 0) == pytest.approx(points[4]["hypervolume"])
    page.get_by_label("Up to evaluation").press("End")
    expect(scatter.locator("output")).to_contain_text(f"After {len(points)} evaluations")
    expect(page).not_to_have_url(re.compile("until="))


def test_axes_are_kept_in_the_address(page: Page, finished_run: str) -> None:
    page.goto(f"/runs/{finished_run}/objectives?w0=2")
    expect(page.locator("pareto-scatter")).to_have_attribute("data-front", re.compile("."))
    page.get_by_label("Across").select_option("length")
    expect(page).to_have_url(re.compile(r"w0=2&x=length&y=value"))
    page.reload()
    expect(page.get_by_label("Up", exact=True)).to_have_value("value")
    expect(page.get_by_role("img", name=re.compile(r"^length \(smaller is better\) against value"))).to_be_visible()


@pytest.mark.parametrize("weights", [("2", "2"), ("1", "0"), ("0", "7"), ("0.3", "2.9"), ("12.5", "1")])
def test_browser_and_service_name_the_same_best(
    page: Page, service: Service, finished_run: str, weights: tuple[str, str]
) -> None:
    best = service.get(f"/v1/runs/{finished_run}/best?weights=value={weights[0]},length={weights[1]}")
    page.goto(f"/runs/{finished_run}/objectives")
    picker = page.locator("weight-picker")
    expect(picker).to_have_attribute("data-winner", re.compile("/"))
    for field, weight in zip(("w0", "w1"), weights, strict=True):
        picker.locator(f"input[name={field}]").fill(weight)
    picker.locator("input[name=w1]").press("Tab")
    expect(picker).to_have_attribute("data-winner", place(best["candidate"]))
    row = picker.locator("[data-winner] td")
    expect(row.nth(1)).to_have_text(f"{best['value']:.5g}")
    expect(row.nth(3)).to_have_text(f"{best['candidate']['scores']['length']:.5g}")
    expect(page).to_have_url(re.compile(f"w1={weights[1]}"))
    row.first.get_by_role("link").click()
    name = f"{best['candidate']['proposal_number']}.{best['candidate']['position']}"
    expect(page).to_have_url(re.compile(rf"[./]{re.escape(name)}$"))


def test_without_script_the_service_weighs(open_page: OpenPage, service: Service, finished_run: str) -> None:
    best = service.get(f"/v1/runs/{finished_run}/best?weights=value=1,length=9")
    page = open_page(f"/runs/{finished_run}/objectives", javascript=False)
    page.locator("input[name=w1]:not([type=hidden])").fill("9")
    page.get_by_role("button", name="Weigh").click()
    winner = page.locator("tr[data-winner]")
    expect(winner.get_by_role("link")).to_have_attribute("href", f"/candidates/{best['candidate']['id']}")
    expect(winner.locator("td").nth(1)).to_have_text(f"{best['value']:.5g}")
    expect(page.get_by_role("region", name="The front").locator("tbody tr").first).to_be_visible()


def test_what_is_no_weight_is_told_beside_its_field(
    open_page: OpenPage, complaints: Complaints, finished_run: str
) -> None:
    complaints.expect("422")
    page = open_page(f"/runs/{finished_run}/objectives?w0=much&w1=3", javascript=False)
    field = page.locator("input[name=w0]:not([type=hidden])")
    expect(field).to_have_value("much")
    expect(field).to_have_attribute("aria-invalid", "true")
    expect(page.locator("#w0-complaint")).to_contain_text("number from 0")
    expect(page.locator("input[name=w1]:not([type=hidden])")).to_have_value("3")


def test_a_brush_keeps_the_programs_of_its_range(page: Page, service: Service, finished_run: str) -> None:
    listed = service.get(f"/v1/runs/{finished_run}/candidates?order=fitness&limit=200")["items"]
    candidates = [
        candidate for candidate in listed if candidate["status"] == "evaluated" and candidate["outcome"] == "ok"
    ]
    lengths = sorted(candidate["scores"]["length"] for candidate in candidates)
    limit = lengths[len(lengths) // 2]
    page.goto(f"/runs/{finished_run}/objectives")
    axes = page.locator("parallel-axes")
    expect(axes).to_have_attribute("data-kept", str(len(candidates)))
    axes.get_by_label("length to").fill(str(limit))
    axes.get_by_label("length to").press("Tab")
    expect(axes).to_have_attribute("data-kept", str(sum(length <= limit for length in lengths)))
    expect(axes.locator("tbody tr").first).to_be_visible()
    page.reload()
    expect(axes).to_have_attribute("data-kept", str(sum(length <= limit for length in lengths)))


def test_a_drag_along_an_axis_brushes_it_and_a_click_clears_it(page: Page, finished_run: str) -> None:
    page.goto(f"/runs/{finished_run}/objectives")
    axes = page.locator("parallel-axes")
    expect(axes).to_have_attribute("data-kept", re.compile("."))
    every = axes.get_attribute("data-kept") or ""
    canvas = axes.locator("canvas")
    canvas.scroll_into_view_if_needed()
    box = canvas.bounding_box()
    assert box
    page.mouse.move(box["x"] + 58, box["y"] + 42)
    page.mouse.down()
    page.mouse.move(box["x"] + 58, box["y"] + 120, steps=4)
    page.mouse.up()
    expect(page).to_have_url(re.compile("b0="))
    expect(axes).not_to_have_attribute("data-kept", every)
    page.mouse.click(box["x"] + 58, box["y"] + 200)
    expect(axes).to_have_attribute("data-kept", every)
    expect(page).not_to_have_url(re.compile("b0="))


def test_a_single_objective_shows_how_its_scores_are_spread(
    open_page: OpenPage, service: Service, single_run: str
) -> None:
    listed = service.get(f"/v1/runs/{single_run}/candidates?order=fitness&limit=200")["items"]
    lengths = [
        candidate["scores"]["length"]
        for candidate in listed
        if candidate["status"] == "evaluated" and candidate["outcome"] == "ok"
    ]
    page = open_page(f"/runs/{single_run}/objectives", javascript=False)
    expect(page.get_by_text("a single objective, length (smaller is better)")).to_be_visible()
    tiles = page.locator("#spread .tile")
    expect(tiles.filter(has_text="Best").locator("strong")).to_have_text(f"{min(lengths):.5g}")
    expect(tiles.filter(has_text="Valid").locator("strong")).to_have_text(str(len(lengths)))
    counts = page.locator("#spread tbody td:last-child").all_text_contents()
    assert sum(map(int, counts)) == len(lengths)


def test_hostile_names_are_text(open_page: OpenPage, service: Service) -> None:
    problem = PROBLEM.format(name="hostile-names").replace('name = "value"', f'name = "{HOSTILE}"')
    evaluator = EVALUATOR.format(seconds=0.0).replace('{"value": value', f'{{"{HOSTILE}": value')
    files = {"problem.toml": problem, "program.py": PROGRAM, "evaluator.py": evaluator}
    service.client.post("/v1/problems", json={"files": files}).raise_for_status()
    run_id = service.submit("hostile-names", evaluations=6)
    service.end(run_id)
    page = open_page(f"/runs/{run_id}/objectives")
    expect(page.get_by_label("Across").locator("option").first).to_have_text(HOSTILE)
    expect(page.locator("weight-picker")).to_have_attribute("data-winner", re.compile("/"))
    page = open_page(f"/runs/{run_id}/objectives", javascript=False)
    expect(page.get_by_text("cannot be written in a list of weights")).to_be_visible()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_objectives_shut_nobody_out(open_page: OpenPage, finished_run: str, theme: str) -> None:
    page = open_page(f"/runs/{finished_run}/objectives?b1=0~500", theme=theme, width=360)
    expect(page.locator("pareto-scatter")).to_have_attribute("data-volume", re.compile("."))
    expect(page.locator("parallel-axes tbody tr").first).to_be_visible()
    assert_accessible(page)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_a_run_that_goes_on_moves_the_scatter(page: Page, live_run: str) -> None:
    page.goto(f"/runs/{live_run}/objectives")
    scatter = page.locator("pareto-scatter")
    expect(scatter).to_have_attribute("data-total", re.compile(r"\d"))
    seen = int(scatter.get_attribute("data-total") or 0)
    followed = """seen => {
        const shown = document.querySelector("pareto-scatter").dataset.total;
        return Number(shown) > seen && document.getElementById("until").value === shown;
    }"""
    page.wait_for_function(followed, arg=seen)
