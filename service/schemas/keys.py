"""Keys, audit, usage and quotas on the wire."""

from typing import Annotated

from pydantic import Field

from service.ports import Scope
from service.schemas.types import Count, Moment, Name, Page, Positive, Reply, Request


class KeyCreate(Request):
    """A new key."""

    name: Name = Field(description="What it is for")
    scopes: list[Annotated[Scope, Field(strict=False)]] = Field(
        min_length=1, max_length=16, description="What it allows; none that the key at hand lacks"
    )
    expires_at: Moment | None = Field(default=None, description="When it ends; null: when it is revoked")
    tenant: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_-]{0,62}$")] | None = Field(
        default=None, description="Another tenant's: for keys of the operator alone"
    )


class ApiKey(Reply):
    """A key, without the key itself."""

    id: str
    tenant: str
    name: str
    shown: str = Field(description="Its first characters")
    scopes: list[Scope]
    created_at: Moment
    created_by: str
    expires_at: Moment | None
    last_used_at: Moment | None
    revoked_at: Moment | None


class NewApiKey(ApiKey):
    """A key that was just made."""

    key: str | None = Field(
        description="The key itself: it is shown this once, and null in an answer that is given again"
    )


class KeyPage(Page):
    """Keys, the oldest first."""

    items: list[ApiKey]


class AuditLine(Reply):
    """Something that somebody did or was refused."""

    id: str
    at: Moment
    actor: str
    action: str
    subject: str
    outcome: str
    request_id: str
    address: str


class AuditPage(Page):
    """Audit, newest first."""

    items: list[AuditLine]


class QuotaLimits(Request):
    """What a tenant may use; null: no limit."""

    active_runs: Positive | None = None
    evaluations_per_day: Positive | None = None
    tokens_per_day: Positive | None = None


class Quota(Reply):
    """What a tenant may use; null: no limit."""

    tenant: str
    active_runs: Count | None
    evaluations_per_day: Count | None
    tokens_per_day: Count | None


class TenantHolding(Reply):
    """What a tenant has in the database."""

    tenant: str
    runs: Count
    ended: Count = Field(description="Of the runs")
    answers: Count
    evaluations: Count
    due_runs: Count = Field(description="Runs that are past their time")
    due_answers: Count = Field(description="Of these runs")


class Retention(Reply):
    """How long what is kept, and what is past its time."""

    days: Count | None = Field(description="That runs are kept after their end, as asked or set; null: for ever")
    set_days: Count | None = Field(description="By the setting `retention.days` of this process; null: it is not set")
    audit_days: Count | None = Field(description="That the audit is kept; null: for ever")
    database_bytes: int
    tenants: list[TenantHolding]


class Usage(Reply):
    """What a tenant used from the beginning of an hour to that of another, and what it may."""

    tenant: str
    since: Moment
    until: Moment
    runs: Count
    active_runs: Count
    proposals: Count
    answers: Count
    evaluations: Count
    evaluation_seconds: float
    tokens_input: Count
    tokens_cached: Count
    tokens_output: Count
    quotas: Quota
