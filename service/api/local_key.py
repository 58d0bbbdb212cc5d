"""The key of the user who runs a service, for commands on the same machine; it lives as long as the process."""

import hmac
from dataclasses import dataclass, field

from service.keys import identity_proof
from service.ports import DEFAULT_TENANT, Caller, Scope

ACTOR, NAME = "local", "command line"


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalKey:
    """A key with all scopes of the tenant `default`, which no table holds.

    Attributes:
        url: where the service listens, to which its proof is bound.
    """

    url: str
    text: str = field(repr=False)

    def caller(self, shown: str) -> Caller | None:
        """Who shows a key; None: it is another key."""
        if not hmac.compare_digest(shown.encode("utf-8", "replace"), self.text.encode()):
            return None
        return Caller(tenant=DEFAULT_TENANT, actor=ACTOR, name=NAME, scopes=frozenset(Scope))

    def prove(self, challenge: str) -> str:
        """What shows somebody who knows the key that this service knows it."""
        return identity_proof(self.text, self.url, challenge)
