"""The MCP server with the SDK's own client, over standard streams and over HTTP, on a real service."""

import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from service.ports import Scope
from tests.command_line import EVOLVE
from tests.e2e.evolving import SEED, Evolve, make_problem
from tests.integration.client.served import Service
from tests.patience import PATIENCE_SECONDS

FILES = ("problem.toml", "program.py", "evaluator.py")
TOOLS = {
    "check_problem", "start_run", "list_policies", "list_runs", "get_run", "watch_run", "pause_run", "resume_run",
    "cancel_run", "extend_run", "hint_run", "get_best", "list_candidates", "get_source", "get_lineage", "get_diff",
    "get_failures", "get_insights", "edit_insights", "insert_candidate", "ban_candidate", "lift_ban",
    "prioritize_candidate", "lift_priority", "get_settings", "change_settings", "list_changes",
}  # fmt: skip


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    made = Service(tmp_path_factory.mktemp("service"))
    made.start()
    yield made
    made.stop()


@pytest.fixture(scope="module")
def tools_url(service: Service) -> Iterator[str]:
    """`evolve mcp --http` for the service."""
    process = service.evolve.start("mcp", "--http", "--port", "0", "--server", service.url)
    assert process.stderr is not None
    line = process.stderr.readline()
    assert "tools for agents at " in line, line + process.communicate()[1]
    yield line.split("tools for agents at ")[1].split(",")[0]
    process.terminate()
    process.communicate(timeout=PATIENCE_SECONDS)
    assert process.returncode == 0


@asynccontextmanager
async def over_http(url: str, key: str) -> AsyncIterator[Client]:
    headers = {"Authorization": f"Bearer {key}"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=PATIENCE_SECONDS) as http,
        Client(streamable_http_client(url, http_client=http), read_timeout_seconds=PATIENCE_SECONDS) as client,
    ):
        yield client


@asynccontextmanager
async def over_stdio(evolve: Evolve, *words: str) -> AsyncIterator[Client]:
    server = StdioServerParameters(command=EVOLVE, args=["mcp", *words], env=dict(evolve.environment))
    async with Client(server, read_timeout_seconds=PATIENCE_SECONDS) as client:
        yield client


async def called(client: Client, tool: str, **words: Any) -> dict[str, Any]:
    told = await client.call_tool(tool, words)
    assert not told.is_error, told.content
    assert isinstance(told.structured_content, dict)
    return told.structured_content


async def refused(client: Client, tool: str, **words: Any) -> str:
    told = await client.call_tool(tool, words)
    assert told.is_error, told.structured_content
    return " ".join(getattr(part, "text", "") for part in told.content)


def files_of(folder: Path) -> dict[str, str]:
    return {name: (folder / name).read_text() for name in FILES}


