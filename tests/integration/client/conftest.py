"""A service that all tests of the client share, and runs with it."""

from collections.abc import Iterator

import pytest

from service.client import Client, calls
from service.schemas.runs import Run
from tests.integration.client.served import Service


@pytest.fixture(scope="session")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    made = Service(tmp_path_factory.mktemp("service"))
    made.start()
    yield made
    made.stop()


@pytest.fixture
def client(service: Service) -> Iterator[Client]:
    with service.client() as made:
        yield made


@pytest.fixture(scope="session")
def ended(service: Service) -> Run:
    """A run that has ended."""
    with service.client() as client:
        run = service.run(client, 40, seed=7)
        list(client.stream(run.id))
        return client.send(calls.get_run(run.id))
