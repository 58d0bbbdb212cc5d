"""The documentation site at /docs/guide/: open to everybody, nothing beside its files, and no other site needed."""

import base64
import hashlib
import os
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from service.dashboard.app import add_dashboard
from service.dashboard.views.documentation import content_policy
from tests.api.told import open_told

SCRIPT = "let one = 1;"
PAGE = f'<!doctype html><script>{SCRIPT}</script><script src="a.js"></script><title>Guide</title>'


@pytest.fixture
def site(tmp_path: Path) -> Path:
    folder = tmp_path / "site"
    (folder / "how-to").mkdir(parents=True)
    (folder / "index.html").write_text(PAGE)
    (folder / "how-to" / "index.html").write_text("<title>How to</title>")
    (folder / "how-to" / "vote.md").write_text("# Vote")
    (folder / "llms.txt").write_text("# Evolve")
    (folder / "a.js").write_text("let two = 2;")
    (tmp_path / "secret.txt").write_text("not of the site")
    return folder


@pytest.fixture
async def stranger(site: Path, tmp_path: Path) -> AsyncIterator[httpx.AsyncClient]:
    """Somebody without a key."""
    async with open_told(tmp_path) as told:
        add_dashboard(told.app, documentation=site)
        async with httpx.AsyncClient(transport=httpx.ASGITransport(told.app), base_url="http://api") as client:
            yield client


async def test_its_files_are_served_to_anybody(stranger: httpx.AsyncClient) -> None:
    assert (await stranger.get("/docs/guide")).headers["Location"] == "/docs/guide/"
    index, page, script = [await stranger.get(f"/docs/guide/{name}") for name in ("", "how-to/", "a.js")]
    assert (index.text, page.text, script.text) == (PAGE, "<title>How to</title>", "let two = 2;")
    assert script.headers["Content-Type"].startswith("text/javascript")


async def test_language_models_read_markdown(stranger: httpx.AsyncClient) -> None:
    page = await stranger.get("/docs/guide/how-to/vote.md")
    assert page.headers["Content-Type"].startswith("text/markdown")
    assert page.text == "# Vote"
    index = await stranger.get("/llms.txt", follow_redirects=True)
    assert (index.url.path, index.text) == ("/docs/guide/llms.txt", "# Evolve")


async def test_the_reference_of_the_api_stays_at_docs(stranger: httpx.AsyncClient) -> None:
    page = await stranger.get("/docs")
    assert page.status_code == 200
    assert 'id="schema-Problem"' in page.text


@pytest.mark.parametrize(
    "name",
    ["../secret.txt", "%2e%2e/secret.txt", "..%2fsecret.txt", "/etc/hostname", "how-to", "x" * 5000, "%00", "a.js/"],
)
async def test_nothing_else_is_served(stranger: httpx.AsyncClient, name: str) -> None:
    answer = await stranger.get(f"/docs/guide/{name}")
    assert answer.status_code == 404
    assert "not of the site" not in answer.text


async def test_scripts_of_a_page_run_by_their_hashes_and_no_other_one_does(stranger: httpx.AsyncClient) -> None:
    policy = (await stranger.get("/docs/guide/")).headers["Content-Security-Policy"]
    digest = base64.b64encode(hashlib.sha256(SCRIPT.encode()).digest()).decode()
    assert f"script-src 'self' 'sha256-{digest}';" in policy
    assert "unsafe" not in policy
    assert "sha256" not in content_policy("<title>none</title>")


async def test_a_site_that_is_built_again_is_served_as_it_is_now(stranger: httpx.AsyncClient, site: Path) -> None:
    assert (await stranger.get("/docs/guide/new.html")).status_code == 404
    (site / "new.html").write_text("new")
    os.utime(site / "index.html", ns=(1, 1))
    assert (await stranger.get("/docs/guide/new.html")).text == "new"


async def test_pages_link_to_it_where_it_is(stranger: httpx.AsyncClient, site: Path) -> None:
    assert '<a href="/docs/guide/">' in (await stranger.get("/docs")).text
    (site / "index.html").unlink()
    assert '<a href="/docs/guide/">' not in (await stranger.get("/docs")).text
    answer = await stranger.get("/docs/guide/")
    assert answer.status_code == 404
    assert "make docs" in answer.text
