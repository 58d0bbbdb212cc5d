"""A repository as a problem that is submitted over HTTP: its commit comes along, and its pages tell of it."""

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from service.client import calls
from tests.integration.client.served import Service
from tests.patience import PATIENCE_SECONDS
from tests.repositories import LIBRARY, make_problem, make_repository


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    started = Service(tmp_path)
    started.start()
    yield started
    started.stop()


def test_a_submitted_repository_is_searched_and_shown(service: Service, tmp_path: Path) -> None:
    commit = make_repository(tmp_path / "library")
    problem = make_problem(tmp_path / "problem")
    words = ("run", str(problem), "--evaluations", "8", *service.words())
    service.evolve.call(*words, "-q")
    with service.client() as client:
        (run,) = client.send(calls.list_runs()).items
        assert (run.state, run.reason) == ("succeeded", "evaluations")
        candidates = client.send(calls.list_candidates(run.id)).items
        seed = next(one for one in candidates if one.operator == "seed")
        child = next(one for one in candidates if one.operator != "seed" and one.program_id)
        assert seed.scores == {"size": len(LIBRARY["lib/core.py"])}
    with httpx.Client(base_url=service.url, timeout=PATIENCE_SECONDS, follow_redirects=True) as visitor:
        visitor.post("/sign-in", data={"key": service.key, "next": "/runs"}, headers={"Origin": service.url})
        for candidate in (seed, child):
            page = visitor.get(f"/candidates/{candidate.id}").text
            assert f'Changes of the commit <code class="id">{commit}</code>' in page
        assert "This is the commit as it is" in visitor.get(f"/candidates/{seed.id}/edit").text
        edit = visitor.get(f"/candidates/{child.id}/edit").text
        assert "lib/" in edit
        assert ".evolve/base" not in edit


def test_a_path_of_the_service_is_not_read_for_a_submitted_problem(service: Service, tmp_path: Path) -> None:
    make_repository(tmp_path / "library")
    text = (
        (make_problem(tmp_path / "problem") / "problem.toml")
        .read_text()
        .replace("../library", str(tmp_path / "library"))
    )
    answer = httpx.post(
        f"{service.url}/v1/problems",
        json={"files": {"problem.toml": text}},
        headers={"Authorization": f"Bearer {service.key}"},
        timeout=PATIENCE_SECONDS,
    )
    assert answer.status_code == 422
    assert "the commit of [repository] is not among the files of the problem" in answer.text
