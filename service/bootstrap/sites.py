"""Where runs are: in a database, or with a service; the same doors to both."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from service.bootstrap.storage import open_reader
from service.client.service_choice import SourceOptions, choose_service
from service.config import database_url
from service.projections.run_site import RunSite, stored_site

if TYPE_CHECKING:
    from service.config import Settings


@contextmanager
def open_site(settings: "Settings", where: SourceOptions) -> Iterator[RunSite]:
    """The place where runs are, for reading.

    Raises:
        NotFoundError: it is a SQLite file that is not there.
        UsageError: the service or its key cannot be used.
    """
    if service := choose_service(settings, where, said=False):
        from service.client.run_site import remote_site

        with service.client() as client:
            yield remote_site(client)
        return
    with open_reader(settings, where.db) as reader:
        yield stored_site(reader, database_url(settings, where.db))
