"""Problems over the API: submitted in versions, checked without being kept, downloaded, removed."""

import base64
import io
import tarfile
from typing import Any

import httpx
import pytest

from service.ports import Scope
from tests.api.conftest import FILES
from tests.api.told import Told


async def submit(client: httpx.AsyncClient, **files: str) -> httpx.Response:
    return await client.post(
        "/v1/problems", json={"files": FILES | {k.replace("__", "."): v for k, v in files.items()}}
    )


async def test_another_content_is_the_next_version_and_the_same_one_is_there(owner: httpx.AsyncClient) -> None:
    first, again = await submit(owner), await submit(owner)
    second = await submit(owner, notes__md="more")
    assert (first.status_code, first.json()["version"], first.json()["name"]) == (201, 1, "p")
    assert (again.json(), again.headers["Location"]) == (first.json(), first.headers["Location"])
    assert (second.json()["version"], second.json()["id"] == first.json()["id"]) == (2, False)
    for name, version in (("p", 2), ("p@1", 1), ("p@2", 2), (first.json()["id"], 1)):
        assert (await owner.get(f"/v1/problems/{name}")).json()["version"] == version
    listed = (await owner.get("/v1/problems", params={"name": "p"})).json()["items"]
    assert [one["version"] for one in listed] == [2, 1]
    assert (await owner.get("/v1/problems", params={"name": "q"})).json()["items"] == []


@pytest.mark.parametrize("place", ["/etc", "..", "~root"])
async def test_a_problem_that_names_a_folder_of_the_server_is_not_stored(owner: httpx.AsyncClient, place: str) -> None:
    files = FILES | {"problem.toml": f"{FILES['problem.toml']}[search.prompt]\ntemplate_dir = '{place}'\n"}
    answer = await owner.post("/v1/problems", json={"files": files})
    assert (answer.status_code, answer.json()["code"]) == (422, "problem_invalid")
    assert "lies outside of the problem's folder" in answer.json()["detail"]
    assert (await owner.get("/v1/problems")).json()["items"] == []
    checked = (await owner.post("/v1/problems/check", json={"files": files})).json()
    assert "lies outside of the problem's folder" in str(checked)


async def test_a_problem_says_what_its_files_say(owner: httpx.AsyncClient) -> None:
    problem = (await submit(owner)).json()
    assert [one["name"] for one in problem["document"]["objectives"]] == ["gain"]
    assert "warnings" not in problem["document"]
    assert (await owner.get(f"/v1/problems/{problem['id']}")).json() == problem


async def test_what_is_downloaded_is_what_was_submitted(told: Told, owner: httpx.AsyncClient) -> None:
    binary = bytes(range(256))
    body = {
        "files": FILES,
        "binary_files": {"data/raw.bin": base64.b64encode(binary).decode()},
        "executable": ["seed.py"],
    }
    problem = (await owner.post("/v1/problems", json=body)).json()
    answer = await owner.get(f"/v1/problems/{problem['id']}/bundle")
    assert answer.headers["Content-Type"] == "application/gzip"
    assert answer.headers["Content-Disposition"].startswith("attachment")
    with tarfile.open(fileobj=io.BytesIO(answer.content)) as folder:
        found = {one.name: (folder.extractfile(one) or io.BytesIO()).read() for one in folder if one.isfile()}
        assert folder.getmember("seed.py").mode & 0o100
        assert not folder.getmember("evaluator.py").mode & 0o111
    assert found == {name: text.encode() for name, text in FILES.items()} | {"data/raw.bin": binary}
    async with told.client(Scope.RUNS_READ) as reader:
        assert (await reader.get(f"/v1/problems/{problem['id']}/bundle")).status_code == 403


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"files": {"a.txt": "x"}}, "problem_invalid"),
        ({"files": FILES | {"problem.toml": "schema = 1\n[search]\niland = 3\n"}}, "problem_invalid"),
        ({"files": FILES | {"problem.toml": "= ="}}, "problem_invalid"),
        ({"files": FILES | {"../evil.py": "x"}}, "problem_invalid"),
        ({"files": FILES | {"/etc/evil": "x"}}, "problem_invalid"),
        ({"files": FILES | {"a": "x", "a/b": "y"}}, "problem_invalid"),
        ({"files": FILES, "name": "a@1"}, "problem_invalid"),
        ({"files": FILES, "name": ""}, "invalid_request"),
        ({"files": FILES, "name": " \t"}, "invalid_request"),
        ({"files": {}}, "invalid_request"),
        ({"files": FILES, "binary_files": {"a": "no base64!"}}, "invalid_request"),
        ({"files": FILES, "binary_files": {"a": "YQ"}}, "invalid_request"),
        ({"files": FILES, "binary_files": {"seed.py": "YQ=="}}, "invalid_request"),
        ({"files": FILES | {"": "x"}}, "invalid_request"),
        ({"files": FILES | {"x" * 1001: "x"}}, "invalid_request"),
    ],
)
async def test_what_is_no_problem_is_not_kept(owner: httpx.AsyncClient, body: Any, code: str) -> None:
    answer = await owner.post("/v1/problems", json=body)
    assert (answer.status_code, answer.json()["code"]) == (422, code), answer.text
    assert (await owner.get("/v1/problems")).json()["items"] == []


