"""The forms that start runs: what is typed is what is asked for, and nothing that was typed is lost."""

import re
from collections.abc import Iterator
from typing import Any, Literal

import pytest
from playwright.sync_api import Locator, Page, StorageState, expect

from tests.browser.axe import assert_accessible
from tests.browser.complaints import Complaints
from tests.browser.conftest import OpenPage
from tests.browser.installation import FINISHED, Service

START = "Start the run"
CHECK = """() => new Promise(told => {
    const listen = event => told(event.defaultPrevented);
    document.querySelector("#verdict").addEventListener("htmx:before:request", listen, {once: true});
    document.querySelector("#submit").dispatchEvent(new CustomEvent("evolve:typed", {bubbles: true}));
})"""
HOSTILE = "\n\n# EVOLVE-BLOCK-START\n</textarea><script>document.title = 'taken'</script>"
OF_RUN = re.compile(r"/runs/(run_[\w-]+)$")


@pytest.fixture
def submitted(service: Service) -> Iterator[list[str]]:
    """Runs that are ended when the test is over."""
    ids: list[str] = []
    yield ids
    for run_id in ids:
        service.cancel(run_id)


def led_to(page: Page, service: Service, submitted: list[str]) -> dict[str, Any]:
    """The run whose page the form led to."""
    expect(page).to_have_url(OF_RUN)
    found = OF_RUN.search(page.url)
    assert found
    submitted.append(found[1])
    run: dict[str, Any] = service.get(f"/v1/runs/{found[1]}")
    return run


def field(page: Page, name: str) -> Locator:
    return page.locator(f"[name='{name}']")


def complaint(page: Page, name: str) -> Locator:
    return page.locator(f"[data-complaint='{name}']")


def choose(page: Page, source: str) -> None:
    page.locator(f"[name=source][value={source}]").check()


@pytest.mark.parametrize("javascript", [True, False])
def test_a_stored_problem_is_run_as_it_is_typed(
    open_page: OpenPage, service: Service, finished_run: str, submitted: list[str], javascript: bool
) -> None:
    problem = service.get(f"/v1/runs/{finished_run}")["problem_id"]
    page = open_page("/runs/new", javascript=javascript)
    field(page, "problem").select_option(problem)
    field(page, "policy").select_option("syntax")
    field(page, "budget.evaluations").fill("4")
    field(page, "islands").fill("2")
    page.get_by_text("Selection, seed, answers").click()
    field(page, "selection").select_option("tournament")
    field(page, "seed").fill("11")
    page.get_by_text("Further configuration").click()
    field(page, "further").fill("migration_interval = 9")
    field(page, "run_name").fill("<b>first</b>")
    field(page, "labels").fill("purpose=form")
    page.get_by_role("button", name=START).click()
    run = led_to(page, service, submitted)
    assert (run["problem_id"], run["seed"], run["labels"]) == (problem, 11, {"purpose": "form", "name": "<b>first</b>"})
    assert run["config"]["selection"] == {"tournament": 1.0}
    assert (run["config"]["islands"], run["config"]["migration_interval"], run["progress"]["budget"]) == (2, 9, 4)
    expect(page.get_by_role("heading", name="<b>first</b>")).to_be_visible()


def test_what_is_wrong_stands_beside_its_field_and_the_rest_stays(
    open_page: OpenPage, finished_run: str, complaints: Complaints
) -> None:
    """Where there is no script, too."""
    assert finished_run
    complaints.expect("console: .*422")
    page = open_page("/runs/new", javascript=False)
    choose(page, "fields")
    field(page, "name").fill("kept")
    field(page, "program_text").fill(HOSTILE)
    field(page, "labels").fill("a=b")
    field(page, "islands").fill("many")
    page.get_by_role("button", name=START).click()
    expect(complaint(page, "islands")).to_have_text("many is not a number: write one such as 500")
    expect(field(page, "islands")).to_have_attribute("aria-invalid", "true")
    for name, value in (("name", "kept"), ("labels", "a=b"), ("islands", "many")):
        expect(field(page, name)).to_have_value(value)
    expect(field(page, "program_text")).to_have_value(HOSTILE)
    field(page, "islands").fill("1")
    page.get_by_role("button", name=START).click()
    expect(complaint(page, "program_text")).to_contain_text("has no EVOLVE-BLOCK-END after it")
    expect(page).to_have_title("New run · Evolve")


