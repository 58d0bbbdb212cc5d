"""Exports and artifacts over the API."""

import csv
import io
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from evolve.events import EventKind
from evolve.program import Program
from evolve.proposal import CompletedReply
from evolve.reply_form import ReplyForm
from service.ports import Scope
from service.projections.export import export_lines
from tests.api.told import Told, bearer, open_told, served, small_run
from tests.contract.story import RUN, Story, new_run

EXPORT, ARTIFACTS = f"/v1/runs/{RUN}/export", f"/v1/runs/{RUN}/artifacts"
BUNDLE = b"\x1f\x8b\x00folder"


@pytest.fixture
async def told(tmp_path: Path) -> AsyncIterator[Told]:
    async with open_told(tmp_path) as opened:
        yield opened


@pytest.fixture
def story(told: Told) -> Story:
    return small_run(told)


@pytest.fixture
async def client(told: Told) -> AsyncIterator[httpx.AsyncClient]:
    async with told.client() as opened:
        yield opened


def lines(answer: httpx.Response) -> list[Any]:
    assert answer.status_code == 200, answer.text
    return [json.loads(line) for line in answer.text.splitlines()]


class TestExport:
    async def test_it_is_what_the_command_line_writes(
        self, told: Told, client: httpx.AsyncClient, story: Story
    ) -> None:
        answer = await client.get(EXPORT)
        assert answer.text == "".join(export_lines(told.parts.readers.of("default"), RUN))
        assert [line["candidate_id"] for line in lines(answer)] == [story.id(number) for number in range(4)]
        assert answer.headers["content-disposition"] == f'attachment; filename="{RUN}.jsonl"'

    async def test_the_events_are_all_there_in_order(self, told: Told, client: httpx.AsyncClient, story: Story) -> None:
        answer = await client.get(EXPORT, params={"format": "events"})
        assert answer.headers["content-disposition"] == f'attachment; filename="{RUN}-events.jsonl"'
        stored = [event.as_json() for event in told.parts.readers.of("default").events(RUN)]
        assert lines(answer) == stored
        assert [event["sequence"] for event in stored] == list(range(1, len(stored) + 1))

    async def test_a_table_has_a_row_for_each_candidate(self, client: httpx.AsyncClient, story: Story) -> None:
        answer = await client.get(EXPORT, params={"format": "csv"})
        rows = list(csv.DictReader(io.StringIO(answer.text)))
        assert [row["candidate_id"] for row in rows] == [story.id(number) for number in range(4)]
        assert [row["score_sum_radii"] for row in rows] == ["1.0", "2.0", "3.0", ""]
        assert rows[3]["reason"] == "it ran longer than 20 seconds"
        assert answer.headers["content-type"] == "text/csv; charset=utf-8"

    @pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(A1)", "\tx", "\rx"])
    async def test_a_table_holds_no_formula(
        self, told: Told, client: httpx.AsyncClient, story: Story, text: str
    ) -> None:
        told.append(story.child(4, story.id(0), None, reason=text))
        answer = await client.get(EXPORT, params={"format": "csv"})
        *_, row = csv.DictReader(io.StringIO(answer.text, newline=""))
        assert row["reason"] == f"'{text}"

    async def test_a_name_of_an_objective_is_no_formula_either(self, told: Told, client: httpx.AsyncClient) -> None:
        told.create(new_run(objectives=[{"name": "=1+1", "direction": "maximize"}], measures=[{"name": "@x"}]))
        (header,) = csv.reader(io.StringIO((await client.get(EXPORT, params={"format": "csv"})).text))
        assert header[-2:] == ["score_=1+1", "measure_@x"]

    async def test_training_records_hold_what_set_rewards_need(
        self, told: Told, client: httpx.AsyncClient, story: Story
    ) -> None:
        told.append([
            story.propose(4, story.id(0), form=ReplyForm(format="single", edits="diff", answers=1, samples=2)),
            story.create(4, 0, parents=[(story.id(0), "parent")]),
            story.create(4, 1, parents=[(story.id(0), "parent")]),
            story.tell(EventKind.CANDIDATE_DUPLICATE, candidate_id=story.id(4, 1), of=story.id(1)),
            story.answer(4, text="two answers", reasoning=["hm"]),
            story.evaluate(story.id(4, 0), 4.0),
            story.propose(5, story.id(0)),  # not answered yet
        ])  # fmt: skip
        answer = await client.get(EXPORT, params={"format": "training"})
        records = lines(answer)
        assert [record["number"] for record in records] == [1, 2, 3, 4]
        last = records[-1]
        assert last["messages"] == [{"role": "user", "content": "shared\nvarying"}]
        assert (last["completions"], last["reasoning"]) == (["two answers"], ["hm"])
        assert last["objectives"] == ["sum_radii"]
        assert last["asked"] == {"format": "single", "edits": "diff", "answers": 1, "samples": 2}
        assert last["parent"] == {"candidate_id": story.id(0), "files": {"program.py": "x = 0\ny = 0\n"}}
        assert [
            {name: one[name] for name in ("candidate_id", "status", "outcome", "rewards", "fitness", "duplicate_of")}
            for one in last["answers"]
        ] == [
            {
                "candidate_id": story.id(4, 0),
                "status": "evaluated",
                "outcome": "ok",
                "rewards": [4.0],
                "fitness": 4.0,
                "duplicate_of": None,
            },
            {
                "candidate_id": story.id(4, 1),
                "status": "duplicate",
                "outcome": None,
                "rewards": None,
                "fitness": None,
                "duplicate_of": story.id(1),
            },
        ]
        assert answer.headers["content-disposition"] == f'attachment; filename="{RUN}-training.jsonl"'

    async def test_texts_that_utf8_cannot_carry_are_escaped(
        self, told: Told, client: httpx.AsyncClient, story: Story
    ) -> None:
        completed = CompletedReply(completions=("a\ud800b",), finish_reasons=("stop",))
        told.append([
            story.propose(4, story.id(0)),
            story.tell(
                EventKind.PROPOSAL_ANSWERED,
                completed,
                proposal_number=4,
                answers=0,
                dropped=0,
                tokens={"input": 0, "cached": 0, "output": 0},
                seconds=0.0,
            ),
        ])  # fmt: skip
        exported = await client.get(EXPORT, params={"format": "training"})
        shown = await client.get(f"/v1/runs/{RUN}/proposals/4")
        exported.content.decode()
        assert shown.status_code == 200
        (text,) = json.loads(shown.content.decode())["completions"]
        text.encode()

    async def test_it_is_sent_while_it_is_read(self, told: Told, story: Story) -> None:
        text = "x = 1\n" * 5000
        for number in range(4, 34):
            told.append([story.create(number, program=Program.of({"main.py": text + f"y = {number}\n"}))])
        async with (
            served(told.app) as url,
            httpx.AsyncClient(base_url=url, headers=bearer(told.key())) as remote,
            remote.stream("GET", EXPORT) as answer,
        ):
            assert "content-length" not in answer.headers
            assert len([line async for line in answer.aiter_lines()]) == 34

    @pytest.mark.parametrize("path", [EXPORT, ARTIFACTS, f"{ARTIFACTS}/problem.tar.gz"])
    async def test_it_needs_the_scope_of_programs(self, told: Told, story: Story, path: str) -> None:
        async with told.client(Scope.RUNS_READ) as client:
            assert (await client.get(path)).status_code == 403

    async def test_a_format_that_is_none_is_refused(self, client: httpx.AsyncClient, story: Story) -> None:
        assert (await client.get(EXPORT, params={"format": "xml"})).status_code == 422


