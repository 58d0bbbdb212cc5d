"""How a run was set up: its problem, objectives, evaluator and policies, and where its configuration differs."""

import asyncio
import io
import json
import tarfile
import tomllib
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response

from service.client import calls
from service.dashboard.loading import RunPageRoute
from service.dashboard.pages import may
from service.dashboard.run_page import ENDED, RunId, render_run
from service.dashboard.session import Api
from service.dashboard.source import MAX_FILES, shown_files
from service.dashboard.views.candidate import if_any
from service.dashboard.views.submit_choices import asked_for_nothing
from service.dashboard.views.submit_fields import DEFAULTS, flat
from service.dashboard.views.submit_problem import DOCUMENT
from service.schemas.key_descriptions import CONFIGURATION_KEYS
from service.schemas.problems import Problem
from service.schemas.run_settings import RunSettings
from service.schemas.runs import Run

# So much of a problem's folder is unpacked to be shown.
MAX_UNPACKED = 2_000_000
POLICY_KEYS = ("name", "role", "kind", "model", "url")
_LATE = 9  # what `_order` gives a file that is neither document nor evaluator
router = APIRouter(prefix="/runs/{run_id}/setup", route_class=RunPageRoute, include_in_schema=False)
Files = list[tuple[str, str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfiguredKey:
    """A key of the configuration that has another value than its default.

    Attributes:
        origin: `run` or `problem`: who set it.
        about: the sentence of the reference; empty: none.
    """

    key: str
    value: str
    default: str
    origin: str
    about: str


@router.get("")
async def show_setup(request: Request, run_id: RunId, api: Api) -> Response:
    """Show what a run was asked to do."""
    run = await api.send(calls.get_run(run_id))
    problem = await if_any(api, calls.get_problem(run.problem_id))
    bundle = await if_any(api, calls.download_problem(run.problem_id))
    seeds = await if_any(api, calls.list_candidates(run.id, proposal_number=0, limit=1))
    settings = await if_any(api, calls.get_settings(run.id))
    texts = await asyncio.to_thread(texts_of, bundle or b"")
    return await render_run(
        request,
        api,
        run,
        "setup.html",
        "setup",
        problem=problem,
        document=(problem.document if problem else {}) or written(texts),
        changed=changed_keys(run, problem),
        defaults=sorted(set(DEFAULTS) - {one for one, _ in _differences(run)}),
        policies=[policy_rows(one) for one in run.policies],
        files=await asyncio.to_thread(shown_files, texts),
        files_left_out=max(0, len(texts) - MAX_FILES),
        seed_id=seeds.items[0].id if seeds and seeds.items else None,
        settings=setting_rows(settings, run),
        may_change=run.state not in ENDED and may(request, "runs:control"),
    )


def changed_keys(run: Run, problem: Problem | None) -> list[ConfiguredKey]:
    """Keys of the run's configuration that differ from their defaults, in the order of the configuration."""
    base = asked_for_nothing(problem) if problem else DEFAULTS
    return [
        ConfiguredKey(
            key=key,
            value=_words(value),
            default=_words(DEFAULTS[key]) if key in DEFAULTS else "not set",
            origin="problem" if key in base and base[key] == value else "run",
            about=CONFIGURATION_KEYS.get(key, ""),
        )
        for key, value in _differences(run)
    ]


def setting_rows(found: RunSettings | None, run: Run) -> list[tuple[str, str, bool]]:
    """The settings that may change while the run is active: key, value, and whether a person changed it."""
    held = flat(run.config)
    return [
        (key, _words(value), not key.startswith("policies.") and value != held.get(key))
        for key, value in (found.settings if found else {}).items()
    ]


def _differences(run: Run) -> Iterator[tuple[str, Any]]:
    for key, value in flat(run.config).items():
        if value != DEFAULTS.get(key):
            yield key, value


def policy_rows(policy: Mapping[str, Any]) -> dict[str, str]:
    """A policy as names and words: what it is first, then its options that are set."""
    first = [key for key in POLICY_KEYS if policy.get(key) not in (None, "")]
    others = [key for key, value in policy.items() if key not in POLICY_KEYS and value not in (None, "", [], {})]
    return {key: _words(policy[key]) for key in (*first, *others)}


def _words(value: Any) -> str:
    if value is None:
        return "no limit"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def texts_of(bundle: bytes) -> Files:
    """The text files of a problem's folder: document and evaluator first. What is too large to show is cut off."""
    try:
        content = zlib.decompressobj(wbits=31).decompress(bundle, MAX_UNPACKED) if bundle else b""
    except zlib.error:
        return []
    return sorted(_texts(content), key=lambda file: (_order(file[0]), file[0]))


def written(texts: Files) -> dict[str, Any]:
    """The document in a problem's folder; empty: it has none that can be read."""
    try:
        return tomllib.loads(dict(texts).get(DOCUMENT, ""))
    except tomllib.TOMLDecodeError:
        return {}


def _texts(content: bytes) -> Iterator[tuple[str, str]]:
    try:
        with tarfile.open(fileobj=io.BytesIO(content), mode="r:") as tar:
            for entry in tar:
                file = tar.extractfile(entry) if entry.isreg() else None
                data = file.read() if file else b"\0"
                if b"\0" not in data:
                    yield entry.name, data.decode("utf-8", "replace")
    except tarfile.TarError:  # cut off, or no folder
        return


def _order(path: str) -> int:
    name = path.rpartition("/")[2]
    return 0 if name == DOCUMENT else 1 if name.startswith("evaluat") else _LATE
