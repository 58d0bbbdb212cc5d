"""The form that starts runs, over the API that stands behind it, without a browser."""

import re
from collections.abc import AsyncIterator, Mapping
from pathlib import Path

import httpx
import pytest

from tests.api.conftest import FILES
from tests.api.told import Told, open_told
from tests.api.visiting import visitor

POLICIES = """
policies = [
  { name = "writer", base_url = "http://127.0.0.1:9/v1", model = "w" },
  { name = "judge", role = "critic", base_url = "http://127.0.0.1:9/v1", model = "j" },
  { name = "second", role = "critic", base_url = "http://127.0.0.1:9/v1", model = "s" },
  { name = "near", role = "embedder", base_url = "http://127.0.0.1:9/v1", model = "e" },
]
"""


@pytest.fixture
async def told(tmp_path: Path) -> AsyncIterator[Told]:
    file = tmp_path / "policies.toml"
    file.write_text(POLICIES)
    async with open_told(tmp_path, policies=file) as opened:
        yield opened


@pytest.fixture
async def browser(told: Told, problem: str) -> AsyncIterator[httpx.AsyncClient]:
    assert problem
    async with visitor(told) as client:
        yield client


def options(page: str, field: str) -> Mapping[str, bool]:
    """The values that a select offers, and whether each is chosen."""
    inside = page.partition(f'name="{field}"')[2].partition("</select>")[0]
    return {value: bool(rest) for value, rest in re.findall(r'<option value="([^"]*)"( selected)?>', inside)}


async def submit(browser: httpx.AsyncClient, problem: str, place: str = "/runs/new", **fields: str) -> httpx.Response:
    csrf = browser.cookies["evolve_csrf"]
    return await browser.post(place, data={"csrf": csrf, "source": "stored", "problem": problem} | fields)


def wrong(page: httpx.Response, field: str) -> str:
    """What the page says beside a field."""
    found = re.search(rf'data-complaint="{field}"( hidden)?>([^<]*)</p>', page.text)
    assert found
    return found[2]


async def test_the_form_offers_the_policies_of_each_role(browser: httpx.AsyncClient) -> None:
    page = (await browser.get("/runs/new")).text
    assert options(page, "critic") == {"": False, "judge": False, "second": False}
    assert options(page, "embedder") == {"": False, "near": False}
    assert {"judge", "second", "near"}.isdisjoint(options(page, "policy"))


async def test_a_run_has_the_critic_and_the_embedder_that_were_chosen(
    browser: httpx.AsyncClient, owner: httpx.AsyncClient, problem: str
) -> None:
    chosen = {"policy": "writer", "critic": "judge", "embedder": "near", "further": 'novelty.kind = "embedding"'}
    answer = await submit(browser, problem, **chosen)
    assert answer.status_code == 303, wrong(answer, "further")
    run_id = answer.headers["location"].rpartition("/")[2]
    run = (await owner.get(f"/v1/runs/{run_id}")).json()
    assert [(one["name"], one.get("role", "author")) for one in run["policies"]] == [
        ("writer", "author"),
        ("judge", "critic"),
        ("near", "embedder"),
    ]
    again = (await browser.get(f"/runs/new?from={run_id}")).text
    for field, value in {"policy": "writer", "critic": "judge", "embedder": "near"}.items():
        assert [name for name, held in options(again, field).items() if held] == [value]
    assert re.search(r"<details open>\s*<summary>Critic, advisor, embedder", again)
    assert (await submit(browser, "", f"/runs/{run_id}/fork", candidate="cnd_none")).status_code == 422
    named = await submit(browser, "", f"/runs/{run_id}/fork", candidate="48.0")
    assert (named.status_code, wrong(named, "candidate").startswith(f"run {run_id} has no candidate 48.0")) == (
        422,
        True,
    )
    assert f'href="/candidates/{run_id}.48.0"' in named.text
    ill_formed = await submit(browser, "", f"/runs/{run_id}/fork", candidate="4 8")
    assert (ill_formed.status_code, "wrong form (id or name of" in wrong(ill_formed, "candidate")) == (422, True)
    assert options((await browser.get(f"/runs/{run_id}/fork")).text, "critic").keys() == {"", "judge", "second"}


@pytest.mark.parametrize(
    ("fields", "field", "words"),
    [
        ({"critic": "judge"}, "policy", "choose a policy too"),
        ({"policy": "syntax", "critic": "judge"}, "critic", "nobody reads what the critic judge writes"),
        ({"policy": "writer", "embedder": "near"}, "embedder", "nothing asks for embeddings"),
        ({"policy": "writer", "further": 'novelty.kind = "embedding"'}, "embedder", "needs an embedder"),
        (
            {"policy": "writer", "further": "selection_options.objective_weights.nobody = 2"},
            "further",
            "has no objective",
        ),
        ({"policy": "writer", "critic": "absent"}, "policy", "there is no policy"),
        (
            {"policy": "=described", "policy_text": 'policies = ["writer", "second"]', "critic": "judge"},
            "critic",
            "both have the role critic",
        ),
    ],
)
async def test_what_does_not_go_together_is_said_beside_its_field(
    browser: httpx.AsyncClient, problem: str, fields: dict[str, str], field: str, words: str
) -> None:
    page = await submit(browser, problem, "/runs/new/check", **fields)
    assert words in wrong(page, field)
    assert [name for name, held in options(page.text, "critic").items() if held] == [
        name for name in [fields.get("critic", "")] if name in {"judge", "second"}
    ]


async def test_a_service_without_such_policies_says_so(tmp_path: Path) -> None:
    async with open_told(tmp_path) as told, told.client() as owner, visitor(told) as client:
        assert (await owner.post("/v1/problems", json={"files": FILES})).status_code == 201
        page = (await client.get("/runs/new")).text
    assert page.count("none: the service has none") == 3