class TestArtifacts:
    async def test_they_are_the_problem_and_the_best_program(self, client: httpx.AsyncClient, story: Story) -> None:
        items = (await client.get(ARTIFACTS)).json()["items"]
        assert [(item["name"], item["bytes"]) for item in items] == [
            ("problem.tar.gz", len(BUNDLE)),
            ("best/program.py", len("x = 2\ny = 0\n")),
        ]
        for item in items:
            answer = await client.get(item["url"])
            assert (answer.headers["etag"], len(answer.content)) == (item["etag"], item["bytes"])

    async def test_a_list_is_paged(self, client: httpx.AsyncClient, story: Story) -> None:
        first = (await client.get(ARTIFACTS, params={"limit": 1})).json()
        rest = (await client.get(ARTIFACTS, params={"limit": 1, "cursor": first["next_cursor"]})).json()
        assert [item["name"] for item in (*first["items"], *rest["items"])] == ["problem.tar.gz", "best/program.py"]
        assert rest["next_cursor"] is None

    async def test_they_come_in_parts(self, client: httpx.AsyncClient, story: Story) -> None:
        path = f"{ARTIFACTS}/problem.tar.gz"
        head = await client.head(path)
        assert (head.status_code, head.content, head.headers["content-length"]) == (200, b"", str(len(BUNDLE)))
        part = await client.get(path, headers={"Range": "bytes=3-5", "If-Range": head.headers["etag"]})
        assert (part.status_code, part.content) == (206, b"fol")
        assert part.headers["content-range"] == f"bytes 3-5/{len(BUNDLE)}"
        assert (await client.get(path, headers={"Range": "bytes=99-"})).status_code == 416
        same = await client.get(path, headers={"If-None-Match": head.headers["etag"]})
        assert (same.status_code, same.content) == (304, b"")

    @pytest.mark.parametrize("name", ["other", "best/other.py", "%2e%2e/artifacts", "%00", "best/%ff", "best"])
    async def test_what_is_none_is_not_found(self, client: httpx.AsyncClient, story: Story, name: str) -> None:
        assert (await client.get(f"{ARTIFACTS}/{name}")).status_code == 404
