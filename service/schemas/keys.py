"""Keys, sessions, audit, usage and quotas on the wire."""

from typing import Annotated

from pydantic import Field, SecretStr

from service.ports import Scope
from service.schemas.types import Count, Moment, Name, Page, Positive, Reply, Request


class KeyCreate(Request):
    """A new key."""

    name: Name = Field(description="Its purpose")
    scopes: list[Annotated[Scope, Field(strict=False)]] = Field(
        min_length=1, max_length=16, description="Its scopes. They must be scopes of the requesting key"
    )
    expires_at: Moment | None = Field(default=None, description="When it expires. Null: never, unless it is revoked")
    tenant: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_-]{0,62}$")] | None = Field(
        default=None, description="Another tenant's: for keys of the operator alone"
    )


class ApiKey(Reply):
    """A key, without the key itself."""

    id: str = Field(description="Id of the key")
    tenant: str = Field(description="Name of the tenant that it belongs to")
    name: str = Field(description="Purpose of the key")
    shown: str = Field(description="Its first characters")
    scopes: list[Scope] = Field(description="Scopes that it allows")
    created_at: Moment = Field(description="When it was created")
    created_by: str = Field(description="Name of the key with which it was created")
    expires_at: Moment | None = Field(description="When it expires. Null: never, unless it is revoked")
    last_used_at: Moment | None = Field(description="When it was last used, to the minute. Null: never")
    revoked_at: Moment | None = Field(description="When it was revoked. Null: never")


class NewApiKey(ApiKey):
    """A key that was just made."""

    key: str | None = Field(
        description="The key itself: it is shown this once, and null in an answer that is given again"
    )


class KeyPage(Page):
    """Keys, oldest first."""

    items: list[ApiKey] = Field(description="Keys, oldest first")


class AuditLine(Reply):
    """Something that somebody did or was refused."""

    id: str = Field(description="Id of the audit line")
    at: Moment = Field(description="When it happened")
    actor: str = Field(description="Id of the key, share or session that made the request")
    action: str = Field(description="Operation id of the request")
    subject: str = Field(description="Id of its resource. Empty: none")
    outcome: str = Field(description="HTTP status of the response")
    request_id: str = Field(description="Id of the request, as in `X-Request-ID`")
    address: str = Field(description="Network address of the client")


class AuditPage(Page):
    """Audit, newest first."""

    items: list[AuditLine] = Field(description="Audit lines, newest first")


class QuotaLimits(Request):
    """Limits of a tenant. Null: no limit."""

    active_runs: Positive | None = Field(default=None, description="Runs at once. Null: no limit")
    evaluations_per_day: Positive | None = Field(default=None, description="Evaluations in 24 hours. Null: no limit")
    tokens_per_day: Positive | None = Field(
        default=None,
        description="Tokens in 24 hours, read and written. Null: no limit",
    )
    active_training_jobs: Positive | None = Field(
        default=None, description="Training jobs that have not ended. Null: no limit"
    )
    running_training_jobs: Positive | None = Field(
        default=None, description="Training jobs that trainers work on at once. Others wait. Null: no limit"
    )
    training_seconds_per_day: Positive | None = Field(
        default=None, description="Seconds that trainers work in 24 hours. Null: no limit"
    )


class Quota(Reply):
    """Limits of a tenant. Null: no limit."""

    tenant: str = Field(description="Name of the tenant")
    active_runs: Count | None = Field(description="Runs at once. Null: no limit")
    evaluations_per_day: Count | None = Field(description="Evaluations in 24 hours. Null: no limit")
    tokens_per_day: Count | None = Field(description="Tokens in 24 hours, read and written. Null: no limit")
    active_training_jobs: Count | None = Field(description="Training jobs that have not ended. Null: no limit")
    running_training_jobs: Count | None = Field(
        description="Training jobs that trainers work on at once. Others wait. Null: no limit"
    )
    training_seconds_per_day: Count | None = Field(description="Seconds that trainers work in 24 hours. Null: no limit")


class TenantHolding(Reply):
    """Contents of the database by tenant."""

    tenant: str = Field(description="Name of the tenant")
    runs: Count = Field(description="Number of its runs")
    ended: Count = Field(description="Number of its ended runs")
    answers: Count = Field(description="Number of answers of its runs")
    evaluations: Count = Field(description="Number of evaluations of its runs")
    due_runs: Count = Field(description="Runs due for removal")
    due_answers: Count = Field(description="Number of answers of these runs")


class Retention(Reply):
    """How long data is kept, and how much is due for removal."""

    days: Count | None = Field(description="Days to keep ended runs, as requested or set. Null: forever")
    set_days: Count | None = Field(description="Days by the setting `retention.days` of this process. Null: not set")
    audit_days: Count | None = Field(description="Days that the audit log is kept. Null: forever")
    database_bytes: int = Field(description="Size of the database in bytes")
    tenants: list[TenantHolding] = Field(description="Contents of the database by tenant")


class Usage(Reply):
    """Usage of a tenant from the start of an hour to the start of another, and its quotas."""

    tenant: str = Field(description="Name of the tenant")
    since: Moment = Field(description="Begin of the period")
    until: Moment = Field(description="End of the period")
    runs: Count = Field(description="Number of runs created in the period")
    active_runs: Count = Field(description="Number of runs that have not ended, now")
    proposals: Count = Field(description="Number of proposals in the period")
    answers: Count = Field(description="Number of answers in the period")
    evaluations: Count = Field(description="Number of evaluations in the period")
    evaluation_seconds: float = Field(description="Duration of these evaluations together, in seconds")
    tokens_input: Count = Field(description="Tokens that the policies read, including cached tokens")
    tokens_cached: Count = Field(description="Of the tokens read, those from a cache")
    tokens_output: Count = Field(description="Tokens that the policies wrote")
    quotas: Quota = Field(description="Limits of the tenant")


class SessionCreate(Request):
    """A session, opened with a key."""

    key: SecretStr = Field(max_length=200, description="An API key")