def test_the_form_is_checked_while_it_is_typed(page: Page, service: Service, finished_run: str) -> None:
    runs = len(service.get("/v1/runs?limit=200")["items"])
    page.goto("/runs/new")
    field(page, "problem").select_option(service.get(f"/v1/runs/{finished_run}")["problem_id"])
    field(page, "islands").fill("5000")
    expect(complaint(page, "islands")).to_have_text("islands must be at most 1000")
    expect(field(page, "islands")).to_have_attribute("aria-invalid", "true")
    field(page, "islands").fill("5")
    expect(complaint(page, "islands")).to_be_hidden()
    expect(page.get_by_text(f"The service accepts this run of {FINISHED}")).to_be_visible()
    page.get_by_text("The same with curl").click()
    expect(page.locator("#verdict pre").first).to_contain_text('"islands": 5')
    expect(page.locator("#verdict pre").last).to_contain_text("evolve run problem --islands 5 --server http")
    assert len(service.get("/v1/runs?limit=200")["items"]) == runs


def test_a_dry_run_scores_the_seed_and_stores_nothing(page: Page, service: Service) -> None:
    page.goto("/runs/new")
    choose(page, "fields")
    field(page, "name").fill("dry")
    page.get_by_role("button", name="Dry run").click()
    table = page.get_by_role("table", name="Dry run")
    expect(table.get_by_role("row", name=re.compile("program.py"))).to_contain_text("height 0.64")
    expect(page.get_by_text("2 of 4 lines may change")).to_be_visible()
    page.get_by_text("The same with curl").click()
    expect(page.locator("#verdict pre").first).to_contain_text('name = "dry"')
    assert page.evaluate(CHECK), "a check of what was tried already takes its place"
    field(page, "description").fill("Another one.")
    expect(table).to_be_hidden()
    field(page, "program_text").fill("def solve():\n    return 1 / 0\n")
    page.get_by_role("button", name="Dry run").click()
    expect(complaint(page, "program_text")).to_contain_text("ZeroDivisionError")
    assert service.get("/v1/problems?name=dry")["items"] == []


def test_a_new_problem_is_stored_and_run(page: Page, service: Service, submitted: list[str]) -> None:
    page.goto("/runs/new")
    choose(page, "fields")
    field(page, "name").fill("two-aims")
    page.get_by_role("button", name="Another objective").click()
    rows = page.locator("[data-objectives] tr")
    expect(rows).to_have_count(3)
    for at, values in enumerate((("height", "0", "1"), ("", "", ""), ("x", "0", "2"))):
        for name, value in zip(("name", "low", "high"), values, strict=True):
            rows.nth(at).locator(f"[name=objective_{name}]").fill(value)
    rows.nth(2).locator("select").select_option("minimize")
    field(page, "evaluator_text").fill("def score(o, p):\n    x = o[0]['value']\n    return {'height': x, 'x': x}\n")
    field(page, "budget.evaluations").fill("3")
    page.get_by_role("button", name=START).click()
    run = led_to(page, service, submitted)
    assert run["problem"] == "two-aims"
    assert [(one["name"], one["direction"], one["high"]) for one in run["objectives"]] == [
        ("height", "maximize", 1.0),
        ("x", "minimize", 2.0),
    ]


def test_files_are_taken_from_the_machine(page: Page, service: Service, submitted: list[str]) -> None:
    page.goto("/runs/new")
    choose(page, "files")
    document = (
        'schema = 1\nname = "uploaded"\nseeds = ["p.py"]\n[evaluator]\nfile = "evaluator.py"\nentry = "f"\n'
        "[search]\nevaluations = 2\n"
    )
    files: list[dict[str, Any]] = [
        {"name": "problem.toml", "mimeType": "text/plain", "buffer": document.encode()},
        {"name": "p.py", "mimeType": "text/plain", "buffer": b"def f():\n    return 2\n"},
        {
            "name": "evaluator.py",
            "mimeType": "text/plain",
            "buffer": b"def score(o, p):\n    return {'v': o[0]['value']}\n",
        },
        {"name": "picture.png", "mimeType": "image/png", "buffer": b"\x89PNG\xff\xfe"},
    ]
    page.get_by_label("Take files").set_input_files(files)  # type: ignore[arg-type] # it asks for a dict of its own kind
    expect(page.get_by_text("picture.png is not text")).to_be_visible()
    expect(page.get_by_label("Text of p.py")).to_have_value("def f():\n    return 2\n")
    page.get_by_role("button", name=START).click()
    run = led_to(page, service, submitted)
    assert (run["problem"], run["progress"]["budget"]) == ("uploaded", 2)


