"""Pages over the API that stands behind them, without a browser."""

import re
from pathlib import Path
from typing import Any

import pytest

from evolve.events import EventKind
from evolve.money import Money
from evolve.proposal import Charge, Usage
from service.dashboard.run_page import TABS
from service.ports import Scope
from tests.api.told import Told, open_told, small_run
from tests.api.visiting import visitor
from tests.contract.story import RUN, Story, new_run


async def test_who_signs_out_on_a_page_leaves_no_copy_of_the_session_behind(told: Told) -> None:
    async with visitor(told) as client:
        copied = {"Cookie": f"evolve_session={client.cookies['evolve_session']}"}
        assert (await client.get("/runs")).status_code == 200
        assert (await client.post("/sign-out")).headers["location"] == "/sign-in"
        assert "evolve_session" not in client.cookies
        answer = await client.get("/runs", headers=copied)
        assert (answer.status_code, answer.headers["location"]) == (303, "/sign-in?next=%2Fruns")


async def test_what_is_handed_on_leads_to_where_the_operator_says_that_people_come_in(tmp_path: Path) -> None:
    for public_url, base in (("https://evolve.example/", "https://evolve.example"), ("", "http://localhost")):
        (tmp_path / base[:5]).mkdir()
        async with open_told(tmp_path / base[:5], public_url=public_url) as told:
            small_run(told)
            async with visitor(told) as client:
                page = await client.get(f"/runs/{RUN}/share")
                form = {"csrf": client.cookies["evolve_csrf"]}
                made = await client.post(f"/runs/{RUN}/share/tokens", data=form)
        assert f"data-secret>{base}/runs/{RUN}<" in page.text
        assert re.search(rf">{re.escape(base)}/shared/evs_\w+<", made.text)


BUTTONS = ("New run", "Saved filters", "Compare", "Pause", "Cancel…", "Delete…")


async def test_the_list_of_runs_says_which_filter_it_left_out(told: Told) -> None:
    small_run(told)
    async with visitor(told) as client:
        page = await client.get("/runs?state=zzz")
        assert page.status_code == 200
        assert "state: zzz was left out" in page.text
        assert f"/runs/{RUN}" in page.text
        assert "was left out" not in (await client.get("/runs?state=running")).text


async def test_a_comparison_takes_runs_as_the_api_does(told: Told) -> None:
    other = "run_0190bbbb000000000000000000000002"
    small_run(told)
    told.create(new_run(other))
    async with visitor(told) as client:
        for query in (f"runs={RUN},{other}", f"run={RUN}&run={other}", f"run={RUN}&runs={other}"):
            assert "<h1>Compare 2 runs</h1>" in (await client.get(f"/compare?{query}")).text


async def test_a_comparison_says_how_many_seeds_an_interval_takes(told: Told) -> None:
    small_run(told)
    other = Story("run_0190bbbb000000000000000000000002")
    told.create(new_run(other.run_id))
    told.append([*other.seed(), *other.child(1, other.id(0), 2.0)])
    async with visitor(told) as client:
        page = (await client.get(f"/compare?runs={RUN},{other.run_id}&by=strategy")).text
    assert "its 95 % interval from 6 seeds on" in page


async def test_a_chart_is_told_that_there_is_no_candidate_of_a_name(told: Told) -> None:
    small_run(told)
    async with visitor(told) as client:
        part = await client.get(f"/candidates/{RUN}.999.9/inspect", headers={"HX-Request": "true"})
        assert (part.status_code, "There is no candidate 999.9." in part.text) == (200, True)
        assert (await client.get(f"/candidates/{RUN}.999.9/inspect")).status_code == 404


async def test_pages_give_duplicates_as_a_share_of_the_answers(told: Told) -> None:
    story = small_run(told)
    for number in range(10, 14):  # two repeat the first, and two are in flight
        told.append([story.propose(number, story.id(0)), story.create(number, parents=[(story.id(0), "parent")])])
        if number < 12:
            told.append([story.tell(EventKind.CANDIDATE_DUPLICATE, candidate_id=story.id(number), of=story.id(1))])
    async with visitor(told) as client:
        overview = (await client.get(f"/runs/{RUN}")).text
        diversity = (await client.get(f"/runs/{RUN}/diversity")).text
    found = re.search(r"<dt>Duplicates</dt><dd><strong>(.*?)</strong><small>2 of (\d+) answers", overview)
    assert found
    share = f"{200 / int(found[2]):.3g}\u202f%"
    assert found[1] == share
    assert f"{share} of all answers were duplicates" in diversity