async def test_an_agent_checks_starts_watches_and_reads_with_a_service_of_its_own(tmp_path: Path) -> None:
    folder = make_problem(tmp_path / "toy")
    async with over_stdio(Evolve(tmp_path)) as client:
        assert {tool.name for tool in (await client.list_tools()).tools} == TOOLS | {"apply_candidate"}
        check = await called(client, "check_problem", folder=str(folder))
        assert check["ok"]
        assert check["seeds"][0]["scores"] == {"value": 3.5}

        run = await called(client, "start_run", folder=str(folder), config={"budget": {"evaluations": 30}, "seed": 7})
        heard: list[tuple[float, float | None]] = []

        async def hear(progress: float, total: float | None, message: str | None) -> None:
            assert message
            heard.append((progress, total))

        told = await client.call_tool("watch_run", {"run_id": run["id"], "seconds": 600.0}, progress_callback=hear)
        ended = told.structured_content
        assert isinstance(ended, dict)
        assert ended["state"] == "succeeded"
        assert ended["ended"]
        assert heard[-1] == (30.0, 30.0)
        assert heard == sorted(heard)

        best = await called(client, "get_best", run_id=run["id"])
        assert best["fitness"] == ended["best_fitness"] > 3.5
        assert set(best["files"]) == {"program.py"}
        line = (await called(client, "get_lineage", candidate_id=best["id"]))["line"]
        assert line[0]["id"] == best["id"]
        assert line[-1]["operator"] == "seed"
        diff = await called(client, "get_diff", candidate_id=best["id"], against=line[-1]["id"])
        assert diff["added"] > 0
        source = await called(client, "get_source", candidate_id=line[-1]["id"])
        assert source["files"]["program.py"] == SEED
        program = folder / "program.py"
        shown = await called(client, "apply_candidate", run_id=run["id"], into=str(folder))
        assert (shown["files"], shown["written"], program.read_text()) == ([str(program)], False, SEED)
        assert shown["patch"].startswith("--- a/program.py\n+++ b/program.py\n")
        await called(client, "apply_candidate", run_id=run["id"], into=str(folder), write=True)
        assert program.read_text() == best["files"]["program.py"]
        program.write_text("changed = True\n")
        words = await refused(client, "apply_candidate", run_id=run["id"], into=str(folder))
        assert "program.py changed since the run began" in words
        assert "there is no file or folder" in await refused(client, "apply_candidate", run_id=run["id"], into="here")
        failures = await called(client, "get_failures", run_id=run["id"])
        assert failures["count"] == sum(group["count"] for group in failures["items"])
        candidates = (await called(client, "list_candidates", run_id=run["id"], limit=2))["candidates"]
        assert candidates[0]["fitness"] == best["fitness"]


async def test_an_agent_steers_a_run(service: Service, tools_url: str) -> None:
    async with over_http(tools_url, service.key) as client:
        run = await called(
            client, "start_run", files=files_of(service.folder), config={"budget": {"evaluations": 100_000}}
        )
        await called(client, "hint_run", run_id=run["id"], text="try a larger product", proposals=3)
        await called(client, "pause_run", run_id=run["id"])
        paused = await called(client, "watch_run", run_id=run["id"], seconds=600.0)
        assert paused["state"] == "paused"
        assert not paused["ended"]
        extended = await called(client, "extend_run", run_id=run["id"], budget={"evaluations": 200_000})
        assert extended["state"] == "paused"
        resumed = await called(client, "resume_run", run_id=run["id"])
        assert resumed["desired_state"] == "running"
        assert run["id"] in [one["id"] for one in (await called(client, "list_runs"))["runs"]]
        await called(client, "cancel_run", run_id=run["id"])
        ended = await called(client, "watch_run", run_id=run["id"], seconds=600.0)
        assert ended["state"] == "cancelled"


async def test_an_agent_changes_the_search_of_a_run_and_hears_the_decision(service: Service, tools_url: str) -> None:
    async with over_http(tools_url, service.key) as client:
        config = {"budget": {"evaluations": 100_000}, "islands": 2}
        run_id = (await called(client, "start_run", files=files_of(service.folder), config=config))["id"]

        async def decided(tool: str, **words: Any) -> str:
            told = await called(client, tool, run_id=run_id, **words)
            assert told["id"] == run_id
            return str(told["change"]["state"])

        assert await decided("hint_run", text="try a larger product", proposals=2, island=1) == "accepted"
        best = await called(client, "get_best", run_id=run_id)
        name = best["name"]
        program = SEED.replace("1.5", "4.75")
        assert await decided("insert_candidate", files={"program.py": program}, island=1) == "accepted"
        assert await decided("prioritize_candidate", candidate_id=name, proposals=5000) == "accepted"
        assert await decided("lift_priority", candidate_id=name) == "accepted"
        assert await decided("ban_candidate", candidate_id=name) == "accepted"
        assert await decided("lift_ban", candidate_id=name) == "accepted"
        assert await decided("change_settings", settings={"inspirations.top": 0}) == "accepted"
        assert (await called(client, "get_settings", run_id=run_id))["settings"]["inspirations.top"] == 0
        assert await decided("edit_insights", text="- larger numbers win") == "accepted"
        [version] = (await called(client, "get_insights", run_id=run_id))["items"]
        assert (version["text"], version["source"]) == ("- larger numbers win", "person")

        words = await refused(client, "ban_candidate", run_id=run_id, candidate_id="0.0", descendants=True)
        assert "the search refused the change: without cnd_" in words
        assert "give a number from 0 to 1" in await refused(
            client, "insert_candidate", run_id=run_id, files={"program.py": program}, island=2
        )
        changes = (await called(client, "list_changes", run_id=run_id))["items"]
        assert [one["kind"] for one in changes] == [
            "change.refused", "insights.written", "settings.changed", "ban.lifted", "candidate.banned",
            "priority.lifted", "priority.given", "program.inserted", "hint.given",
        ]  # fmt: skip
        await called(client, "pause_run", run_id=run_id)
        await called(client, "watch_run", run_id=run_id, seconds=600.0)
        assert await decided("hint_run", text="later") == "pending"
        await called(client, "cancel_run", run_id=run_id)


