"""A report, opened from a disk by a browser that reaches nothing."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser import hostile
from tests.browser.axe import assert_accessible
from tests.browser.complaints import Complaints
from tests.browser.conftest import MILLISECONDS
from tests.browser.installation import Installation, Service

Open = Callable[..., Page]


@pytest.fixture(scope="module")
def report(installation: Installation, finished_run: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of the finished run."""
    path = tmp_path_factory.mktemp("report") / "report.html"
    installation.evolve.call("report", finished_run, "-o", str(path))
    return path


@pytest.fixture
def open_file(chromium: Browser, complaints: Complaints) -> Iterator[Open]:
    """Opens files without a network; whatever a page asks for beside itself fails the test."""
    contexts = []

    def open_file(path: Path, *, theme: str = "light", javascript: bool = True, width: int = 1280) -> Page:
        context = chromium.new_context(
            offline=True,
            color_scheme="dark" if theme == "dark" else "light",
            java_script_enabled=javascript,
            viewport={"width": width, "height": 800},
        )
        contexts.append(context)
        context.set_default_timeout(MILLISECONDS)
        complaints.listen(context)
        page = context.new_page()
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        page.goto(path.as_uri())
        page.wait_for_load_state("networkidle")
        assert [address for address in asked if not address.startswith("data:")] == [path.as_uri()]
        return page

    yield open_file
    for context in contexts:
        context.close()


def test_all_pictures_are_drawn_from_what_the_file_holds(
    open_file: Open, report: Path, service: Service, finished_run: str
) -> None:
    page = open_file(report)
    evaluated = str(service.get(f"/v1/runs/{finished_run}")["progress"]["evaluated"])
    expect(page.locator("score-curve")).to_have_attribute("data-shown", evaluated)
    expect(page.locator("lineage-map")).to_have_attribute("data-shown", evaluated)
    expect(page.locator("pareto-scatter")).to_have_attribute("data-total", evaluated)
    size = service.get(f"/v1/runs/{finished_run}/front")["size"]
    expect(page.locator("pareto-scatter")).to_have_attribute("data-front", str(size))


def test_other_weights_choose_without_a_service_as_with_one(
    open_file: Open, report: Path, service: Service, finished_run: str
) -> None:
    page = open_file(report)
    page.locator("#w0").fill("0")
    page.locator("#w1").fill("3")
    best = service.get(f"/v1/runs/{finished_run}/best?weights=value=0,length=3")["candidate"]
    place = f"{best['proposal_number']}.{best['position']}"
    expect(page.locator("tr[data-winner]")).to_contain_text(place)


def test_a_program_of_a_table_is_opened_in_its_place(open_file: Open, report: Path) -> None:
    page = open_file(report)
    link = page.get_by_role("region", name="Best candidates").get_by_role("link").nth(1)
    target = page.locator(link.get_attribute("href") or "")
    expect(target.locator("pre").first).to_be_hidden()
    link.click()
    expect(target.locator("pre").first).to_be_visible()


def test_a_mark_of_a_chart_leads_nowhere_else(open_file: Open, report: Path) -> None:
    page = open_file(report)
    over = page.locator("score-curve .u-over")
    over.hover()
    expect(page.locator("score-curve .tip")).to_be_visible()
    over.click()
    page.locator("lineage-map a").first.click()
    assert page.url.partition("#")[0] == report.as_uri()
    expect(page.locator("details.source[open]").first).to_be_visible()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_it_shuts_nobody_out(open_file: Open, report: Path, theme: str) -> None:
    page = open_file(report, theme=theme, width=400)
    expect(page.locator("score-curve[data-shown]")).to_be_visible()
    assert_accessible(page)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_without_script_the_tables_are_there(open_file: Open, report: Path) -> None:
    page = open_file(report, javascript=False)
    assert page.get_by_role("region", name="Best candidates").get_by_role("row").count() > 5
    assert page.get_by_role("region", name="Islands").get_by_role("row").count() == 4


def test_it_says_which_answer_wins_where_answers_can_be_compared(
    open_file: Open, report: Path, installation: Installation, service: Service, answering_run: str, tmp_path: Path
) -> None:
    path = tmp_path / "answers.html"
    installation.evolve.call("report", answering_run, "-o", str(path))
    page = open_file(path, width=400)
    told = service.get(f"/v1/runs/{answering_run}/votes")
    answers = page.get_by_role("region", name="Answers of the candidates").locator("tbody tr")
    expect(answers).to_have_count(min(told["answers"], 20))
    expect(answers.first.locator("td").first).to_have_text(str(told["items"][0]["votes"]))
    expect(page.locator("#answers .about")).to_have_count(3)
    hostile.assert_harmless(page)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert_accessible(page)
    expect(open_file(report).locator("#answers")).to_have_count(0)


def test_hostile_texts_are_texts(open_file: Open, installation: Installation, service: Service, tmp_path: Path) -> None:
    run_id = hostile.mutated(service)
    path = tmp_path / "hostile.html"
    installation.evolve.call("report", run_id, "-o", str(path))
    page = open_file(path)
    hostile.assert_harmless(page)
    expect(page.locator("details.source pre").first).to_contain_text(hostile.SCRIPT)
    assert len(page.content()) < 2_000_000
