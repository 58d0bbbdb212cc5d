"""A reader of a service gives what a reader of its database gives."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from service.bootstrap.storage import open_reader
from service.client import Client
from service.client.reader import RemoteRunReader
from service.config import load_settings
from service.errors import NotFoundError
from service.ports import ResultReader, RunReader
from service.projections.candidates import every_candidate
from service.schemas.runs import Run
from tests.integration.client.served import Service


@pytest.fixture
def stored(service: Service) -> Iterator[RunReader]:
    with open_reader(load_settings(), service.evolve.url) as reader:
        yield reader


@pytest.fixture
def remote(client: Client) -> ResultReader:
    return RemoteRunReader(client)


def test_runs_are_the_same(remote: ResultReader, stored: RunReader, ended: Run) -> None:
    ours = replace(stored.run(ended.id), tenant="", revision=1)
    assert remote.run(ended.id) == ours
    assert remote.run(ended.id[:17]) == ours
    assert ours in remote.runs()
    assert [run.id for run in remote.runs(limit=1)] == [run.id for run in stored.runs(limit=1)]


def test_candidates_are_the_same_however_they_are_walked(
    remote: ResultReader, stored: RunReader, ended: Run, client: Client
) -> None:
    ours = list(every_candidate(stored, ended.id))
    assert list(every_candidate(remote, ended.id)) == ours
    walked, after = [], (-1, -1)
    while page := remote.candidates(ended.id, after, limit=6):
        assert len(page) <= 6
        walked += page
        after = page[-1].proposal_number, page[-1].position
    assert walked == ours
    middle = ours[len(ours) // 2]
    fresh = RemoteRunReader(client)  # which has read no page before
    assert (
        fresh.candidates(ended.id, (middle.proposal_number, middle.position), limit=1000) == ours[len(ours) // 2 + 1 :]
    )
    assert [remote.candidate(one.id) for one in ours[:3]] == ours[:3]
    assert remote.best(ended.id, limit=5) == stored.best(ended.id, limit=5)


def test_lineages_programs_and_proposals_are_the_same(remote: ResultReader, stored: RunReader, ended: Run) -> None:
    assert ended.best_candidate_id is not None
    assert remote.ancestors(ended.best_candidate_id) == stored.ancestors(ended.best_candidate_id)
    assert remote.program(ended.best_candidate_id) == stored.program(ended.best_candidate_id)
    assert remote.proposal(ended.id, 1) == stored.proposal(ended.id, 1)


def test_what_is_not_there_is_not_found(remote: ResultReader) -> None:
    for read in (remote.run, remote.candidate, remote.program, remote.ancestors, remote.candidates):
        with pytest.raises(NotFoundError):
            read("run_ffffffff")