async def test_complaints_and_mistakes_come_back_as_words(service: Service, tools_url: str) -> None:
    async with over_http(tools_url, service.key) as client:
        broken = files_of(service.folder) | {"problem.toml": "schema = 1\n"}
        check = await called(client, "check_problem", files=broken)
        assert not check["ok"]
        assert any("seeds" in complaint for complaint in check["complaints"])
        unknown = await refused(client, "get_run", run_id="run_00000000")
        assert unknown.endswith("there is no run run_00000000: the tool list_runs lists them")
        assert "send their files" in await refused(client, "start_run", folder="examples/circle_packing")
        absent = await refused(client, "get_lineage", run_id="run_00000000")
        assert absent == "get_lineage cannot be called with these arguments: candidate_id: Field required"
        assert "budgett" in await refused(
            client, "start_run", files=files_of(service.folder), config={"budgett": {"evaluations": 1}}
        )


async def test_over_http_no_folder_of_the_server_can_be_named(service: Service, tools_url: str) -> None:
    async with over_http(tools_url, service.key) as client:
        (tool,) = [tool for tool in (await client.list_tools()).tools if tool.name == "check_problem"]
        assert set(tool.input_schema["properties"]) == {"files"}
        assert {tool.name for tool in (await client.list_tools()).tools} == TOOLS


async def test_a_key_has_its_scopes_and_its_tenant(service: Service, tools_url: str) -> None:
    with service.client() as operator:
        run = service.run(operator, 4)
    reading = service.key_with(Scope.RUNS_READ)
    other_file = service.home / "other"
    service.evolve.call("keys", "create", "other", "--tenant", "other", "-o", str(other_file))
    async with over_http(tools_url, reading) as client:
        assert (await called(client, "get_run", run_id=run.id))["id"] == run.id
        assert "runs:control" in await refused(client, "cancel_run", run_id=run.id)
        assert "runs:control" in await refused(client, "ban_candidate", run_id=run.id, candidate_id="0.0")
        assert "programs:read" in await refused(client, "list_changes", run_id=run.id)
    async with over_http(tools_url, other_file.read_text().strip()) as client:
        assert (await called(client, "list_runs"))["runs"] == []
        assert "no run" in await refused(client, "get_run", run_id=run.id)


@pytest.mark.parametrize("header", ["", "Bearer evk_wrong", "Basic YTpi"])
def test_without_a_key_of_the_service_nothing_answers(tools_url: str, header: str) -> None:
    answer = httpx2.post(tools_url, json={}, headers={"Authorization": header} if header else {})
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"] == "Bearer"


def test_the_command_ends_when_its_agent_leaves(tmp_path: Path) -> None:
    evolve = Evolve(tmp_path)
    process = subprocess.Popen(
        [EVOLVE, "mcp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=evolve.environment
    )
    out, err = process.communicate(b"", timeout=PATIENCE_SECONDS)
    assert (process.returncode, out) == (0, b""), err
