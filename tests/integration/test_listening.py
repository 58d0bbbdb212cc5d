"""How the service listens."""

import socket
from pathlib import Path

import pytest

from service.app import create_app
from service.bootstrap.serving import Address, open_api
from service.config import load_settings


async def test_no_piece_of_an_answer_waits_until_the_one_before_is_confirmed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EVOLVE_API__SECRET", "a secret that is long enough for a service of tests")
    settings = load_settings(tmp_path / "absent.toml", tmp_path)
    database, address = f"sqlite:///{tmp_path / 'runs.db'}", Address(host="127.0.0.1", port=0)
    async with open_api(settings, address, create_app, database, None) as service:
        with socket.create_connection(("127.0.0.1", service.address.port)):
            accepted, _ = service.listener.accept()
            with accepted:
                assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
