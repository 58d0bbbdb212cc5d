"""Programs inserted over the API: who may, what is checked, and what waits for the search."""

import json
from dataclasses import replace
from typing import Any

import httpx
import pytest

from evolve.change_events import ProgramInserted, RequestedChange
from evolve.event_codec import encode
from evolve.event_types import ProposalCreated
from evolve.events import Event, EventKind
from evolve.proposal import CompletedReply, Proposal
from service.db.reader import SqlRunReader
from service.ports import CandidateRecord, LoggedEvent, Scope
from tests.api.told import Told, bearer, small_run
from tests.api.visiting import visitor
from tests.contract.story import RUN, Story

CHANGES = f"/v1/runs/{RUN}/changes"
PATH = f"/v1/runs/{RUN}/candidates"
FILES = {"program.py": "x = 7\ny = 8\n"}


async def test_a_program_waits_for_the_search_with_its_author(told: Told, owner: httpx.AsyncClient) -> None:
    story = small_run(told)
    answer = await owner.post(PATH, json={"files": FILES, "parent": "1.0", "island": 0})
    assert (answer.status_code, answer.json()["id"]) == (202, RUN)
    [waiting] = told.parts.intents("default").changes(RUN)
    assert isinstance(waiting.data, ProgramInserted)
    assert waiting.program is not None
    assert dict(waiting.program.files) == FILES
    assert (waiting.data.parent, waiting.data.program_id) == (story.id(1), waiting.program.id)
    assert waiting.data.by


async def test_without_a_parent_it_descends_from_the_seed(told: Told, owner: httpx.AsyncClient) -> None:
    story = small_run(told)
    assert (await owner.post(PATH, json={"files": {"any.py": "x = 9\n"}})).status_code == 202
    [waiting] = told.parts.intents("default").changes(RUN)
    assert isinstance(waiting.data, ProgramInserted)
    assert (waiting.data.parent, waiting.data.island) == (story.id(0), 0)
    assert waiting.program is not None
    assert waiting.program.files == (("program.py", "x = 9\n"),)


@pytest.mark.parametrize(
    ("body", "status", "words"),
    [
        ({}, 422, "give at least one file"),
        ({"files": {}}, 422, "give at least one file"),
        ({"files": FILES, "removed": ["program.py"]}, 422, "only a program over a git repository"),
        ({"removed": [""]}, 422, "at least 1 character"),
        ({"files": FILES, "n": 1}, 422, "not permitted"),
        ({"files": {"program.py": "x" * 1_000_001}}, 422, "at most 1000000 characters"),
        ({"files": {"program.py": "x = (\n"}}, 422, "not valid Python"),
        ({"files": {"program.py": "x = 0\ny = 0\n"}}, 422, "equals its parent"),
        ({"files": {"program.py": "a\x00"}}, 422, "NUL"),
        ({"files": {"../a.py": "x = 1\n", "program.py": "x = 1\n"}}, 422, "not a plain relative path"),
        ({"files": FILES, "island": 9}, 422, "has no island 9"),
        ({"files": FILES, "island": -1}, 422, "greater than or equal to 0"),
        ({"files": FILES, "parent": "77.0"}, 404, "no candidate"),
        ({"files": FILES, "parent": "cnd_ffffffff"}, 404, "no candidate"),
        ({"files": FILES, "parent": "a b"}, 422, "match pattern"),
    ],
)
async def test_what_cannot_be_evaluated_is_refused(
    told: Told, owner: httpx.AsyncClient, body: dict[str, object], status: int, words: str
) -> None:
    small_run(told)
    answer = await owner.post(PATH, json=body)
    assert answer.status_code == status, answer.text
    told_words = answer.json()["detail"] + " ".join(fault["detail"] for fault in answer.json().get("errors", ()))
    assert words in told_words
    assert told.parts.intents("default").changes(RUN) == []


async def test_ten_megabytes_are_refused(told: Told, owner: httpx.AsyncClient) -> None:
    small_run(told)
    answer = await owner.post(PATH, json={"files": {"program.py": "x" * 10_000_000}})
    assert answer.status_code in {413, 422}
    assert answer.headers["content-type"] == "application/problem+json"


async def test_an_ended_run_takes_no_program(told: Told, owner: httpx.AsyncClient) -> None:
    story = small_run(told)
    told.append([story.tell(EventKind.RUN_CANCELLED, by="ada")])
    answer = await owner.post(PATH, json={"files": FILES})
    assert (answer.status_code, answer.json()["code"]) == (409, "conflict")


async def test_a_repeated_request_is_answered_as_before_though_the_run_has_ended(
    told: Told, owner: httpx.AsyncClient
) -> None:
    story, headers = small_run(told), {"Idempotency-Key": "one"}
    first = await owner.post(PATH, json={"files": FILES}, headers=headers)
    told.append([story.tell(EventKind.RUN_CANCELLED, by="ada")])
    again = await owner.post(PATH, json={"files": FILES}, headers=headers)
    assert (again.status_code, again.json()) == (202, first.json())
    assert len(told.parts.intents("default").changes(RUN)) == 1


async def test_a_run_of_another_tenant_is_not_there(told: Told, owner: httpx.AsyncClient) -> None:
    del owner
    small_run(told)
    headers = dict(bearer(told.key(tenant="stranger")))
    async with told.client() as client:
        assert (await client.post(PATH, json={"files": FILES}, headers=headers)).status_code == 404


async def test_it_needs_the_right_to_steer(told: Told, owner: httpx.AsyncClient) -> None:
    small_run(told)
    headers = dict(bearer(told.key(Scope.RUNS_READ, Scope.RUNS_WRITE, Scope.PROGRAMS_READ)))
    assert (await owner.post(PATH, json={"files": FILES}, headers=headers)).status_code == 403


