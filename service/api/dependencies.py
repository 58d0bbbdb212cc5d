"""What the API is made of: everything that it needs of the rest of the service, as ports."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field

from evolve.repository import Repository
from service.api.local_key import LocalKey
from service.api.one_time_login import OneTimeLogin
from service.config import ApiSettings, RetentionSettings
from service.ports import (
    Annotations,
    AuditLog,
    BatchStore,
    Clock,
    ColumnStore,
    Deletions,
    EvaluationLeases,
    EvaluationRecords,
    KeyStore,
    Partitions,
    PolicyRegistry,
    ProblemStore,
    RateLimiter,
    Readers,
    Requests,
    RunIntents,
    RunRecord,
    Sessions,
    Shares,
    StorageUsage,
    Submissions,
    TenantAccounts,
    TrainingJobs,
    ViewRequests,
    Webhooks,
    Workers,
)
from service.projections.flywheel import Flywheels
from service.signer import Signer


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiDependencies:
    """Everything that the API stands on.

    Attributes:
        standings: the last sequence and the state of runs of all tenants, by id, in one statement.
        queued: how many runs of all tenants no runner has taken up yet.
        retention: how long runs are kept, by the settings of this process.
        leftovers: unloads the adapters of unfinished runs that are about to be deleted, and cancels their training.
        columns: runs as processes like this one have read them.
        repositories: what the programs of a problem change, by the hash of its folder; None: they are whole by
            themselves.
        unit: everything written inside it, in one thread, is one transaction.
        leases: those of one remote worker, by pool and the worker's id.
        check_webhook: refuses addresses that webhooks may not lead to.
        login: the one-time address of a service on a laptop.
        local_key: of commands of the user who runs this process; None: there is none.
        checks: what `/readyz` looks at, by name; a check raises what is wrong.
        needed: the checks that must pass for requests to be answered; the others are only reported.
        events_poll_seconds: how often the log is asked for what is new.
    """

    settings: ApiSettings
    clock: Clock
    signer: Signer
    unit: Callable[[], AbstractContextManager[object]]
    readers: Readers
    standings: Callable[[Sequence[str]], Mapping[str, tuple[int, str]]]
    queued: Callable[[], int]
    intents: Callable[[str], RunIntents]
    deletions: Deletions
    partitions: Partitions
    leftovers: Callable[[Sequence[RunRecord]], None]
    problems: ProblemStore
    repositories: Callable[[str], Repository | None]
    submissions: Submissions
    batches: BatchStore
    registry: PolicyRegistry
    training: TrainingJobs
    flywheels: Flywheels
    columns: ColumnStore
    views: ViewRequests
    annotations: Callable[[str], Annotations]
    shares: Shares
    keys: KeyStore
    sessions: Sessions
    audit: AuditLog
    requests: Requests
    accounts: TenantAccounts
    holdings: StorageUsage
    retention: RetentionSettings
    webhooks: Webhooks
    check_webhook: Callable[[str], object]
    new_webhook_secret: Callable[[], str]
    limiter: RateLimiter
    workers: Workers
    evaluated: EvaluationRecords
    leases: Callable[[str, str], EvaluationLeases]
    login: OneTimeLogin | None = None
    local_key: LocalKey | None = None
    checks: Mapping[str, Callable[[], Awaitable[None]]] = field(default_factory=dict)
    needed: frozenset[str] = frozenset({"database"})
    events_poll_seconds: float = 0.25
