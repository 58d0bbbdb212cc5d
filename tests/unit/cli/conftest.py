"""Recorded runs, and commands called in this process."""

import json
import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import structlog

from service.cli.main import main
from tests.unit.cli.recording import packing_problem, record_run, sqlite_url


@dataclass(frozen=True)
class Said:
    """What a command said."""

    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.out.splitlines()]


Evolve = Callable[..., Said]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user with nothing set."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    for name in ("EVOLVE_DEBUG", "EVOLVE_DATABASE__URL", "EVOLVE_SANDBOX__REQUIRE", "COLUMNS", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


@pytest.fixture
def _logs_as_before() -> Iterator[None]:
    """A command sends logs to its own stderr; the next test has another."""
    root = logging.getLogger()
    before = (root.handlers[:], root.level)
    yield
    root.handlers[:], root.level = before
    structlog.reset_defaults()


@pytest.fixture
def evolve(home: Path, capsys: pytest.CaptureFixture[str], _logs_as_before: None) -> Evolve:
    """Call the command line with words."""

    def call(*words: str) -> Said:
        code = main(words)
        captured = capsys.readouterr()
        return Said(code=code, out=captured.out, err=captured.err)

    return call


@pytest.fixture
def packing(home: Path) -> str:
    """The URL of a database with one finished run of the packing problem."""
    url = sqlite_url(home / "runs.db")
    record_run(url, packing_problem(), seed_scores={"radii": 1.0})
    return url
