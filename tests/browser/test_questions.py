"""Ten questions about a run, answered from the pages alone: as the guide says where, in at most two clicks each."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.installation import PROGRAM, Service

GUIDE = Path(__file__).parents[2] / "docs" / "how-to" / "dashboard.md"
MAX_CLICKS = 2
NAME = "questions"
# One objective with a best known value, evaluations that fail for one reason, and some that take their time.
PROBLEM = """
schema = 1
name = "questions"
description = "A large value."
seeds = ["program.py"]
known_best = 30.0

[evaluator]
file = "evaluator.py"
entry = "give"

[limits]
wall_seconds = 20.0
memory_mb = 128
processes = 8
disk_mb = 4
output_kb = 16

[[objectives]]
name = "value"
low = -10
high = 30
"""
EVALUATOR = """
import time

def score(outputs, program):
    if outputs[0]["error"]:
        return {"error": outputs[0]["error"]}
    value = max(-10, min(30, float(outputs[0]["value"])))
    if int(abs(value) * 1000) % 5 == 3:
        raise ValueError("a value that cannot be scored")
    time.sleep(0.01)
    return {"value": value}
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A row of the table in the guide. `clicks`: the words of each; `places`: what holds the answer, by name."""

    text: str
    start: str
    clicks: tuple[str, ...]
    places: tuple[str, ...]


def questions() -> list[Question]:
    """The questions of the guide."""
    section = GUIDE.read_text(encoding="utf-8").split("## Ten questions about a run")[1].split("\n## ")[0]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in section.splitlines() if "|" in line][2:]
    return [
        Question(
            text=text,
            start=start,
            clicks=() if clicks == "none" else tuple(clicks.replace("*", "").split(", ")),
            places=tuple(re.findall(r"\*([^*]+)\*", answer)),
        )
        for text, start, clicks, answer in rows
    ]


@pytest.fixture(scope="module")
def asked_run(service: Service) -> str:
    """The id of a run with two policies and failures that has ended."""
    files = {"problem.toml": PROBLEM, "program.py": PROGRAM, "evaluator.py": EVALUATOR}
    service.client.post("/v1/problems", json={"files": files}).raise_for_status()
    return _submit(service, 120)


@pytest.fixture(scope="module")
def other_run(service: Service, asked_run: str) -> str:
    """The id of another run of the same problem, with a smaller budget."""
    del asked_run  # its problem is there
    return _submit(service, 20)


def _submit(service: Service, evaluations: int) -> str:
    policies = [{"kind": "syntax", "name": "left"}, {"kind": "syntax", "name": "right"}]
    config = {"islands": 2, "seed": 3, "budget": {"evaluations": evaluations}}
    body = {"problem": NAME, "policy": policies, "config": config}
    run_id = str(service.client.post("/v1/runs", json=body).raise_for_status().json()["id"])
    assert service.end(run_id)["state"] == "succeeded"
    return run_id


@dataclass(frozen=True, slots=True, kw_only=True)
class Asking:
    """A page that shows the answer, and what the answer is held against."""

    page: Page
    service: Service
    run: dict[str, Any]
    other: str

    def tile(self, name: str) -> Locator:
        """A figure by its label."""
        label = self.page.locator("dt").get_by_text(name, exact=True)
        return self.page.locator(".tile").filter(has=label).locator("strong")

    def region(self, name: str) -> Locator:
        """A table by its name."""
        return self.page.get_by_role("region", name=name, exact=True)


def why_the_best(asking: Asking) -> None:
    story = asking.page.locator("#story")
    lineage = asking.service.get(f"/v1/candidates/{asking.run['best_candidate_id']}/lineage")["items"]
    expect(story.locator(".about")).to_contain_text(f"{len(lineage) - 1} step")
    expect(story.locator(".words").first).to_be_visible()


def which_edit(asking: Asking) -> None:
    lineage = asking.service.get(f"/v1/candidates/{asking.run['best_candidate_id']}/lineage")["items"]
    fitness = {one["id"]: one["fitness"] for one in lineage}
    gains = {
        one["id"]: one["fitness"] - fitness[parent]
        for one in lineage
        for parent in [edge["candidate_id"] for edge in one["parents"] if edge["role"] == "parent"][:1]
    }
    largest = max(gains, key=lambda one: gains[one])
    jump = asking.page.locator("#story .jumps > li").first
    expect(jump.get_by_role("link").nth(1)).to_have_attribute("href", f"/candidates/{largest}")
    expect(jump.locator("details[open]").first).to_be_visible()
    diff = asking.service.get(f"/v1/candidates/{largest}/diff")["files"][0]["diff"]
    added = next(line[1:] for line in diff.splitlines() if re.match(r"\+[^+]", line))
    expect(jump.locator("details[open]").first).to_contain_text(added.strip())


def what_it_cost(asking: Asking) -> None:
    usage = asking.run["usage"]
    expect(asking.tile("Cost")).to_have_text(usage["cost"])
    expect(asking.tile("Tokens")).to_have_text(str(usage["tokens_input"] + usage["tokens_output"]))
    expect(asking.tile("Time at work")).to_contain_text(" s")


def the_settings(asking: Asking) -> None:
    rows = asking.region("Configuration").locator("tbody tr")
    for key, value in (("budget.evaluations", "120"), ("islands", "2"), ("seed", "3")):
        row = rows.filter(has=asking.page.locator("code").get_by_text(key, exact=True))
        expect(row.locator("td").first).to_have_text(value)


def what_failed(asking: Asking) -> None:
    most = asking.service.get(f"/v1/runs/{asking.run['id']}/failures")["items"][0]
    row = asking.region("Why answers failed").locator("tbody tr").first
    expect(row.locator("td").first).to_have_text(str(most["count"]))
    expect(row).to_contain_text(most["reason"])


def which_policy(asking: Asking) -> None:
    found = asking.service.get(f"/v1/runs/{asking.run['id']}/metrics?points=1")["policies"]
    whole = asking.run["best_fitness"] - asking.run["seed_fitness"]
    assert sum(one["gain"] for one in found) == pytest.approx(whole)
    table = asking.region("Results By policy")
    column = table.locator("thead th").all_inner_texts().index("Gain")
    for one in found:
        cell = table.locator("tbody tr").filter(has_text=one["name"]).locator("th, td").nth(column)
        expect(cell).to_have_text(f"+{one['gain']:.4g}" if one["gain"] else "–")


def where_the_time_goes(asking: Asking) -> None:
    parts = asking.region("Where the time goes").locator("tbody tr")
    names = parts.locator("th").all_inner_texts()
    assert {"Valid evaluations", "Failed evaluations"} <= set(names)
    shares = [float(text.split()[0]) for text in parts.locator("td:last-child").all_inner_texts()]
    assert shares == sorted(shares, reverse=True)
    assert sum(shares) == pytest.approx(100, abs=1)


def still_alive(asking: Asking) -> None:
    expect(asking.page.locator("h1 .state")).to_have_text("running")
    expect(asking.tile("Last result").locator("time")).to_have_text(re.compile(r"now|\d s ago"))


def how_far(asking: Asking) -> None:
    expect(asking.tile("To the best known")).to_have_text(f"{30 - asking.run['best_fitness']:.4g}")


def how_they_differ(asking: Asking) -> None:
    expect(asking.page.get_by_role("heading", name="Compare 2 runs")).to_be_visible()
    rows = asking.region("Differences in the settings").locator("tbody tr")
    expect(rows).to_have_text([re.compile(r"budget\.evaluations\s*120\s*20")])
    expect(asking.region("Outcomes").locator(f"a[href='/runs/{asking.other}']")).to_be_visible()


ANSWERS: dict[str, Callable[[Asking], None]] = {
    "Why is this the best?": why_the_best,
    "Which edit made the jump?": which_edit,
    "What did it cost?": what_it_cost,
    "What were the settings?": the_settings,
    "What failed most?": what_failed,
    "Which policy brought the gain?": which_policy,
    "Where does the time go?": where_the_time_goes,
    "Is it still alive?": still_alive,
    "How far is the best known value?": how_far,
    "How do two runs differ?": how_they_differ,
}


def test_the_guide_answers_each_question_in_at_most_two_clicks() -> None:
    assert [one.text for one in questions()] == list(ANSWERS)
    assert all(len(one.clicks) <= MAX_CLICKS for one in questions())


@pytest.fixture
def live(request: pytest.FixtureRequest) -> str:
    """The id of a run at work, where a question is about one; else nothing."""
    question = request.node.callspec.params["question"]
    return str(request.getfixturevalue("live_run")) if question.start == "runs" else ""


@pytest.mark.parametrize("question", questions(), ids=lambda one: one.text)
def test_a_question_is_answered_where_the_guide_says(
    page: Page, service: Service, asked_run: str, other_run: str, live: str, question: Question
) -> None:
    page.goto("/runs" if question.start == "runs" else f"/runs/{asked_run}")
    for words in question.clicks:
        targets = {"the run": f"th a[href='/runs/{live}']", "the other run": f"a[href*='{other_run}']"}
        link = page.locator(f"main {targets[words]}") if words in targets else _link(page, words)
        link.click()
        page.wait_for_load_state()
    for place in question.places:
        shown = page.locator("main").get_by_text(place, exact=True).filter(visible=True).first
        expect(shown).to_be_visible()
    run = service.get(f"/v1/runs/{live or asked_run}")
    ANSWERS[question.text](Asking(page=page, service=service, run=run, other=other_run))


def _link(page: Page, words: str) -> Locator:
    return page.locator("main").get_by_role("link", name=words, exact=True)
