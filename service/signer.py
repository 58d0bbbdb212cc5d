"""The server's one secret, and what is made of it: keyed hashes of keys, cursors and tokens that nobody can forge."""

import base64
import binascii
import hashlib
import hmac
import json
from collections.abc import Mapping
from typing import Any

from service.errors import UsageError

MIN_SECRET_LENGTH = 32


class Signer:
    """Keyed hashes and signed values; each purpose has a key of its own, derived from the secret.

    Args:
        secret: at least 32 characters that nobody else knows; another secret makes all keys and tokens void.

    Raises:
        UsageError: it is too short.
    """

    def __init__(self, secret: str) -> None:
        if len(secret) < MIN_SECRET_LENGTH:
            raise UsageError(
                f"the secret of the API is too short: give api.secret {MIN_SECRET_LENGTH} characters or more"
            )
        self._secret = secret.encode()

    def digest(self, purpose: str, text: str) -> str:
        """HMAC-SHA256 of a text, 64 hex digits."""
        return hmac.new(self._key(purpose), text.encode("utf-8", "surrogatepass"), hashlib.sha256).hexdigest()

    def sign(self, purpose: str, value: Mapping[str, Any]) -> str:
        """A value as an opaque text for addresses, with its signature."""
        body = json.dumps(value, separators=(",", ":"), sort_keys=True).encode()
        mark = hmac.new(self._key(purpose), body, hashlib.sha256).digest()[:16]
        return base64.urlsafe_b64encode(mark + body).rstrip(b"=").decode()

    def open(self, purpose: str, token: str) -> Mapping[str, Any] | None:
        """The value of a text that `sign` made for this purpose; None: it is another's."""
        try:
            raw = base64.b64decode(token.encode("ascii") + b"=" * (-len(token) % 4), b"-_", validate=True)
        except (UnicodeEncodeError, binascii.Error, ValueError):
            return None
        mark, body = raw[:16], raw[16:]
        if not hmac.compare_digest(mark, hmac.new(self._key(purpose), body, hashlib.sha256).digest()[:16]):
            return None
        value: Mapping[str, Any] = json.loads(body)
        return value

    def _key(self, purpose: str) -> bytes:
        return hmac.new(self._secret, purpose.encode(), hashlib.sha256).digest()
