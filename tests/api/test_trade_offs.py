"""The page of trade-offs: a front that is known beforehand, and many candidates of equal scores."""

import math
import re
from collections.abc import Sequence
from typing import Any

import pytest

from evolve.events import EventKind
from tests.api.told import Told
from tests.api.visiting import visitor
from tests.contract.story import Story, new_run

TRADE = "run_0190cccc000000000000000000000003"
OBJECTIVES = [{"name": f"f{place}", "direction": "minimize", "low": 0.0, "high": 1.0} for place in (1, 2)]
EQUAL = 19


def run_of(told: Told, vectors: Sequence[tuple[float, float]]) -> Story:
    """A run whose candidates have these scores of two objectives that are minimised; the first is the seed's."""
    told.create(new_run(TRADE, objectives=OBJECTIVES))
    story = Story(TRADE)
    told.append([story.tell(EventKind.RUN_STARTED, by="test"), story.create(0), scored(story, 0, vectors[0])])
    for number, vector in enumerate(vectors[1:], start=1):
        told.append([
            story.propose(number, story.id(0)),
            story.create(number, parents=[(story.id(0), "parent")]),
            story.answer(number),
            scored(story, number, vector),
        ])  # fmt: skip
    best = max(range(len(vectors)), key=lambda number: (-sum(vectors[number]), -number))
    told.append([story.improve(story.id(best), 1 - sum(vectors[best]) / 2)])
    return story


def scored(story: Story, number: int, vector: tuple[float, float]) -> Any:
    first, second = vector
    rewards = (1 - first, 1 - second)
    scores = {"f1": first, "f2": second}
    return story.evaluate(
        story.id(number), sum(rewards) / 2, scores=scores, rewards=rewards, signed_scores=(-first, -second)
    )


async def page_and_front(told: Told, query: str = "") -> tuple[str, Any, Any]:
    async with visitor(told) as client:
        answer = await client.get(f"/runs/{TRADE}/objectives{query}")
        assert answer.status_code == 200
        front = (await client.get(f"/v1/runs/{TRADE}/front?limit=200")).json()
        columns = (await client.get(f"/v1/runs/{TRADE}/columns?front=true")).json()
    return answer.text, front, columns


def listed(page: str) -> list[str]:
    """The names in the table of the front."""
    table = page[page.index('aria-label="The front"') :]
    return re.findall(r'<tr><td><a href="/candidates/\w+" title="\w+">([\d.]+)</a>', table)


async def test_the_known_front_of_zdt1_is_found_and_nothing_else(told: Told) -> None:
    # ZDT1: f2 = 1 - sqrt(f1) is the front, of a volume of 2/3 within the unit square (Zitzler, Deb and Thiele, 2000).
    known = [(place / 20, 1 - math.sqrt(place / 20)) for place in range(21)]
    beaten = [(first, second + 0.25) for first, second in known[3:18:3]]
    run_of(told, [*beaten[:2], *known, *beaten[2:]])
    page, front, columns = await page_and_front(told)
    names = {f"{number}.0" for number in range(2, 2 + len(known))}
    assert {item["name"] for item in front["items"]} == names
    assert set(listed(page)) == names
    assert "21 candidates that no other dominates" in page
    # The steps of 21 points, from the best of f1 on: the width of each times the gain in f2.
    gains = [math.sqrt(place / 20) - math.sqrt(max(0, place - 1) / 20) for place in range(21)]
    volume = math.fsum((1 - place / 20) * gain for place, gain in enumerate(gains))
    assert front["hypervolume"] == pytest.approx(volume)
    assert 2 / 3 - 0.05 < volume < 2 / 3
    assert f"{volume:.5g}" in page
    ringed = [at for at, end in enumerate(columns["front"]["until"]) if end is not None and end < 0]
    assert [columns["proposal_number"][at] for at in ringed] == list(range(2, 23))


async def test_equal_scores_are_all_on_the_front_and_the_oldest_is_the_best(told: Told) -> None:
    story = run_of(told, [(0.25, 0.5)] * EQUAL)
    page, front, columns = await page_and_front(told, "?w0=1&w1=3")
    assert front["size"] == EQUAL
    assert front["hypervolume"] == pytest.approx(0.75 * 0.5)
    assert "19 candidates that no other dominates" in page
    assert listed(page) == ["0.0"]  # one row for all, and the first of the others in it
    assert f"and {EQUAL - 1} equal: " in page
    winner = page[page.index("Best under these weights") :]
    assert winner[: winner.index("</tr>")].count(story.id(0)) == 2  # its address and its title
    assert columns["front"]["until"] == [-1] * EQUAL
