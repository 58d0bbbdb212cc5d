"""What a tenant may use in 24 hours, and whether it has."""

from datetime import datetime, timedelta

from service.ports import TenantAccounts

DAY = timedelta(hours=24)


def used_up(accounts: TenantAccounts, tenant: str, now: datetime) -> str:
    """The quota of 24 hours that a tenant has used up, as `10 of 10 evaluations in 24 hours`; empty: none.

    Raises:
        NotFoundError: no such tenant.
    """
    quotas = accounts.quotas(tenant)
    if quotas.evaluations_per_day is None and quotas.tokens_per_day is None:
        return ""
    usage = accounts.usage(tenant, now - DAY, now)
    tokens = usage.tokens_input + usage.tokens_output
    limits = (usage.evaluations, quotas.evaluations_per_day, "evaluations"), (tokens, quotas.tokens_per_day, "tokens")
    for used, limit, what in limits:
        if limit is not None and used >= limit:
            return f"{used} of {limit} {what} in 24 hours"
    return ""
