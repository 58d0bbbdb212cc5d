"""What front doors submit, over the stores and whoever evaluates here."""

from functools import partial
from typing import TYPE_CHECKING

from service.bootstrap.adapters import serve_version
from service.bootstrap.evaluators import choose_evaluators
from service.config import Settings
from service.net import Resolve
from service.policy_settings.choice import operator_policies
from service.usecases.policy_registry import StoredPolicies
from service.usecases.submit_run import BundledSubmissions

if TYPE_CHECKING:
    from service.db.storage import SqlStorage
    from service.queue.memory import MemoryBroker


def make_submissions(
    settings: Settings,
    storage: "SqlStorage",
    *,
    queue: str | None = None,
    broker: "MemoryBroker | None" = None,
    resolve: Resolve | None = None,
) -> BundledSubmissions:
    """The port Submissions of this installation.

    Args:
        settings: what the operator allows.
        storage: where problems, runs, quotas and usage are.
        queue: Redis whose workers check problems, in place of the settings' one.
        broker: the queue of this process, where there is no Redis. Without either, the sandbox of this process checks.
        resolve: gives the addresses of a host. None means the system's.

    Raises:
        UsageError: the operator's policies cannot be read.
    """
    evaluators = choose_evaluators(settings, queue=queue, broker=broker, serving=True)
    return BundledSubmissions(settings, storage, evaluators, resolve=resolve, registry=make_registry(settings, storage))


def make_registry(settings: Settings, storage: "SqlStorage") -> StoredPolicies:
    """The port PolicyRegistry of this installation.

    Raises:
        UsageError: the operator's policies cannot be read.
    """
    operators = set(operator_policies(settings.policies))
    return StoredPolicies(storage.policies, storage.clock, operators, partial(serve_version, storage))
