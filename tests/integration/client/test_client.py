"""The client against a real service."""

import itertools
import logging
import threading
from collections.abc import Callable
from typing import Any

import pytest

from evolve.errors import ConfigurationError
from service.client import Client, calls
from service.errors import (
    ConflictError,
    InvalidProblemError,
    NotFoundError,
    RefusedError,
    UnreachableError,
    UsageError,
)
from service.net.retry import Backoff
from service.ports import Scope
from service.schemas.problems import ProblemCreate
from service.schemas.runs import Budget, BudgetExtension, Run, RunCreate, RunPatch
from tests.integration.client.served import Service

AT_ONCE = Backoff(attempts=1)


def test_a_run_is_submitted_followed_and_read(service: Service, client: Client) -> None:
    run = service.run(client)
    events = list(client.stream(run.id))
    assert [event["sequence"] for event in events] == list(range(1, len(events) + 1))
    assert events[-1]["kind"] == "run.finished"
    after = client.send(calls.get_run(run.id))
    assert (after.state, after.reason, after.progress.evaluated) == ("succeeded", "evaluations", 20)
    assert after.sequence == len(events)


def test_a_stream_begins_where_it_is_told_to(client: Client, ended: Run) -> None:
    whole = list(client.stream(ended.id))
    assert list(client.stream(ended.id, after=whole[-3]["sequence"])) == whole[-2:]
    assert [event["kind"] for event in client.stream(ended.id, kinds=["run.started", "run.finished"])] == [
        "run.started",
        "run.finished",
    ]


def test_pages_hold_every_item_once(client: Client, ended: Run) -> None:
    pages = list(client.pages(calls.list_candidates(ended.id, limit=7)))
    whole = client.send(calls.list_candidates(ended.id, limit=200))
    assert len(pages) > 2
    assert [item.id for page in pages for item in page.items] == [item.id for item in whole.items]


def test_lines_come_whole(client: Client, ended: Run) -> None:
    lines = list(client.lines(calls.export_run(ended.id)))
    assert "".join(lines).encode() == client.send(calls.export_run(ended.id))
    assert all(line.startswith("{") and line.endswith("}\n") for line in lines)


async def test_the_asynchronous_client_gives_the_same(service: Service, client: Client, ended: Run) -> None:
    async with service.async_client() as other:
        assert await other.send(calls.get_run(ended.id)) == client.send(calls.get_run(ended.id))
        assert [event async for event in other.stream(ended.id)] == list(client.stream(ended.id))
        pages = [page async for page in other.pages(calls.list_candidates(ended.id, limit=9))]
        assert pages == list(client.pages(calls.list_candidates(ended.id, limit=9)))
        with pytest.raises(NotFoundError):
            await other.send(calls.get_run("run_ffffffff"))


REFUSED: list[tuple[type[Exception], Callable[[str], Any]]] = [
    (NotFoundError, lambda _: calls.get_run("run_ffffffff")),
    (NotFoundError, lambda _: calls.get_candidate("cnd_ffffffff")),
    (ConflictError, calls.pause_run),
    (ConflictError, lambda run: calls.extend_run(run, BudgetExtension(budget=Budget(evaluations=1)))),
    (ConfigurationError, lambda _: calls.create_run(RunCreate(problem="toy", config={"islnds": 2}))),
    (NotFoundError, lambda _: calls.create_run(RunCreate(problem="nobodys"))),
    (UsageError, lambda _: calls.list_runs(states=["UPPER"])),
    (UsageError, lambda run: calls.list_candidates(run).at("nonsense")),
    (InvalidProblemError, lambda _: calls.create_problem(ProblemCreate(files={"readme": "nothing"}))),
]


@pytest.mark.parametrize(("kind", "make"), REFUSED)
def test_errors_are_those_of_the_service(
    client: Client, ended: Run, kind: type[Exception], make: Callable[[str], Any]
) -> None:
    with pytest.raises(kind) as caught:
        client.send(make(ended.id))
    assert type(caught.value) is kind
    assert "\n" not in str(caught.value)


