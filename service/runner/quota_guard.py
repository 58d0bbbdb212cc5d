"""Runs of tenants that have used up a quota of 24 hours are paused."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import datetime

from service.errors import ConflictError, NotFoundError
from service.ports import PAUSED, Clock, RunIntents, TenantAccounts
from service.projections.daily_quotas import used_up

# Who pauses them, as their events say.
QUOTA = "quota"


class QuotaGuard:
    """Pauses runs of tenants that have used up their evaluations or tokens of 24 hours.

    What was on its way when the quota was used up is evaluated nevertheless.

    Args:
        intents: those of a tenant's runs.
    """

    def __init__(self, accounts: TenantAccounts, intents: Callable[[str], RunIntents], clock: Clock) -> None:
        self._accounts, self._intents, self._clock = accounts, intents, clock

    def __call__(self, runs: Mapping[str, str]) -> None:
        """Want those runs paused whose tenant has used up a quota.

        Args:
            runs: the tenant of each run at work, by the run's id.
        """
        now = self._clock.now()
        beyond = {tenant for tenant in set(runs.values()) if self._is_beyond(tenant, now)}
        for run_id, tenant in runs.items():
            if tenant in beyond:
                with suppress(ConflictError, NotFoundError):  # it ends, or was deleted
                    self._intents(tenant).want(run_id, PAUSED, QUOTA)

    def _is_beyond(self, tenant: str, now: datetime) -> bool:
        with suppress(NotFoundError):
            return bool(used_up(self._accounts, tenant, now))
        return False
