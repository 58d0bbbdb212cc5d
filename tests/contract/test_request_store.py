"""What every Requests holds: a request has its effect once."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from threading import Event

import pytest

from service.db.audit import SqlAuditLog
from service.db.engine import Database, open_database
from service.db.requests import SqlRequests
from service.errors import ConflictError, KeyReusedError, ServiceError, StorageAwayError
from service.ports import AuditEntry, Requests, StoredResponse
from tests.contract.story import START

ANSWER = StoredResponse(status=201, headers={"Location": "/v1/runs/run_1"}, body=b'{"id":"run_1"}\x00\xff')
DAY = timedelta(hours=24)


@pytest.fixture
def requests(database: Database) -> Requests:
    return SqlRequests(database)


def answered(database: Database, requests: Requests, key: str = "k", request_hash: str = "h") -> None:
    with database.unit():
        assert requests.begin("key_1", key, request_hash, START) is None
        requests.finish("key_1", key, ANSWER)


def test_a_request_is_answered_as_the_first_time(database: Database, requests: Requests) -> None:
    answered(database, requests)
    with database.unit():
        assert requests.begin("key_1", "k", "h", START + DAY - timedelta(seconds=1)) == ANSWER


def test_a_key_is_of_one_actor(database: Database, requests: Requests) -> None:
    answered(database, requests)
    with database.unit():
        assert requests.begin("key_2", "k", "other", START) is None


def test_a_key_is_of_one_request(database: Database, requests: Requests) -> None:
    answered(database, requests)
    with pytest.raises(KeyReusedError), database.unit():
        requests.begin("key_1", "k", "other", START)


@pytest.mark.parametrize("request_hash", ["h", "other"])
def test_a_key_is_forgotten_after_a_day(database: Database, requests: Requests, request_hash: str) -> None:
    answered(database, requests)
    second = StoredResponse(status=202, headers={}, body=b"")
    with database.unit():
        assert requests.begin("key_1", "k", request_hash, START + DAY) is None
        requests.finish("key_1", "k", second)
    with database.unit():
        assert requests.begin("key_1", "k", request_hash, START + DAY) == second


def test_a_request_that_failed_leaves_no_key(database: Database, requests: Requests) -> None:
    def fail() -> None:
        with database.unit():
            requests.begin("key_1", "k", "h", START)
            SqlAuditLog(database).write(entry())
            raise ServiceError("no")

    with pytest.raises(ServiceError, match="no"):
        fail()
    answered(database, requests, request_hash="another")
    assert SqlAuditLog(database).entries("lab") == []


def test_an_effect_is_there_with_its_answer(database: Database, requests: Requests) -> None:
    with database.unit():
        requests.begin("key_1", "k", "h", START)
        SqlAuditLog(database).write(entry())
        requests.finish("key_1", "k", ANSWER)
    assert SqlAuditLog(database).entries("lab") == [entry()]


def test_a_claim_without_an_answer_is_at_work(database: Database, requests: Requests) -> None:
    with database.unit():
        requests.begin("key_1", "k", "h", START)
    with pytest.raises(ConflictError, match="still at work") as caught, database.unit():
        requests.begin("key_1", "k", "h", START)
    assert not isinstance(caught.value, KeyReusedError)


def test_an_answer_needs_a_claim(requests: Requests) -> None:
    with pytest.raises(ConflictError, match="not claimed"):
        requests.finish("key_1", "k", ANSWER)


def test_whoever_comes_meanwhile_waits_and_is_given_the_answer(database: Database, requests: Requests) -> None:
    begun = Event()

    def repeat() -> StoredResponse | None:
        begun.set()
        with database.unit():
            return requests.begin("key_1", "k", "h", START)

    with ThreadPoolExecutor(1) as pool:
        with database.unit():
            requests.begin("key_1", "k", "h", START)
            repeated = pool.submit(repeat)
            begun.wait()
            requests.finish("key_1", "k", ANSWER)
        assert repeated.result() == ANSWER


def test_whoever_waits_too_long_is_told(database_url: str, database: Database, requests: Requests) -> None:
    hasty = open_database(database_url, lock_seconds=0.05)

    def repeat() -> None:
        with hasty.unit():
            SqlRequests(hasty).begin("key_1", "k", "h", START)

    with ThreadPoolExecutor(1) as pool, database.unit():
        requests.begin("key_1", "k", "h", START)
        # One writer at a time has the whole of SQLite: there the unit itself is what waits.
        with pytest.raises((ConflictError, StorageAwayError), match=r"still at work|locked"):
            pool.submit(repeat).result()
    hasty.close()


def test_of_many_at_once_one_has_the_effect(database: Database, requests: Requests) -> None:
    def ask(number: int) -> bool:
        with database.unit():
            if requests.begin("key_1", "k", "h", START) is not None:
                return False
            SqlAuditLog(database).write(entry(f"aud_{number}"))
            requests.finish("key_1", "k", ANSWER)
            return True

    with ThreadPoolExecutor(4) as pool:
        assert sorted(pool.map(ask, range(8))) == [False] * 7 + [True]
    assert len(SqlAuditLog(database).entries("lab")) == 1


def test_of_many_who_replace_an_old_one_one_has_the_effect(database: Database, requests: Requests) -> None:
    answered(database, requests)

    def ask(_: int) -> bool:
        with database.unit():
            if requests.begin("key_1", "k", "h", START + DAY) is not None:
                return False
            requests.finish("key_1", "k", ANSWER)
            return True

    with ThreadPoolExecutor(4) as pool:
        assert sum(pool.map(ask, range(8))) == 1


def entry(entry_id: str = "aud_1") -> AuditEntry:
    return AuditEntry(
        id=entry_id,
        tenant="lab",
        at=START,
        actor="key_1",
        action="create_run",
        subject="run_1",
        outcome="201",
        request_id="req_1",
        address="127.0.0.1",
    )