async def test_every_complaint_is_told(owner: httpx.AsyncClient) -> None:
    body = {"files": FILES | {"problem.toml": 'schema = 1\nseeds = ["absent.py"]\nlanguge = "x"\n'}}
    errors = (await owner.post("/v1/problems", json=body)).json()["errors"]
    assert len(errors) > 1
    assert {one["code"] for one in errors} == {"problem_invalid"}


async def test_a_check_tells_everything_and_keeps_nothing(owner: httpx.AsyncClient) -> None:
    bad = (await owner.post("/v1/problems/check", json={"files": {"a.txt": "x"}, "name": "n"})).json()
    assert (bad["ok"], bad["name"], bad["seeds"]) == (False, "n", [])
    assert bad["complaints"]
    assert (await owner.get("/v1/problems")).json()["items"] == []


async def test_a_check_that_only_reads_runs_no_seed(owner: httpx.AsyncClient) -> None:
    bad = (await owner.post("/v1/problems/check?seeds=false", json={"files": FILES | {"problem.toml": "= ="}})).json()
    assert (bad["ok"], len(bad["complaints"])) == (False, 1)
    good = (await owner.post("/v1/problems/check?seeds=false", json={"files": FILES})).json()
    assert (good["ok"], good["name"], good["seeds"], good["complaints"]) == (True, "p", [], [])
    assert [one["name"] for one in good["document"]["objectives"]] == ["gain"]
    assert "warnings" not in good["document"]
    assert (await owner.get("/v1/problems")).json()["items"] == []


async def test_a_problem_with_runs_stays(told: Told, owner: httpx.AsyncClient, problem: str) -> None:
    run = (await owner.post("/v1/runs", json={"problem": "p"})).json()
    answer = await owner.delete(f"/v1/problems/{problem}")
    assert (answer.status_code, answer.json()["code"]) == (409, "conflict")
    assert (await owner.delete(run["urls"]["self"])).status_code == 202
    answer = await owner.delete(f"/v1/problems/{problem}")
    assert (answer.status_code, "are being deleted: try again later" in answer.json()["detail"]) == (409, True)
    while told.parts.deletions.advance():
        pass
    assert (await owner.delete(f"/v1/problems/{problem}")).status_code == 204
    for method in ("GET", "DELETE"):
        assert (await owner.request(method, f"/v1/problems/{problem}")).status_code == 404


async def test_two_tenants_have_problems_of_one_name(told: Told, owner: httpx.AsyncClient, problem: str) -> None:
    async with told.client(tenant="other") as foreign:
        theirs = (await submit(foreign)).json()
        assert (theirs["version"], theirs["id"] == problem) == (1, False)
        assert (await foreign.get(f"/v1/problems/{problem}")).status_code == 404
        assert (await foreign.delete(f"/v1/problems/{problem}")).status_code == 404


async def test_a_walk_sees_every_version_once_while_others_are_added(owner: httpx.AsyncClient) -> None:
    there = [(await submit(owner, notes__md=str(n))).json()["id"] for n in range(5)]
    seen: list[str] = []
    cursor: str | None = ""
    while cursor is not None:
        page = (await owner.get("/v1/problems", params={"limit": 2, "cursor": cursor})).json()
        seen += [one["id"] for one in page["items"]]
        cursor = page["next_cursor"]
        await submit(owner, notes__md=f"later {len(seen)}")
    assert seen == there[::-1]
