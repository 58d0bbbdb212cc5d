"""The stores of an installation, as one port: what a use case needs of them."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

from service.ports.access import AuditLog, KeyStore, TenantAccounts
from service.ports.batches import BatchStore
from service.ports.intents import Deletions, RunClaims, RunIntents
from service.ports.log import RunLog, nobody
from service.ports.problems import ProblemStore
from service.ports.reader import Readers, RunReader
from service.ports.time import Clock
from service.ports.views import ViewRequests


class ColumnStore(Protocol):
    """What processes keep for each other of the runs that they have read. Nothing is lost with it but time."""

    def load(self, run_id: str, form: str) -> bytes | None:
        """What was saved of a run, by whole id, in a format; None: nothing."""

    def save(self, run_id: str, form: str, sequence: int, content: bytes) -> None:
        """Save a run up to an event, unless more of it is saved, or it is being deleted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredSnapshot:
    """What a runner kept of a run; `sequence` is that of the last event in it."""

    sequence: int
    content: bytes


class SnapshotStore(Protocol):
    """What runners keep of the runs that they drive, so that a restart need not fold all of their events.

    Nothing is lost with it but time.
    """

    def load(self, run_id: str) -> StoredSnapshot | None:
        """The newest that is whole; None: there is none."""

    def save(self, run_id: str, snapshot: StoredSnapshot) -> None:
        """Keep a snapshot in place of older ones; nothing happens for a run that is being deleted, or is gone.

        Raises:
            StorageError: the database cannot take it; the older one stays.
        """

    def forget(self, run_id: str) -> None:
        """Remove what is kept of a run."""


class BatchClaims(RunClaims, Protocol):
    """The claims on the runs of one batch, which a process may keep for itself."""

    def reserve(self, owner: str, lease_seconds: float, gone: Callable[[str], bool] = nobody) -> None:
        """Keep others off the runs of the batch that nobody drives. Repeat it for as long as they wait.

        Args:
            owner: the process that drives them in their turn.
            lease_seconds: how long others are kept off.
            gone: whether an owner is known to have ended.
        """

    def give_back(self, owner: str) -> None:
        """Let others have the runs of the batch that this owner has reserved and not begun."""


class Storage(Protocol):
    """The stores of an installation, in one database or in memory."""

    @property
    def url(self) -> str:
        """The address of the database."""

    @property
    def clock(self) -> Clock:
        """The time that the stores go by."""

    @property
    def log(self) -> RunLog:
        """Events of runs."""

    @property
    def reader(self) -> RunReader:
        """Runs of all tenants."""

    @property
    def readers(self) -> Readers:
        """Runs by tenant."""

    @property
    def columns(self) -> ColumnStore:
        """Runs in columns, saved between processes."""

    @property
    def snapshots(self) -> SnapshotStore:
        """Runs as their runners knew them at some event."""

    @property
    def problems(self) -> ProblemStore:
        """Problems of all tenants."""

    @property
    def batches(self) -> BatchStore:
        """Batches of all tenants."""

    @property
    def accounts(self) -> TenantAccounts:
        """Quotas and usage."""

    @property
    def keys(self) -> KeyStore:
        """API keys."""

    @property
    def audit(self) -> AuditLog:
        """The audit log."""

    @property
    def deletions(self) -> Deletions:
        """Deleted runs whose rows are still there."""

    @property
    def views(self) -> ViewRequests:
        """Views that wait to be drawn."""

    def intents(self, tenant: str) -> RunIntents:
        """The intent of one tenant's runs."""

    def claims(self, batch_id: str = "") -> BatchClaims:
        """The claims on the runs of a batch, or on all runs when `batch_id` is empty."""

    def unit(self) -> AbstractContextManager[None]:
        """One transaction for everything that this thread reads and writes until the end of the block."""
