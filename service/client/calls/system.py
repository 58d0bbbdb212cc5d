"""Calls about the service itself and its workers."""

from types import NoneType

from service.client.call import Call, chosen, place
from service.schemas.artifacts import PolicyHealthList, PolicyPage
from service.schemas.system import CodePage, Health, Identity, Readiness
from service.schemas.workers import WorkerList, WorkerTimeline


def get_health() -> Call[Health]:
    """Whether the process lives, and of which version it is."""
    return Call(method="GET", path="/healthz", answer=Health)


def get_readiness() -> Call[Readiness]:
    """Whether everything that serving needs answers."""
    return Call(method="GET", path="/readyz", answer=Readiness)


def get_identity(challenge: str) -> Call[Identity]:
    """Have a service prove that it is the one whose file a command has read."""
    return Call(method="GET", path="/identity", params=chosen(challenge=challenge), answer=Identity)


def get_error_code(code: str) -> Call[CodePage]:
    """What a code of an error means."""
    return Call(method="GET", path=place("/problems/{}", code), answer=CodePage)


def list_policy_health() -> Call[PolicyHealthList]:
    """List how the servers of policies of running runs fare."""
    return Call(method="GET", path="/v1/policies/health", answer=PolicyHealthList)


def list_workers() -> Call[WorkerList]:
    """List workers that live."""
    return Call(method="GET", path="/v1/workers", answer=WorkerList)


def list_worker_evaluations(minutes: int = 10) -> Call[WorkerTimeline]:
    """List what workers evaluate now, and what they ended in the last minutes."""
    return Call(method="GET", path="/v1/workers/evaluations", params=chosen(minutes=minutes), answer=WorkerTimeline)


def drain_worker(worker_id: str) -> Call[None]:
    """Have a worker finish what it has and end."""
    return Call(method="POST", path=place("/v1/workers/{}/drain", worker_id), answer=NoneType)


def list_policies(*, limit: int | None = None) -> Call[PolicyPage]:
    """List the operator's policies, which a run may name."""
    return Call(method="GET", path="/v1/policies", params=chosen(limit=limit), answer=PolicyPage)