def test_every_complaint_about_a_problem_comes_back(client: Client) -> None:
    files = {"../up.py": "", "/absolute.py": "", "problem.toml": "schema = 1"}
    with pytest.raises(InvalidProblemError) as caught:
        client.send(calls.create_problem(ProblemCreate(files=files)))
    report = client.send(calls.check_problem(ProblemCreate(files=files)))
    assert len(caught.value.complaints) > 1
    assert list(caught.value.complaints) == report.complaints


def test_a_change_of_what_was_changed_meanwhile_is_refused(client: Client, ended: Run) -> None:
    with pytest.raises(ConflictError):
        client.send(calls.update_run(ended.id, RunPatch(labels={}), tag='"999.999"'))


def test_wrong_keys_are_refused(service: Service) -> None:
    for key in ("evo_nobodys", service.key[:-1] + ("a" if service.key[-1] != "a" else "b")):
        with Client(service.url, key) as stranger:
            with pytest.raises(RefusedError):
                stranger.send(calls.list_runs())
            with pytest.raises(RefusedError):
                next(stranger.stream("run_ffffffff"))
    less = service.key_with(Scope.RUNS_READ)
    with Client(service.url, less) as reader:
        assert reader.send(calls.list_runs()).items is not None
        with pytest.raises(RefusedError, match="runs:write"):
            reader.send(calls.create_run(RunCreate(problem="toy")))


def test_the_key_is_never_shown(service: Service, client: Client, caplog: pytest.LogCaptureFixture, ended: Run) -> None:
    shown = [repr(client), str(client), repr(vars(client)), repr(client._http.auth), repr(client._http.headers)]
    with caplog.at_level(logging.DEBUG):
        client.send(calls.get_run(ended.id))
        with pytest.raises(NotFoundError) as caught:
            client.send(calls.get_run("run_ffffffff"))
        with (
            Client("http://127.0.0.1:9", service.key, backoff=AT_ONCE) as nobody,
            pytest.raises(UnreachableError) as away,
        ):
            nobody.send(calls.get_run(ended.id))
    shown += [caplog.text, repr(caught.value), repr(away.value), repr(away.value.__cause__)]
    assert not [text for text in shown if service.key in text or service.key[4:] in text]


def test_a_run_is_not_begun_twice_by_a_request_that_is_sent_twice(service: Service, client: Client) -> None:
    problem = client.send(calls.create_problem(service.problem()))
    call = calls.create_run(RunCreate(problem=problem.id, config={"budget": {"evaluations": 5}}))
    request = client._wire.request(call, {"Idempotency-Key": "once-and-for-all"})
    first, second = client._http.send(request), client._http.send(request)
    assert first.json()["id"] == second.json()["id"]
    assert second.headers["Idempotency-Replayed"] == "true"


@pytest.fixture
def own(tmp_path_factory: pytest.TempPathFactory) -> Any:
    made = Service(tmp_path_factory.mktemp("own"))
    made.start()
    yield made
    made.stop()


def test_a_stream_goes_on_over_a_killed_and_restarted_service(own: Service) -> None:
    broken: list[Exception] = []
    with own.client() as client:
        run = own.run(client, 400)
        stream = client.stream(run.id, notice=broken.append)
        seen = list(itertools.islice(stream, 60))
        own.kill()
        starting = threading.Thread(target=own.start)
        starting.start()
        seen += stream
        starting.join()
        assert [event["sequence"] for event in seen] == list(range(1, len(seen) + 1))
        assert seen[-1]["kind"] == "run.finished"
        assert client.send(calls.get_run(run.id)).sequence == len(seen)
    assert broken
    assert all(isinstance(error, UnreachableError) for error in broken)


def test_a_service_that_stays_away_ends_a_stream(own: Service) -> None:
    with own.client(backoff=Backoff(attempts=2, first_seconds=0.01, max_seconds=0.02)) as client:
        run = own.run(client, 100_000)
        stream = client.stream(run.id, patience_seconds=0.3)
        next(stream)
        own.kill()
        with pytest.raises(UnreachableError, match=own.url):
            list(stream)
