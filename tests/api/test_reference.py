"""The reference of the API at /docs: complete, open to everybody, and drawn without a script or another site."""

import re
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from service.api.app import document, routes_of
from service.dashboard.app import add_dashboard
from service.dashboard.views.reference import inline
from tests.api.told import open_told


@pytest.fixture
async def page(tmp_path: Path) -> AsyncIterator[httpx.Response]:
    """What somebody without a key is shown."""
    async with open_told(tmp_path) as told:
        add_dashboard(told.app)
        async with httpx.AsyncClient(transport=httpx.ASGITransport(told.app), base_url="http://api") as stranger:
            yield await stranger.get("/docs")


async def test_it_shows_every_operation_and_schema_and_its_links_lead_somewhere(page: httpx.Response) -> None:
    assert page.status_code == 200
    places = set(re.findall(r'id="([^"]+)"', page.text))
    assert {str(route.operation_id) for route in routes_of()} <= places
    assert {f"schema-{name}" for name in document()["components"]["schemas"]} <= places
    assert set(re.findall(r'href="#([^"]+)"', page.text)) <= places


async def test_it_needs_no_other_site_and_no_inline_script_or_style(page: httpx.Response) -> None:
    assert "'unsafe" not in page.headers["Content-Security-Policy"]
    assert all(address.startswith("/") for address in re.findall(r'(?:src|action)="([^"]+)"', page.text))
    assert not re.search(r"<style|\sstyle=|<script(?! src)|\son[a-z]+=", page.text)


def test_texts_of_the_document_are_no_markup() -> None:
    assert inline("<b> `<i>`") == "&lt;b&gt; <code>&lt;i&gt;</code>"
