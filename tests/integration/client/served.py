"""A real service for clients: one process on SQLite that can be killed and started again at the same address."""

import json
import socket
from pathlib import Path
from typing import TYPE_CHECKING, Any

from service.client import AsyncClient, Client, calls
from service.ports import Scope
from service.schemas.keys import KeyCreate
from service.schemas.problems import ProblemCreate
from service.schemas.runs import Run, RunCreate
from tests.e2e.evolving import EvolveHere, make_problem

if TYPE_CHECKING:
    import subprocess


class Service:
    """`evolve serve` with a home of its own, and a key that may do everything."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.evolve = EvolveHere(home)
        self.key_file = home / "key"
        self.evolve.call("keys", "create", "tests", "-o", str(self.key_file))
        self.key = self.key_file.read_text().strip()
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            self.port = taken.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self.folder = make_problem(home / "toy")
        self._process: subprocess.Popen[str] | None = None

    def start(self) -> None:
        """Start it, and wait until it listens."""
        self._process = self.evolve.start("serve", "--port", str(self.port), "--slots", "2", "--json")
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, self._process.communicate()[1]
        assert json.loads(line)["url"] == self.url

    def kill(self) -> None:
        """End it as a crash would."""
        assert self._process is not None
        self._process.kill()
        self._process.communicate()
        self._process = None

    def stop(self) -> None:
        """End it in order."""
        if self._process is not None:
            self._process.terminate()
            self._process.communicate(timeout=30)

    def client(self, **words: Any) -> Client:
        return Client(self.url, self.key, **words)

    def async_client(self, **words: Any) -> AsyncClient:
        return AsyncClient(self.url, self.key, **words)

    def key_with(self, *scopes: Scope) -> str:
        """Another key, that may do less."""
        with self.client() as client:
            key = client.send(calls.create_key(KeyCreate(name="less", scopes=list(scopes)))).key
        assert key is not None
        return key

    def problem(self) -> ProblemCreate:
        """The toy problem."""
        return ProblemCreate(files={path.name: path.read_text() for path in self.folder.iterdir()})

    def run(self, client: Client, evaluations: int = 20, **config: Any) -> Run:
        """A new run of the toy problem."""
        problem = client.send(calls.create_problem(self.problem()))
        config = {"budget": {"evaluations": evaluations}, **config}
        return client.send(calls.create_run(RunCreate(problem=problem.id, config=config)))

    def words(self) -> list[str]:
        """What a command needs to find it."""
        return ["--server", self.url, "--api-key-file", str(self.key_file)]
