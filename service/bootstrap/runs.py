"""What commands do in this process, over this installation's evaluators: drive a run, check a problem or a policy."""

from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from service.bootstrap.evaluators import choose_evaluators
from service.bootstrap.policies import ConfiguredPolicies
from service.bootstrap.submissions import make_registry
from service.bootstrap.trainers import make_run_trainers
from service.config import Settings
from service.ports import DEFAULT_TENANT
from service.usecases import drive_run
from service.usecases.plan import RunOrder

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from service.db.storage import SqlStorage
    from service.policy_settings.settings import PolicySettings
    from service.problems.check import CheckReport
    from service.problems.project import Project
    from service.usecases.check_policies import PolicyReport


def open_run(
    settings: Settings, order: RunOrder, storage: "SqlStorage"
) -> AbstractAsyncContextManager[drive_run.OpenedRun]:
    """A run that an order asks for, evaluated by the workers of a queue where one is named, else by this process."""
    evaluators = choose_evaluators(settings, queue=order.queue, database=storage.url, require=order.require_isolation)
    policies = ConfiguredPolicies(settings.policies, storage.problems.bundle, storage.policies)
    registry = make_registry(settings, storage)
    order = replace(order, registered=partial(registry.settings, DEFAULT_TENANT))
    return drive_run.open_run(order, storage, policies, evaluators, make_run_trainers(settings, storage))


async def check_folder(settings: Settings, place: "Path | Project") -> "CheckReport":
    """Check a problem and run its seeds once in the sandbox of this process."""
    return await drive_run.check_folder(settings.sandbox, place, choose_evaluators(settings, queue=""))


async def check_policies(
    settings: Settings, order: RunOrder, trying: "Callable[[PolicySettings, str], None]"
) -> "list[PolicyReport]":
    """Check the policies of an order, with answers that the sandbox of this process evaluates."""
    from service.usecases import check_policies

    policies, evaluators = ConfiguredPolicies(settings.policies), choose_evaluators(settings, queue="")
    return await check_policies.check_policies(order, policies, evaluators, trying)