@pytest.mark.parametrize(
    ("scopes", "offered"),
    [
        ((), set(BUTTONS)),
        ((Scope.RUNS_READ,), {"Compare"}),
        ((Scope.RUNS_READ, Scope.RUNS_CONTROL), {"Compare", "Pause", "Cancel…"}),
        ((Scope.RUNS_READ, Scope.RUNS_WRITE), {"Compare", "New run", "Saved filters", "Delete…"}),
    ],
)
async def test_people_are_offered_what_their_key_may(told: Told, scopes: tuple[Scope, ...], offered: set[str]) -> None:
    small_run(told)
    async with visitor(told, *scopes) as client:
        page = (await client.get("/runs")).text
        run = (await client.get(f"/runs/{RUN}")).text
    assert {name for name in BUTTONS if re.search(rf">{name}</(a|button|summary)>", page)} == offered
    assert (f"/runs/new?from={RUN}" in run) == ("New run" in offered)
    assert (f"/runs/{RUN}/pause" in run) == ("Pause" in offered)


async def test_what_pages_offer_is_not_what_is_allowed(told: Told) -> None:
    small_run(told)
    async with visitor(told, Scope.RUNS_READ) as client:
        client.cookies.set("evolve_scopes", "runs:control.runs:read", domain="localhost")
        answer = await client.post(f"/runs/{RUN}/pause", data={"csrf": client.cookies["evolve_csrf"]})
    assert answer.status_code == 403


async def test_who_asks_too_often_is_told_so_on_a_page(tmp_path: Path) -> None:
    async with open_told(tmp_path, requests_per_minute=8) as told, visitor(told) as client:
        pages = [await client.get("/runs") for _ in range(12)]
    assert pages[0].status_code == 200
    assert pages[-1].status_code == 429
    assert "<h1>Too many requests</h1>" in pages[-1].text
    assert "wait" in pages[-1].text


async def test_who_tries_too_many_keys_is_told_so_beside_the_field(tmp_path: Path) -> None:
    async with open_told(tmp_path, requests_per_minute=3) as told, visitor(told) as client:
        tries = [await client.post("/sign-in", data={"key": "evo_x"}) for _ in range(4)]
    assert [answer.status_code for answer in tries] == [403, 403, 429, 429]
    assert "too many attempts" in tries[-1].text


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"config": {}},
        {"objectives": [{"name": "sum_radii", "direction": "minimize"}]},
        {"objectives": [], "known_best": None},
    ],
    ids=["whole", "of no settings", "minimised", "of a single number"],
)
async def test_every_page_of_a_run_is_there(told: Told, changes: dict[str, Any]) -> None:
    small_run(told, **changes)
    async with visitor(told) as client:
        pages = {tab.name: (await client.get(tab.of(RUN))).status_code for tab in TABS}
        absent = {tab.name: (await client.get(tab.of("run_nothing"))).status_code for tab in TABS}
    assert pages == dict.fromkeys(pages, 200)
    assert absent == dict.fromkeys(pages, 404)


@pytest.mark.parametrize(
    ("target", "words"), [(None, "a better score than the best seed"), (-2.5, "a score of 2.5 or better, the target")]
)
async def test_what_draws_promise_is_written_in_the_direction_of_the_objective(
    told: Told, target: float | None, words: str
) -> None:
    changes: dict[str, Any] = {
        "objectives": [{"name": "sum_radii", "direction": "minimize"}],
        "config": {"budget": {"target": target}},
    }
    story = small_run(told, **changes)
    told.append([*story.child(4, story.id(0), 6.0)])
    async with visitor(told) as client:
        page = (await client.get(f"/runs/{RUN}/metrics")).text
    draws = page[page.index('id="draws"') : page.index('id="yield-1"')]
    of_answers = re.findall(r'<tr><th scope="row" class="num">(\d+)</th><td class="num">([^<]*)</td>', draws)
    # Fitness 1 of the seed, 2, 3 and 6 of answers, one that failed: what k of the four are worth beside the seed.
    assert of_answers == [("1", "-3"), ("2", f"-{(6 * 3 + 3 * 2 + 2) / 6:.5g}"), ("4", "-6")]
    assert words in draws


@pytest.mark.parametrize("place", ["", "/rows"])
async def test_events_are_narrowed_by_what_the_address_says(told: Told, place: str) -> None:
    small_run(told)
    async with visitor(told) as client:
        page = await client.get(f"/runs/{RUN}/events{place}?kind=candidate.evaluated&after=1")
        wrong = [await client.get(f"/runs/{RUN}/events{place}?{query}") for query in ("kind=run.exploded", "island=x")]
    assert page.status_code == 200
    assert set(re.findall(r"<td><code>([a-z.]+)</code></td>", page.text)) == {"candidate.evaluated"}
    assert [answer.status_code for answer in wrong] == [422, 422]


