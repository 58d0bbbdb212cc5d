"""What the API shows of candidates, and how it lists, compares and serves them."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from evolve.events import EventKind
from evolve.program import Program
from service.ports import Scope
from tests.api.told import Client, Told, open_told, small_run
from tests.contract.story import RUN, Story


@pytest.fixture
async def told(tmp_path: Path) -> AsyncIterator[Told]:
    async with open_told(tmp_path) as opened:
        yield opened


@pytest.fixture
def story(told: Told) -> Story:
    return small_run(told)


@pytest.fixture
async def client(told: Told) -> AsyncIterator[Client]:
    async with told.client() as opened:
        yield opened


async def walk(client: Client, path: str, **query: Any) -> list[Any]:
    """All items of a list, a page after the other."""
    items: list[Any] = []
    while True:
        page = (await client.get(path, params=query)).raise_for_status().json()
        items += page["items"]
        if page["next_cursor"] is None:
            return items
        query["cursor"] = page["next_cursor"]


class TestLists:
    async def test_a_walk_by_age_sees_every_program_once(self, client: Client, story: Story) -> None:
        items = await walk(client, f"/v1/runs/{RUN}/candidates", limit=1)
        assert [item["id"] for item in items] == [story.id(number) for number in range(4)]

    async def test_a_walk_by_fitness_sees_those_that_have_one(self, client: Client, story: Story) -> None:
        items = await walk(client, f"/v1/runs/{RUN}/candidates", limit=1, order="fitness")
        assert [item["fitness"] for item in items] == [3.0, 2.0, 1.0]
        counted = await client.get(f"/v1/runs/{RUN}/candidates?order=fitness&include=count&limit=1")
        assert counted.json()["count"] == 3

    @pytest.mark.parametrize(
        ("query", "numbers"),
        [
            ("outcome=timeout", [3]),
            ("operator=seed", [0]),
            ("policy=syntax", [1, 2, 3]),
            ("policy=none", []),
            ("proposal_number=2", [2]),
            ("island=7", []),
            ("status=evaluated", [0, 1, 2, 3]),
        ],
    )
    async def test_filters_leave_out_the_others(
        self, client: Client, story: Story, query: str, numbers: list[int]
    ) -> None:
        page = (await client.get(f"/v1/runs/{RUN}/candidates?{query}&include=count")).json()
        assert [item["proposal_number"] for item in page["items"]] == numbers
        assert page["count"] == len(numbers)

    async def test_a_cursor_goes_on_with_its_own_filters_only(self, client: Client, story: Story) -> None:
        cursor = (await client.get(f"/v1/runs/{RUN}/candidates?limit=1")).json()["next_cursor"]
        for query in (f"cursor={cursor}&outcome=ok", f"cursor={cursor}&order=fitness", "cursor=AAAA", "cursor=%00"):
            answer = await client.get(f"/v1/runs/{RUN}/candidates?{query}")
            assert (answer.status_code, answer.json()["code"]) == (400, "invalid_cursor")

    @pytest.mark.parametrize(
        "query",
        ["status=lost", "proposal_number=-1", "proposal_number=99999999999", "order=best", "policy=%00", "limit=0"],
    )
    async def test_a_filter_that_cannot_be_is_refused(self, client: Client, story: Story, query: str) -> None:
        assert (await client.get(f"/v1/runs/{RUN}/candidates?{query}")).status_code == 422

    async def test_children_are_paged(self, client: Client, story: Story) -> None:
        items = await walk(client, f"/v1/candidates/{story.id(0)}/children", limit=1)
        assert [item["id"] for item in items] == [story.id(1), story.id(2)]

    async def test_proposals_are_listed_without_what_was_written(self, client: Client, story: Story) -> None:
        items = await walk(client, f"/v1/runs/{RUN}/proposals", limit=2)
        assert [item["number"] for item in items] == [1, 2, 3]
        assert "prompt" not in items[0]
        assert await walk(client, f"/v1/runs/{RUN}/proposals", state="failed") == []


class TestSearch:
    async def test_a_walk_sees_each_program_with_the_text_once(self, client: Client, story: Story) -> None:
        path = f"/v1/runs/{RUN}/candidates"
        assert [one["id"] for one in await walk(client, path, text="X = 2", limit=1)] == [story.id(2)]
        ranked = await walk(client, path, text="\ny = ", order="fitness", limit=1)
        assert [one["fitness"] for one in ranked] == [3.0, 2.0, 1.0]
        page = (await client.get(path, params={"text": "nowhere", "include": "count"})).json()
        assert (page["items"], page["next_cursor"], page["count"]) == ([], None, None)

    async def test_a_page_ends_where_its_portion_does_and_the_next_goes_on(
        self, client: Client, story: Story, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("service.db.search.MAX_LOOKED_THROUGH", 2)
        first = (await client.get(f"/v1/runs/{RUN}/candidates?text=x+%3D+3")).json()
        assert first["items"] == []
        asked = f"/v1/runs/{RUN}/candidates?cursor={first['next_cursor']}&text="
        assert [one["id"] for one in (await client.get(f"{asked}x+%3D+3")).json()["items"]] == [story.id(3)]
        assert (await client.get(f"{asked}x")).status_code == 400

    async def test_who_may_not_read_sources_cannot_guess_at_them(self, told: Told, story: Story) -> None:
        async with told.client(Scope.RUNS_READ) as one:
            refused = await one.get(f"/v1/runs/{RUN}/candidates?text=x")
            assert (refused.status_code, "programs:read" in refused.json()["detail"]) == (403, True)
            assert (await one.get(f"/v1/runs/{RUN}/candidates")).status_code == 200

    async def test_sources_of_other_tenants_are_not_there(self, told: Told, story: Story) -> None:
        async with told.client(tenant="default") as mine:
            assert (await mine.get(f"/v1/runs/{RUN}/candidates?text=x")).status_code == 200
        with told.database.write() as connection:
            connection.exec_driver_sql("insert into tenants (id, created_at) values ('other', '2026-01-01 00:00:00')")
        async with told.client(tenant="other") as theirs:
            assert (await theirs.get(f"/v1/runs/{RUN}/candidates?text=x")).status_code == 404

    @pytest.mark.parametrize("text", ["%00", "a" * 201])
    async def test_a_text_that_no_source_holds_is_refused(self, client: Client, story: Story, text: str) -> None:
        assert (await client.get(f"/v1/runs/{RUN}/candidates?text={text}")).status_code == 422


class TestOne:
    async def test_a_program_says_where_it_comes_from_and_what_it_is_worth(self, client: Client, story: Story) -> None:
        program = (await client.get(f"/v1/candidates/{story.id(2)}")).json()
        assert program["parents"] == [{"candidate_id": story.id(0), "role": "parent"}]
        assert (program["fitness"], program["scores"], program["rewards"]) == (3.0, {"sum_radii": 3.0}, [3.0])
        assert program["urls"]["proposal"] == f"/v1/runs/{RUN}/proposals/2"
        assert (await client.get(program["urls"]["proposal"])).json()["completions"] == ["ok"]

    async def test_a_proposal_holds_what_was_asked_and_written(self, client: Client, story: Story) -> None:
        proposal = (await client.get(f"/v1/runs/{RUN}/proposals/1")).json()
        assert proposal["prompt"] == [{"role": "user", "content": "shared\nvarying"}]
        assert proposal["dropped"] == [{"chain": 0, "reason": "the last answer was cut off"}]
        assert (proposal["tokens_input"], proposal["tokens_cached"], proposal["tokens_output"]) == (100, 60, 40)

    async def test_every_attempt_at_scoring_is_listed(self, client: Client, story: Story) -> None:
        (attempt,) = await walk(client, f"/v1/candidates/{story.id(3)}/evaluations")
        assert (attempt["outcome"], attempt["worker"], attempt["attempt"]) == ("timeout", "worker-1", 1)

    async def test_a_second_attempt_stands_beside_the_first(self, told: Told, client: Client, story: Story) -> None:
        again = story.individual(story.id(3), 9.0)
        told.append([
            story.tell(
                EventKind.CANDIDATE_REEVALUATED,
                again,
                candidate_id=story.id(3),
                outcome="ok",
                fitness=9.0,
                scores={"sum_radii": 9.0},
                measures={},
                seconds=0.25,
                attempt=2,
            ),
        ])  # fmt: skip
        attempts = await walk(client, f"/v1/candidates/{story.id(3)}/evaluations", limit=1)
        assert [(attempt["attempt"], attempt["outcome"]) for attempt in attempts] == [(1, "timeout"), (2, "ok")]
        assert (await client.get(f"/v1/candidates/{story.id(3)}")).json()["outcome"] == "timeout"

    async def test_feedback_is_for_those_who_may_read_programs(self, told: Told, story: Story) -> None:
        async with told.client(Scope.RUNS_READ) as client:
            program = (await client.get(f"/v1/candidates/{story.id(1)}")).json()
            (attempt,) = (await client.get(f"/v1/candidates/{story.id(1)}/evaluations")).json()["items"]
        assert program["feedback"] is attempt["feedback"] is None
        async with told.client(Scope.RUNS_READ, Scope.PROGRAMS_READ) as client:
            assert (await client.get(f"/v1/candidates/{story.id(1)}")).json()["feedback"] == "two circles overlap"

    @pytest.mark.parametrize("path", ["source", "files/program.py", "diff"])
    async def test_sources_need_their_scope(self, told: Told, story: Story, path: str) -> None:
        async with told.client(Scope.RUNS_READ) as client:
            assert (await client.get(f"/v1/candidates/{story.id(1)}/{path}")).status_code == 403

    @pytest.mark.parametrize(
        "path",
        [
            "/v1/candidates/cnd_00000000000000000000000000000000",
            "/v1/candidates/cnd_00000000000000000000000000000000/source",
            "/v1/candidates/cnd_00000000000000000000000000000000/children",
            f"/v1/runs/{RUN}/proposals/77",
            f"/v1/runs/{RUN}/proposals/2147483647",
            "/v1/runs/run_00000000000000000000000000000000/candidates",
            "/v1/runs/run_00000000000000000000000000000000/proposals/1",
        ],
    )
    async def test_what_is_not_there_is_not_found(self, client: Client, story: Story, path: str) -> None:
        answer = await client.get(path)
        assert (answer.status_code, answer.json()["code"]) == (404, "not_found")

    @pytest.mark.parametrize("path", ["cnd_%00", "cnd_%ff", "%2e%2e", "cnd_abc%20"])
    async def test_what_is_no_id_is_refused(self, client: Client, story: Story, path: str) -> None:
        assert (await client.get(f"/v1/candidates/{path}")).status_code in {404, 422}

    async def test_another_tenant_finds_nothing(self, told: Told, story: Story) -> None:
        async with told.client(tenant="other") as client:
            for path in ("", "/source", "/lineage", "/children", "/diff", "/evaluations", "/files/program.py"):
                assert (await client.get(f"/v1/candidates/{story.id(1)}{path}")).status_code == 404
            for path in ("candidates", "proposals", "proposals/1"):
                assert (await client.get(f"/v1/runs/{RUN}/{path}")).status_code == 404
            own = await client.post(f"/v1/candidates/{story.id(1)}/evaluations")
            assert own.status_code == 404


class TestSources:
    async def test_a_source_never_changes_and_says_so(self, client: Client, story: Story) -> None:
        answer = await client.get(f"/v1/candidates/{story.id(1)}/source")
        program = story.programs[story.id(1)]
        assert answer.json()["files"] == [{"path": "program.py", "text": "x = 1\ny = 0\n"}]
        assert answer.headers["etag"] == f'"{program.id}"'
        assert "immutable" in answer.headers["cache-control"]
        again = await client.get(
            f"/v1/candidates/{story.id(1)}/source", headers={"If-None-Match": answer.headers["etag"]}
        )
        assert (again.status_code, again.content) == (304, b"")

    async def test_what_a_beginning_of_an_id_names_may_change(self, client: Client, story: Story) -> None:
        answer = await client.get(f"/v1/candidates/{story.id(1)[:20]}/source")
        assert answer.status_code == 200
        assert "immutable" not in answer.headers["cache-control"]

    @pytest.mark.parametrize(
        ("wish", "status", "content"),
        [
            ("bytes=0-0", 206, b"x"),
            ("bytes=4-", 206, b"1\ny = 0\n"),
            ("bytes=-2", 206, b"0\n"),
            ("bytes=0-999", 206, b"x = 1\ny = 0\n"),
            ("bytes=5-2", 200, b"x = 1\ny = 0\n"),
            ("lines=1-2", 200, b"x = 1\ny = 0\n"),
            ("bytes=-", 200, b"x = 1\ny = 0\n"),
            ("bytes=0-1,3-4", 200, b"x = 1\ny = 0\n"),
        ],
    )
    async def test_a_file_is_served_in_parts(
        self, client: Client, story: Story, wish: str, status: int, content: bytes
    ) -> None:
        answer = await client.get(f"/v1/candidates/{story.id(1)}/files/program.py", headers={"Range": wish})
        assert (answer.status_code, answer.content) == (status, content)
        assert answer.headers["content-type"] == "text/plain; charset=utf-8"

    @pytest.mark.parametrize("wish", ["bytes=12-", "bytes=-0", "bytes=999999999999999999-"])
    async def test_a_part_outside_the_file_is_refused(self, client: Client, story: Story, wish: str) -> None:
        answer = await client.get(f"/v1/candidates/{story.id(1)}/files/program.py", headers={"Range": wish})
        assert (answer.status_code, answer.json()["code"]) == (416, "range_invalid")
        assert answer.headers["content-range"] == "bytes */12"

    async def test_a_part_is_of_the_version_that_was_seen(self, client: Client, story: Story) -> None:
        path = f"/v1/candidates/{story.id(1)}/files/program.py"
        tag = (await client.head(path)).headers["etag"]
        same = await client.get(path, headers={"Range": "bytes=0-0", "If-Range": tag})
        other = await client.get(path, headers={"Range": "bytes=0-0", "If-Range": '"other"'})
        assert (same.status_code, other.status_code) == (206, 200)

    @pytest.mark.parametrize("path", ["other.py", "../program.py", "%00", "%ff", "a/b", ""])
    async def test_a_file_that_is_not_there_is_not_found(self, client: Client, story: Story, path: str) -> None:
        assert (await client.get(f"/v1/candidates/{story.id(1)}/files/{path}")).status_code == 404

    async def test_a_large_file_has_the_same_bytes_whole_and_in_parts(self, told: Told, client: Client) -> None:
        story = small_run(told, "run_0190aaaa0000000000000000000000aa")
        text = "x = 1\n" * 2000
        told.append([story.create(9, program=Program.of({"main.py": text}))])
        path = f"/v1/candidates/{story.id(9)}/files/main.py"
        half = len(text) // 2
        parts = [
            (await client.get(path, headers={"Range": wish})).content
            for wish in (f"bytes=0-{half - 1}", f"bytes={half}-")
        ]
        whole = await client.get(path, headers={"Accept-Encoding": "gzip"})
        assert b"".join(parts) == whole.content == text.encode()
        assert whole.headers["content-length"] == str(len(text))


class TestLineage:
    async def test_ancestors_lead_to_the_seed(self, client: Client, story: Story) -> None:
        answer = (await client.get(f"/v1/candidates/{story.id(3)}/lineage")).json()
        assert [item["id"] for item in answer["items"]] == [story.id(3), story.id(1), story.id(0)]
        assert answer["truncated"] is False

    async def test_descendants_are_cut_at_the_limit(self, client: Client, story: Story) -> None:
        path = f"/v1/candidates/{story.id(0)}/lineage?direction=descendants"
        assert len((await client.get(path)).json()["items"]) == 3
        cut = (await client.get(f"{path}&limit=2")).json()
        assert ([item["id"] for item in cut["items"]], cut["truncated"]) == ([story.id(1), story.id(2)], True)

    async def test_a_path_runs_down_whichever_end_is_named_first(self, client: Client, story: Story) -> None:
        expected = [story.id(0), story.id(1), story.id(3)]
        for start, end in ((0, 3), (3, 0)):
            answer = await client.get(f"/v1/candidates/{story.id(start)}/lineage?direction=path&to={story.id(end)}")
            assert [item["id"] for item in answer.json()["items"]] == expected
        apart = await client.get(f"/v1/candidates/{story.id(2)}/lineage?direction=path&to={story.id(3)}")
        assert apart.json()["items"] == []

    async def test_a_path_without_a_second_end_begins_at_the_seed(self, client: Client, story: Story) -> None:
        answer = (await client.get(f"/v1/candidates/{story.id(3)}/lineage?direction=path")).json()
        assert [item["id"] for item in answer["items"]] == [story.id(0), story.id(1), story.id(3)]


class TestDiff:
    async def test_a_program_is_compared_with_its_parent(self, client: Client, story: Story) -> None:
        diff = (await client.get(f"/v1/candidates/{story.id(1)}/diff")).json()
        assert (diff["against"], diff["added"], diff["removed"]) == (story.id(0), 1, 1)
        (change,) = diff["files"]
        assert "-x = 0\n+x = 1\n y = 0\n" in change["diff"]

    async def test_a_seed_is_compared_with_nothing(self, client: Client, story: Story) -> None:
        diff = (await client.get(f"/v1/candidates/{story.id(0)}/diff")).json()
        assert (diff["against"], diff["added"], diff["files"][0]["change"]) == (None, 2, "added")

    async def test_any_two_are_compared(self, client: Client, story: Story) -> None:
        diff = (await client.get(f"/v1/candidates/{story.id(3)}/diff?against={story.id(2)}")).json()
        assert "-x = 2\n+x = 3\n" in diff["files"][0]["diff"]
        same = (await client.get(f"/v1/candidates/{story.id(3)}/diff?against={story.id(3)}")).json()
        assert same["files"] == []

    async def test_files_with_too_many_lines_are_not_compared(self, told: Told, client: Client, story: Story) -> None:
        texts = ["".join(f"{salt}{line % 3}\n" for line in range(11_000)) for salt in "ab"]
        told.append([story.create(7, program=Program.of({"m.py": texts[0]}))])
        told.append([story.create(8, program=Program.of({"m.py": texts[1]}), parents=[(story.id(7), "parent")])])
        (change,) = (await client.get(f"/v1/candidates/{story.id(8)}/diff")).json()["files"]
        assert (change["diff"], change["added"], change["removed"]) == (None, None, None)


class TestReevaluationReply:
    async def test_a_candidate_of_an_ended_run_is_evaluated_again(
        self, told: Told, client: Client, story: Story
    ) -> None:
        path = f"/v1/candidates/{story.id(3)}/evaluations"
        early = await client.post(path)
        assert (early.status_code, early.json()["code"]) == (409, "conflict")
        told.append([story.tell(EventKind.RUN_FINISHED, reason="evaluations", candidate_id=None, fitness=None)])
        first, second = await client.post(path), await client.post(path)
        assert (first.status_code, first.json()["requested"], second.json()["requested"]) == (202, True, False)
        assert first.headers["location"] == path

    async def test_it_needs_the_scope_of_control(self, told: Told, story: Story) -> None:
        async with told.client(Scope.RUNS_READ, Scope.PROGRAMS_READ, Scope.RUNS_WRITE) as client:
            assert (await client.post(f"/v1/candidates/{story.id(3)}/evaluations")).status_code == 403