def tell_inserted(told: Told, story: Story, change: RequestedChange, number: int, fitness: float | None) -> str:
    """What a search makes of a program that waits: its event, its proposal, its candidate and the evaluation."""
    made, created = inserted(story, change, number, fitness)
    told.append(made)
    told.append(created)
    return story.id(number)


def inserted(
    story: Story, change: RequestedChange, number: int, fitness: float | None
) -> tuple[list[LoggedEvent], list[LoggedEvent]]:
    """The event of an inserted program, and those of its proposal; the last of them is the evaluation."""
    assert isinstance(change.data, ProgramInserted)
    created, *rest = story.child(number, change.data.parent, fitness)
    data = created.event.data
    assert isinstance(data, ProposalCreated)
    proposal = created.event.subject
    assert isinstance(proposal, Proposal)
    manual = Event(
        replace(data, change=change.data.change_id, operator="manual", policy=""),
        replace(proposal, operator="manual", policy=""),
    )
    made = story.tell(EventKind.PROGRAM_INSERTED, **encode(change.data))
    story.sequence = rest[-1].sequence + 1
    return [replace(made, sequence=created.sequence)], [
        replace(one, sequence=one.sequence + 1) for one in (replace(created, event=manual), *map(_unwritten, rest))
    ]


def _unwritten(logged: LoggedEvent) -> LoggedEvent:
    """An event without the prompt and the words of a policy."""
    if not isinstance(logged.event.subject, CompletedReply):
        return logged
    return replace(logged, event=Event(logged.event.data, CompletedReply(completions=())))


async def test_an_inserted_program_tells_what_came_of_it(told: Told, owner: httpx.AsyncClient) -> None:
    story = small_run(told)
    await owner.post(PATH, json={"files": FILES, "parent": "1.0"})
    [waiting] = told.parts.intents("default").changes(RUN)
    [listed] = (await owner.get(CHANGES)).json()["items"]
    assert (listed["kind"], listed["at"], listed["candidate_id"], listed["parent"]) == (
        "program.inserted",
        None,
        None,
        story.id(1),
    )
    mine = tell_inserted(told, story, waiting, 4, 5.0)
    told.append(story.child(5, mine, 9.0))
    told.append(story.child(6, story.id(0), 99.0))
    [listed] = (await owner.get(CHANGES)).json()["items"]
    assert listed["at"]
    keys = ("candidate_id", "outcome", "proposals", "evaluations", "valid", "improvements", "best_fitness")
    assert tuple(listed[key] for key in keys) == (mine, "ok", 2, 2, 2, 2, 9.0)
    assert told.parts.intents("default").changes(RUN) == []


async def test_an_outcome_that_comes_while_changes_are_read_is_counted(
    told: Told, owner: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    story = small_run(told)
    await owner.post(PATH, json={"files": FILES, "parent": "1.0"})
    [waiting] = told.parts.intents("default").changes(RUN)
    made, [*begun, scored] = inserted(story, waiting, 4, 5.0)
    told.append(made)
    told.append(begun)
    late = [scored]
    read = SqlRunReader.candidates

    def candidates(*words: Any) -> list[CandidateRecord]:
        if late:
            told.append([late.pop()])
        return read(*words)

    monkeypatch.setattr(SqlRunReader, "candidates", candidates)
    [listed] = (await owner.get(CHANGES)).json()["items"]
    assert (listed["outcome"], listed["evaluations"], listed["best_fitness"]) == ("ok", 1, 5.0)


async def test_a_page_edits_a_candidate_and_inserts_it(told: Told) -> None:
    story = small_run(told)
    async with visitor(told) as client:
        page = (await client.get(f"/candidates/{story.id(1)}")).text
        assert "Edit as a new candidate" in page
        form = await client.get(f"/candidates/{story.id(1)}/edit")
        assert (form.status_code, "x = 1\ny = 0\n</textarea>" in form.text) == (200, True)
        csrf = {"csrf": client.cookies["evolve_csrf"]}
        place = f"/candidates/{story.id(1)}/edit"
        refused = await client.post(place, data=csrf | {"text-0": "x = (<b>\r\n"})
        assert refused.status_code == 422
        assert "not valid Python" in refused.text
        assert "x = (&lt;b&gt;\n</textarea>" in refused.text
        taken = await client.post(place, data=csrf | {"text-0": "x = 5\r\ny = 6\r\n"})
        assert (taken.status_code, taken.headers["location"]) == (303, f"/runs/{RUN}#changes")
        [waiting] = told.parts.intents("default").changes(RUN)
        assert waiting.program is not None
        assert waiting.program.text == "x = 5\ny = 6\n"
        overview = (await client.get(f"/runs/{RUN}")).text
        assert "Changes by people" in overview
        assert "waits for the runner" in overview
        tell_inserted(told, story, waiting, 4, 5.0)
        told.append([story.tell(EventKind.RUN_CANCELLED, by="ada")])
        page = (await client.get(f"/candidates/{story.id(4)}")).text
        assert "manual" in page
        assert "Edit as a new candidate" not in page
        assert (await client.post(place, data=csrf | {"text-0": "x = 7\n"})).status_code == 422
        assert (await client.get(f"/runs/{RUN}/changes")).status_code == 200
        assert "A person inserted this program." in (await client.get(f"/runs/{RUN}/proposals/4")).text
        statistics = (await client.get(f"/v1/runs/{RUN}/statistics")).json()
        assert "manual" in {one["name"] for one in statistics["operators"]}
        assert {one["name"] for one in statistics["policies"]} == {"syntax"}
        lines = (await client.get(f"/v1/runs/{RUN}/export?format=training")).text.splitlines()
        assert {json.loads(line)["number"] for line in lines} == {1, 2, 3}
