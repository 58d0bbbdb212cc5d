"""An installation of everything that runs, each part of it in a process of its own."""

import random
import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.e2e.evolving import Evolve
from tests.faults.clocks import Clock, compiled
from tests.faults.isolation import own_processes
from tests.faults.keeper import DATABASE_FOLDER
from tests.faults.network import Network, Way, has_keeper, proxied
from tests.faults.processes import Role, Victim
from tests.faults.servers import Postgres, Redis
from tests.services import free_port

POSTGRES_PORT, REDIS_PORT = 5432, 6379


@dataclass(frozen=True, slots=True, kw_only=True)
class Installation:
    """Everything that runs, and where it leaves what it leaves."""

    postgres: Postgres
    redis: Redis
    roles: Sequence[Role]
    url: str
    key: str
    scratch: Path

    @property
    def victims(self) -> list[Victim]:
        return [self.postgres, self.redis, *self.roles]


@contextmanager
def installed(folder: Path, home: Path, model_url: str, draw: random.Random) -> Iterator[Installation]:
    """The servers, an API, two runners, and three workers, one of which knows the API alone; all at work.

    Args:
        folder: for logs, keys, and what users keep at home.
        home: for the data of the servers, their sockets and the scratch of sandboxes.
        model_url: of the policy that answers some runs.
        draw: of what Redis forgets.
    """
    scratch = home / "scratch"
    scratch.mkdir()
    with ExitStack() as stack:
        postgres, redis = stack.enter_context(_servers(home, draw))
        for server in (postgres, redis):
            server.start()
            stack.callback(server.kill)
        evolve = Evolve(folder)
        evolve.environment |= {
            "TMPDIR": str(scratch),
            "EVOLVE_DATABASE__URL": postgres.url,
            "EVOLVE_QUEUE__URL": redis.url,
            "EVOLVE_API__SECRET": secrets.token_hex(32),
            "EVOLVE_API__REQUESTS_PER_MINUTE": "1000000",
            "EVOLVE_POLICIES__ALLOW": model_url,
            "EVOLVE_POLICIES__PRIVATE": "true",
        }
        evolve.call("db", "upgrade")
        key, leases = folder / "key", folder / "leases"
        evolve.call("keys", "create", "faults", "-o", str(key))
        evolve.call("keys", "create", "worker", "--scope", "evaluations:lease", "-o", str(leases))
        port = free_port()
        url = f"http://127.0.0.1:{port}"
        # A proxy in any case: a worker sends its key in the clear to nobody but its own machine.
        to_api = stack.enter_context(proxied(("127.0.0.1", port)))
        roles = _roles(evolve.environment, folder, port, to_api, leases)
        for role in roles:
            role.start()
            stack.callback(role.kill)
        for role in roles:
            role.await_ready()
        shown = key.read_text().strip()
        yield Installation(postgres=postgres, redis=redis, roles=roles, url=url, key=shown, scratch=scratch)


@contextmanager
def _servers(home: Path, draw: random.Random) -> Iterator[tuple[Postgres, Redis]]:
    """Both servers, behind ways that can be cut: addresses of a network of our own, else proxies."""
    postgres_home, redis_home = home / DATABASE_FOLDER, home / "redis"
    for folder in (postgres_home, redis_home):
        folder.mkdir(exist_ok=True)
    if has_keeper():
        network = Network(home)
        yield (
            Postgres(postgres_home, network.way(1, "postgres", POSTGRES_PORT), listen="*"),
            Redis(redis_home, draw, network.way(2, "redis", REDIS_PORT), listen="0.0.0.0"),
        )
        return
    with (
        proxied(str(postgres_home / f".s.PGSQL.{POSTGRES_PORT}")) as to_postgres,
        proxied(str(redis_home / "redis.sock")) as to_redis,
    ):
        yield Postgres(postgres_home, to_postgres, listen=""), Redis(redis_home, draw, to_redis, listen="")


def _roles(environment: Mapping[str, str], folder: Path, port: int, to_api: Way, leases: Path) -> list[Role]:
    """The processes of Evolve. Each runner sees process ids of its own, and the second one a home of its own."""
    remote = ["--server", f"http://{to_api.host}:{to_api.port}", "--api-key-file", str(leases)]
    library = compiled(folder)
    second = folder / "second-home"
    second.mkdir()

    def role(kind: str, number: int, words: Sequence[str], ready: str, home: Path = folder) -> Role:
        name = f"{kind}-{number}" if number else kind
        return Role(
            kind,
            name,
            [kind, *words],
            ready,
            {**environment, "HOME": str(home)},
            folder,
            prefix=own_processes() if kind == "runner" else (),
            way=to_api if kind == "api" else None,
            clock=Clock(library, folder / f"{name}.clock") if library else None,
        )

    driving, taking = ["--runs", "4"], "taking evaluations"
    return [
        role("api", 0, ["--port", str(port)], "serving at"),
        role("runner", 1, driving, "driving up to"),
        role("runner", 2, driving, "driving up to", second),
        role("worker", 1, ["--slots", "1"], taking),
        role("worker", 2, ["--slots", "2"], taking),
        role("worker", 3, ["--slots", "2", *remote], taking),
    ]