async def test_the_page_of_a_proposal_tells_what_decided(told: Told) -> None:
    small_run(told)
    async with visitor(told) as client:
        page = await client.get(f"/runs/{RUN}/proposals/1")
    assert "island 0, drawn with 70 %" in page.text
    assert all(word in page.text for word in ("Why this parent", "rank", "small, large"))
    told_apart = re.findall(r"<h2>Why this ([^<]+)</h2>\s*<dl[^>]*>(.*?)</dl>", page.text, re.DOTALL)
    named = {chosen: re.findall(r"<dt>([^<]+)</dt><dd><strong>([^<]*)</strong>", tiles) for chosen, tiles in told_apart}
    assert named["island"] == [("visits", "9"), ("gain", "0.125"), ("bonus", "0.5")]
    assert named["second parent"] == [("selection", "dirichlet"), ("weights", "0.5, 0.5"), ("crowding", "–")]


async def test_what_decided_is_shown_as_text(told: Told) -> None:
    story = small_run(told)
    hostile = {"<i>cases": ["<b>small"], "<i>island": {"<b>gain": "<script>"}}
    told.append([story.propose(4, story.id(0), rationale=hostile)])
    async with visitor(told) as client:
        page = (await client.get(f"/runs/{RUN}/proposals/4")).text
    assert "Why this &lt;i&gt;island" in page
    assert not re.search(r"<(i|b|script)>(cases|small|island|gain|</)", page)


async def test_the_page_of_a_proposal_folds_what_the_model_thought(told: Told) -> None:
    story = small_run(told)
    told.append([story.propose(4, story.id(0)), story.answer(4, reasoning=["<b>hm</b>"])])
    async with visitor(told) as client:
        page = (await client.get(f"/runs/{RUN}/proposals/4")).text
        reply = (await client.get(f"/v1/runs/{RUN}/proposals/4")).json()
    assert "<details><summary>Reasoning of completion 1" in page
    assert "&lt;b&gt;hm" in page
    assert "<b>hm" not in page
    assert reply["reasoning"] == ["<b>hm</b>"]


async def test_pages_tell_what_a_review_cost_and_whose_it_was(told: Told) -> None:
    story = small_run(told)
    charge = Charge(
        policy="<b>judge", purpose="review", usage=Usage(input=7, output=3), cost=Money.read("0.5 USD"), seconds=2.0
    )
    told.append([story.propose(4, story.id(0)), story.answer(4, charges=[charge])])
    async with visitor(told) as client:
        proposal = await client.get(f"/runs/{RUN}/proposals/4")
        costs = await client.get(f"/runs/{RUN}/policy/figures")
    assert "Review" in proposal.text
    assert "7 in, 3 out" in proposal.text
    assert "&lt;b&gt;judge, 0.5 USD" in proposal.text
    assert "&lt;b&gt;judge" in costs.text
    assert "<b>judge" not in proposal.text + costs.text


async def test_the_page_of_a_run_that_was_examined_shows_what_came_of_it(told: Told) -> None:
    story = small_run(told)
    best, seed = story.id(2), story.id(0)
    plan: dict[str, Any] = {"holdout": [best, seed], "audit": best, "evaluations": 2, "tolerance": 0.1}
    scored: dict[str, Any] = {"outcome": "ok", "reason": "", "fitness": 1.25, "scores": {"sum_radii": 1.25}}
    scored |= {"candidate_id": best, "repeats": 1, "seconds": 0.1}
    failed = scored | {"outcome": "error", "reason": "<b>no</b>", "fitness": None, "scores": {}, "candidate_id": seed}
    told.append([
        story.tell(EventKind.RUN_CLOSING, reason="target", **plan),
        story.tell(EventKind.HOLDOUT_SCORED, **scored),
        story.tell(EventKind.HOLDOUT_SCORED, **failed),
        story.tell(EventKind.AUDIT_SCORED, **scored, number=1),
        story.tell(EventKind.AUDIT_SCORED, **scored, number=2),
        story.tell(EventKind.RUN_FINISHED, reason="target", candidate_id=best, fitness=3.0),
    ])  # fmt: skip
    async with visitor(told) as client:
        page = (await client.get(f"/runs/{RUN}")).text
    held = page.partition('<section id="held-out">')[2].partition("</section>")[0]
    assert re.findall(r'<td class="num">([^<]+)</td>', held) == ["1.25", "3", "-1.75"]
    assert "Not scored: &lt;b&gt;no&lt;/b&gt;" in held
    assert "A score far worse than the recorded score means that the search has overfitted." in held
    audit = page.partition('<section id="audit">')[2].partition("</section>")[0]
    assert "the scores do not hold within 0.1 in 2 evaluations under other seeds" in audit
    assert re.findall(r'<td class="num">([^<]+)</td>', audit) == ["3", "1.25", "1.25"]
