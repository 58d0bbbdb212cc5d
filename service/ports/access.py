"""Who may do what: tenants' keys with their scopes, and what they did."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Protocol

# The use of a key is noted at most once in this time.
USED_AFTER = timedelta(minutes=1)


class Scope(StrEnum):
    """The rights of a key. `control` is pause, resume, cancel, extend and fork."""

    RUNS_READ = "runs:read"
    RUNS_WRITE = "runs:write"
    RUNS_CONTROL = "runs:control"
    PROGRAMS_READ = "programs:read"
    EVALUATIONS_LEASE = "evaluations:lease"
    KEYS_MANAGE = "keys:manage"
    OPERATE = "operate"


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """Who makes a request.

    Attributes:
        actor: id of the key, of the session, or of the share that was shown.
        name: of the key that was shown, now or to open the session; empty: none was.
        run_id: the only run that may be read, for the bearer of a share; empty: all of the tenant's.
    """

    tenant: str
    actor: str
    scopes: frozenset[Scope]
    name: str = ""
    run_id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyRecord:
    """A key as stored: never the key itself. `shown` is its first characters, for people."""

    id: str
    tenant: str
    name: str
    shown: str
    scopes: Sequence[Scope]
    created_at: datetime
    created_by: str
    expires_at: datetime | None = None
    last_used_at: datetime | None = None
    revoked_at: datetime | None = None

    def valid(self, now: datetime) -> bool:
        """Whether it opens anything."""
        return self.revoked_at is None and (self.expires_at is None or now < self.expires_at)

    def used_lately(self, now: datetime) -> bool:
        """Whether its use was noted so short a time ago that it need not be noted again."""
        return self.last_used_at is not None and now - self.last_used_at < USED_AFTER


class KeyStore(Protocol):
    """Keys, found by the keyed hash of what is shown."""

    def add(self, record: KeyRecord, key_hash: str) -> None:
        """Store a key; its tenant is made when there is none of the name.

        Raises:
            UsageError: the tenant's name is none.
        """

    def find(self, key_hash: str) -> KeyRecord | None:
        """The key of a hash, revoked and expired ones too."""

    def has_beginning(self, shown: str) -> bool:
        """Whether what is shown of some key is this, revoked and expired ones too."""

    def keys(self, tenant: str, after: str = "", limit: int = 50) -> list[KeyRecord]:
        """Keys of a tenant in order of their ids, which is that of age."""

    def revoke(self, tenant: str | None, key_id: str, at: datetime) -> KeyRecord:
        """Close a key of a tenant, None: of any tenant, for good; repeating changes nothing.

        Raises:
            NotFoundError: the tenant has no such key.
        """

    def used(self, key_id: str, at: datetime) -> None:
        """Note the time of use; at most once a minute, so that reading stays reading."""


class Sessions(Protocol):
    """Sessions of browsers that were ended before their time; all others are known by their cookies alone."""

    def end(self, session_id: str, at: datetime, until: datetime) -> None:
        """Void a session; repeating changes nothing. What is past its time by now is forgotten.

        Args:
            session_id: which.
            at: now.
            until: from when on its cookie opens nothing anyway.
        """

    def ended(self, session_id: str) -> bool:
        """Whether it was."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditEntry:
    """Something that somebody did or was refused.

    Attributes:
        action: operation id of the API, or the command.
        subject: id of what it was done to; empty: none.
        outcome: HTTP status, as text; `ok` for commands.
    """

    id: str
    tenant: str
    at: datetime
    actor: str
    action: str
    subject: str
    outcome: str
    request_id: str
    address: str


class AuditLog(Protocol):
    """Append-only: who did what."""

    def write(self, entry: AuditEntry) -> None:
        """Append an entry."""

    def entries(self, tenant: str, before: str = "", limit: int = 50) -> list[AuditEntry]:
        """Entries of a tenant, newest first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredResponse:
    """What a request was answered with, to be given again."""

    status: int
    headers: Mapping[str, str]
    body: bytes = field(repr=False)


class Requests(Protocol):
    """Requests that shall have their effect once, by the Idempotency-Key that they carry."""

    def begin(self, actor: str, key: str, request_hash: str, at: datetime) -> StoredResponse | None:
        """Claim a key in the transaction under way, or the answer that it was given within 24 hours.

        Raises:
            KeyReusedError: it was used for another request.
            InProgressError: the first request with it is still at work.
        """

    def finish(self, actor: str, key: str, response: StoredResponse) -> None:
        """Keep the answer, in the transaction of the effect.

        Raises:
            ConflictError: the key was not claimed.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class Quotas:
    """What a tenant may use; None: no limit."""

    active_runs: int | None = None
    evaluations_per_day: int | None = None
    tokens_per_day: int | None = None
    active_training_jobs: int | None = None
    running_training_jobs: int | None = None
    training_seconds_per_day: int | None = None

    def as_json(self) -> dict[str, Any]:
        """The limits by name."""
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageRecord:
    """What a tenant used from the beginning of an hour to that of another."""

    tenant: str
    since: datetime
    until: datetime
    runs: int
    active_runs: int
    proposals: int
    answers: int
    evaluations: int
    evaluation_seconds: float
    tokens_input: int
    tokens_cached: int
    tokens_output: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TenantStorage:
    """What a tenant has in the database. `due_runs`, `due_answers`: of runs that are past their time."""

    tenant: str
    runs: int
    ended: int
    answers: int
    evaluations: int
    due_runs: int
    due_answers: int


class StorageUsage(Protocol):
    """What the database holds, for whoever keeps it."""

    def by_tenant(self, before: datetime | None) -> Sequence[TenantStorage]:
        """What each tenant has, by name; `before`: what ended earlier is past its time, None: nothing is."""

    def size_bytes(self) -> int:
        """What the database takes on disk, in all."""


class TenantAccounts(Protocol):
    """Quotas and usage of tenants."""

    def quotas(self, tenant: str) -> Quotas:
        """The limits of a tenant.

        Raises:
            NotFoundError: no such tenant.
        """

    def set_quotas(self, tenant: str, quotas: Quotas) -> None:
        """Set them.

        Raises:
            NotFoundError: no such tenant.
        """

    def hold(self, tenant: str) -> None:
        """Let nobody else count a tenant's usage in order to add to it, until the transaction under way ends.

        Raises:
            NotFoundError: no such tenant.
        """

    def active_runs(self, tenant: str) -> int:
        """How many runs of a tenant have not ended."""

    def usage(self, tenant: str, since: datetime, until: datetime) -> UsageRecord:
        """What was used in the whole hours that a span touches, by the times of creation, answer and evaluation.

        The record names the beginning and the end of these hours. Deleted runs stay counted, cancelled evaluations are
        not; active are the runs that have not ended by now.
        """
