"""The login address of a service on your own machine. It works once."""

import hmac
import secrets
from dataclasses import dataclass, field


@dataclass(slots=True)
class OneTimeLogin:
    """An address that opens a session once. `evolve serve` prints it, so only its user can read it."""

    token: str = field(default_factory=lambda: secrets.token_urlsafe(24), repr=False)
    used: bool = False

    def use(self, token: str) -> bool:
        """Whether this token opens a session; it does so once."""
        right = not self.used and hmac.compare_digest(token.encode("utf-8", "replace"), self.token.encode())
        self.used = self.used or right
        return right
