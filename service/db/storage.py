"""The stores of one database."""

from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from service.db.engine import Database
from service.db.log import SqlRunLog
from service.db.reader import SqlRunReader
from service.db.readers import SqlReaders
from service.ports import Clock

if TYPE_CHECKING:
    from service.db.accounts import SqlAccounts
    from service.db.audit import SqlAuditLog
    from service.db.batches import SqlBatchStore
    from service.db.deletion import SqlDeletions
    from service.db.intents import SqlRunClaims, SqlRunIntents
    from service.db.keys import SqlKeyStore
    from service.db.partition_care import SqlPartitions
    from service.db.policy_registry import SqlPolicyStore
    from service.db.problems import SqlProblemStore
    from service.db.run_columns import SqlColumnStore
    from service.db.snapshots import SqlSnapshotStore
    from service.db.training import SqlTrainingStore
    from service.db.view_requests import SqlViewRequests


class SqlStorage:
    """The port Storage on SQLite or PostgreSQL. A command loads only the stores that it asks for.

    Args:
        database: an open database.
        url: its address.
        clock: the time that the stores go by. None means the database's own.
    """

    def __init__(self, database: Database, url: str, clock: Clock | None = None) -> None:
        self.database, self.url = database, url
        self.clock: Clock = clock or database.clock
        self.log = SqlRunLog(database, self.clock)
        self.reader = SqlRunReader(database)
        self.readers = SqlReaders(database)

    @property
    def columns(self) -> "SqlColumnStore":
        """Runs in columns, saved between processes."""
        from service.db.run_columns import SqlColumnStore

        return SqlColumnStore(self.database)

    @property
    def snapshots(self) -> "SqlSnapshotStore":
        """Runs as their runners knew them at some event."""
        from service.db.snapshots import SqlSnapshotStore

        return SqlSnapshotStore(self.database)

    @property
    def problems(self) -> "SqlProblemStore":
        """Problems of all tenants."""
        from service.db.problems import SqlProblemStore

        return SqlProblemStore(self.database)

    @property
    def batches(self) -> "SqlBatchStore":
        """Batches of all tenants."""
        from service.db.batches import SqlBatchStore

        return SqlBatchStore(self.database)

    @property
    def policies(self) -> "SqlPolicyStore":
        """Registered policies of all tenants."""
        from service.db.policy_registry import SqlPolicyStore

        return SqlPolicyStore(self.database)

    @property
    def training(self) -> "SqlTrainingStore":
        """Training jobs of all tenants."""
        from service.db.training import SqlTrainingStore

        return SqlTrainingStore(self.database, self.clock)

    @property
    def accounts(self) -> "SqlAccounts":
        """Quotas and usage."""
        from service.db.accounts import SqlAccounts

        return SqlAccounts(self.database)

    @property
    def keys(self) -> "SqlKeyStore":
        """API keys."""
        from service.db.keys import SqlKeyStore

        return SqlKeyStore(self.database)

    @property
    def audit(self) -> "SqlAuditLog":
        """The audit log."""
        from service.db.audit import SqlAuditLog

        return SqlAuditLog(self.database)

    @property
    def deletions(self) -> "SqlDeletions":
        """Deleted runs whose rows are still there."""
        from service.db.deletion import SqlDeletions

        return SqlDeletions(self.database)

    @property
    def partitions(self) -> "SqlPartitions":
        """Parts of the log by time."""
        from service.db.partition_care import SqlPartitions

        return SqlPartitions(self.database)

    @property
    def views(self) -> "SqlViewRequests":
        """Views that wait to be drawn."""
        from service.db.view_requests import SqlViewRequests

        return SqlViewRequests(self.database, self.clock)

    def intents(self, tenant: str) -> "SqlRunIntents":
        """The intent of one tenant's runs."""
        from service.db.intents import SqlRunIntents

        return SqlRunIntents(self.database, tenant, self.clock)

    def claims(self, batch_id: str = "") -> "SqlRunClaims":
        """The claims on the runs of a batch, or on all runs when `batch_id` is empty."""
        from service.db.intents import SqlRunClaims

        return SqlRunClaims(self.database, self.clock, batch_id=batch_id)

    def unit(self) -> AbstractContextManager[None]:
        """One transaction for everything that this thread reads and writes until the end of the block."""
        return self.database.unit()
