"""One person's way through the dashboard, from a problem in a form to a comparison of two runs."""

import re
from typing import Any

from playwright.sync_api import FilePayload, Page, expect

from tests.browser.installation import EVALUATOR, PROBLEM, PROGRAM, Service, until

RUN = re.compile(r"/runs/(run_[\w-]+)$")
SHOWN = "seen => Number(document.querySelector('score-curve').dataset.shown) > seen"


def test_from_a_problem_in_a_form_to_a_comparison(page: Page, service: Service) -> None:
    first = submit(page)
    watch_it_grow(page)
    until(lambda: better_than_its_seed(service.get(f"/v1/runs/{first}")))
    steer(page, "Pause", "paused")
    until(lambda: service.get(f"/v1/runs/{first}")["state"] == "paused")
    best = open_the_best(page, service, first)
    read_its_diff(page, service, best)
    weigh_again(page, service, first)
    second = fork(page, best)
    page.goto(f"/runs/{first}")
    steer(page, "Resume", "running")
    assert service.end(second)["state"] == "succeeded"
    compare(page, first, second)
    service.cancel(first)


def submit(page: Page) -> str:
    """Start a run of a new problem in the form."""
    files = {
        "problem.toml": PROBLEM.format(name="journey"),
        "program.py": PROGRAM,
        "evaluator.py": EVALUATOR.format(seconds=0.05),
    }
    page.goto("/runs/new")
    page.locator("[name=source][value=files]").check()
    taken = [FilePayload(name=name, mimeType="text/plain", buffer=text.encode()) for name, text in files.items()]
    page.get_by_label("Take files").set_input_files(taken)
    page.locator("[name='policy']").select_option("syntax")
    page.locator("[name='budget.evaluations']").fill("100000")
    page.locator("[name='islands']").fill("2")
    page.get_by_role("button", name="Start the run").click()
    expect(page).to_have_url(RUN)
    found = RUN.search(page.url)
    assert found
    return found[1]


def watch_it_grow(page: Page) -> None:
    """The curve goes on by itself, and the figures with it."""
    curve = page.locator("score-curve")
    expect(curve).to_have_attribute("data-shown", re.compile(r"\d+"))
    page.wait_for_function(SHOWN, arg=int(curve.get_attribute("data-shown") or 0) + 10)
    expect(page.locator("h1 .state")).to_have_text("running")


def better_than_its_seed(run: dict[str, Any]) -> bool:
    """Whether a run has found anything."""
    return bool(run["best_fitness"] > run["seed_fitness"])


def steer(page: Page, action: str, state: str) -> None:
    """Press a control and see what comes of it."""
    page.get_by_role("button", name=action).click()
    expect(page.locator("h1 .state")).to_have_text(state)


def open_the_best(page: Page, service: Service, run_id: str) -> str:
    """Follow the first link of the best candidates."""
    best = str(service.get(f"/v1/runs/{run_id}/candidates?order=fitness&limit=1")["items"][0]["id"])
    page.reload()
    link = page.get_by_role("region", name="Best candidates").locator("tbody tr").first.get_by_role("link").first
    expect(link).to_have_attribute("href", f"/candidates/{best}")
    link.click()
    expect(page).to_have_url(re.compile(best))
    return best


def read_its_diff(page: Page, service: Service, best: str) -> None:
    """What changed from its parent stands on its page, as the API tells it."""
    told = service.get(f"/v1/candidates/{best}/diff")
    assert told["added"] + told["removed"] > 0
    added = next(line[1:] for line in told["files"][0]["diff"].splitlines() if re.match(r"\+[^+]", line))
    expect(page.locator("main")).to_contain_text(added.strip())


def weigh_again(page: Page, service: Service, run_id: str) -> None:
    """Other weights, another best: as the service finds it, without running anything again."""
    winner = service.get(f"/v1/runs/{run_id}/best?weights=value=0,length=1")["candidate"]
    page.goto(f"/runs/{run_id}/objectives")
    picker = page.locator("weight-picker")
    for field, weight in (("w0", "0"), ("w1", "1")):
        picker.locator(f"input[name={field}]").fill(weight)
    picker.locator("input[name=w1]").press("Tab")
    expect(picker).to_have_attribute("data-winner", f"{winner['proposal_number']}/{winner['position']}")


def fork(page: Page, best: str) -> str:
    """Begin another run with a candidate."""
    page.goto(f"/candidates/{best}")
    page.get_by_role("link", name="Fork from here").click()
    page.locator("[name='budget.evaluations']").fill("20")
    page.get_by_role("button", name="Start the fork").click()
    expect(page).to_have_url(RUN)
    found = RUN.search(page.url)
    assert found
    return found[1]


def compare(page: Page, first: str, second: str) -> None:
    """Set both runs side by side."""
    page.goto("/compare")
    for run_id in (first, second):
        page.locator(f"[name=run][value='{run_id}']").check()
    page.get_by_role("button", name="Compare").click()
    expect(page.locator(f"main a[href='/runs/{first}']").first).to_be_visible()
    expect(page.locator(f"main a[href='/runs/{second}']").first).to_be_visible()
    expect(page.locator("main canvas").first).to_be_visible()