def test_a_session_that_ends_loses_nothing(
    page: Page, signed_in: StorageState, finished_run: str, complaints: Complaints
) -> None:
    assert finished_run
    complaints.expect("console: .*401")
    page.goto("/runs/new")
    field(page, "run_name").fill("kept in this tab")
    choose(page, "files")
    page.get_by_role("button", name="Another file").click()
    page.locator(".file").last.locator("[name=file_name]").fill("notes.txt")
    page.context.clear_cookies()
    page.get_by_role("button", name=START).click()
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
    expect(page.locator("[name=next]")).to_have_value("/runs/new")
    page.context.add_cookies(signed_in["cookies"])  # type: ignore[arg-type] # what it gave it takes
    page.goto("/runs/new", referer=page.url)
    expect(page.get_by_text("This is what you typed")).to_be_visible()
    expect(field(page, "run_name")).to_have_value("kept in this tab")
    expect(page.locator(".file").last.locator("[name=file_name]")).to_have_value("notes.txt")
    page.get_by_role("button", name="Start over").click()
    expect(field(page, "run_name")).to_have_value("")


def test_a_draft_ends_with_its_run(page: Page, service: Service, finished_run: str, submitted: list[str]) -> None:
    page.goto("/runs/new")
    field(page, "problem").select_option(service.get(f"/v1/runs/{finished_run}")["problem_id"])
    field(page, "budget.evaluations").fill("2")
    page.get_by_role("button", name=START).click()
    led_to(page, service, submitted)
    page.get_by_role("navigation", name="Main").get_by_role("link", name="New run").click()
    expect(field(page, "budget.evaluations")).to_have_value("")


def test_a_clone_asks_for_what_its_run_had(
    page: Page, service: Service, finished_run: str, submitted: list[str]
) -> None:
    page.goto(f"/runs/{finished_run}")
    page.get_by_role("link", name="Clone with changes").click()
    expect(field(page, "islands")).to_have_value("3")
    expect(field(page, "labels")).to_have_value("purpose=tests")
    field(page, "seed").evaluate("field => { field.closest('details').open = true; }")
    field(page, "seed").fill("8")
    page.get_by_role("button", name=START).click()
    run, first = led_to(page, service, submitted), service.get(f"/v1/runs/{finished_run}")
    assert run["config"] == {**first["config"], "seed": 8}
    assert [run[key] for key in ("problem_id", "policies", "labels")] == [
        first[key] for key in ("problem_id", "policies", "labels")
    ]


def test_a_fork_begins_with_the_program_and_changes_what_is_typed(
    page: Page, service: Service, finished_run: str, submitted: list[str], complaints: Complaints
) -> None:
    complaints.expect("console: .*422")
    first = service.get(f"/v1/runs/{finished_run}")
    page.goto(f"/runs/{finished_run}/fork")
    expect(field(page, "candidate")).to_have_value(first["best_candidate_id"])
    expect(field(page, "islands")).to_have_attribute("placeholder", "as there: 3")
    field(page, "budget.evaluations").fill("0")
    page.get_by_role("button", name="Start the fork").click()
    expect(complaint(page, "budget.evaluations")).to_contain_text("must be at least 1")
    field(page, "budget.evaluations").fill("5")
    page.get_by_role("button", name="Start the fork").click()
    run = led_to(page, service, submitted)
    assert run["fork_of"] == first["best_candidate_id"]
    assert run["config"] == {**first["config"], "budget": {**first["config"]["budget"], "evaluations": 5}}


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("source", ["fields", "files"])
def test_the_form_shuts_nobody_out(
    open_page: OpenPage, finished_run: str, theme: Literal["light", "dark"], source: str
) -> None:
    assert finished_run
    page = open_page("/runs/new", theme=theme, width=360)
    choose(page, source)
    for more in page.locator("summary").all():
        more.click()
    field(page, "islands").fill("many")
    expect(complaint(page, "islands")).to_be_visible()
    assert_accessible(page)
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 360


def test_the_form_of_a_fork_shuts_nobody_out(open_page: OpenPage, finished_run: str) -> None:
    page = open_page(f"/runs/{finished_run}/fork", theme="dark")
    expect(field(page, "candidate")).to_be_visible()
    assert_accessible(page)
