"""Calls of the tag system. `scripts.openapi` writes them."""

from service.client.call import Call, chosen, place
from service.schemas.system import CodePage, Health, Identity, Readiness


def get_health() -> Call[Health]:
    """Report that the process is alive."""
    return Call(method="GET", path="/healthz", answer=Health)


def get_readiness() -> Call[Readiness]:
    """Report whether requests can be answered, and the state of everything that the service uses."""
    return Call(method="GET", path="/readyz", answer=Readiness)


def get_identity(challenge: str) -> Call[Identity]:
    """Prove the identity of this service to a command of the same user, without showing the key."""
    return Call(method="GET", path="/identity", params=chosen(challenge=challenge), answer=Identity)


def get_error_code(code: str) -> Call[CodePage]:
    """Explain an error code. The `type` of an error is this path."""
    return Call(method="GET", path=place("/problems/{}", code), answer=CodePage)
