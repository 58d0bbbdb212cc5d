"""Signatures of webhooks, for the sender and for receivers (Standard Webhooks 1.0.0, symmetric)."""

import base64
import binascii
import hashlib
import hmac
import secrets
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime

from service.errors import ServiceError, UsageError

PREFIX = "whsec_"
TOLERANCE_SECONDS = 300.0
_VERSION = "v1"
_NEW_BYTES = 32
_MIN_BYTES, _MAX_BYTES = 24, 64
_MAX_DIGITS = 12
_MAX_SIGNATURES = 16


class SignatureError(ServiceError):
    """A message does not come from who knows the secret, or not now."""


def new_secret() -> str:
    """A secret that nobody has seen: `whsec_` and base64."""
    return PREFIX + base64.b64encode(secrets.token_bytes(_NEW_BYTES)).decode()


def sign(secret_texts: Sequence[str], message_id: str, at: datetime, body: bytes) -> dict[str, str]:
    """Headers that sign a message with each of the secrets.

    Args:
        secret_texts: `whsec_` and base64 of 24 to 64 bytes; two while one takes the other's place.
        message_id: the same in every attempt at a message, so that a receiver takes it once.
        at: time of the attempt.
        body: what is sent, byte for byte.

    Raises:
        UsageError: a secret is none.
    """
    stamp = str(int(at.timestamp()))
    keys = [read_secret(text) for text in secret_texts]
    return {
        "webhook-id": message_id,
        "webhook-timestamp": stamp,
        "webhook-signature": " ".join(f"{_VERSION},{_signature(key, message_id, stamp, body)}" for key in keys),
    }


def verify(
    secret_texts: Sequence[str],
    headers: Mapping[str, str],
    body: bytes,
    now: datetime,
    tolerance_seconds: float = TOLERANCE_SECONDS,
) -> None:
    """Check that a message was signed with one of the secrets, lately; for receivers, before they read the body.

    A receiver that keeps the ids of the last minutes takes no message twice.

    Args:
        secret_texts: `whsec_` and base64.
        headers: of the request; upper and lower case are the same.
        body: as it came, byte for byte.
        now: the time.
        tolerance_seconds: how far the clocks may be apart, and how long a message may be on its way.

    Raises:
        SignatureError: it was not; the body is not to be trusted.
        UsageError: a secret is none.
    """
    keys = [read_secret(text) for text in secret_texts]
    lower = {name.lower(): value for name, value in headers.items()}
    message_id, stamp = lower.get("webhook-id", ""), lower.get("webhook-timestamp", "")
    if not (message_id and stamp and lower.get("webhook-signature")):
        raise SignatureError("the message lacks webhook-id, webhook-timestamp or webhook-signature")
    if not (stamp.isascii() and stamp.isdigit() and len(stamp) <= _MAX_DIGITS):
        raise SignatureError("webhook-timestamp is not a whole number of seconds")
    if abs(now.timestamp() - int(stamp)) > tolerance_seconds:
        raise SignatureError(f"the message is more than {tolerance_seconds:g} seconds away from now")
    expected = [_signature(key, message_id, stamp, body).encode() for key in keys]
    given = list(_given(lower["webhook-signature"]))
    if not any(hmac.compare_digest(mine, theirs) for mine in expected for theirs in given):
        raise SignatureError("no signature of the message fits")


def read_secret(text: str) -> bytes:
    """The key that a secret is.

    Raises:
        UsageError: it is no base64 of 24 to 64 bytes.
    """
    try:
        key = base64.b64decode(text.removeprefix(PREFIX), validate=True)
    except (binascii.Error, ValueError):
        key = b""
    if not _MIN_BYTES <= len(key) <= _MAX_BYTES:
        raise UsageError(
            f"the secret of a webhook must be {PREFIX} and base64 of {_MIN_BYTES} to {_MAX_BYTES} bytes"
        ) from None
    return key


def _signature(key: bytes, message_id: str, stamp: str, body: bytes) -> str:
    signed = b".".join((message_id.encode(), stamp.encode(), body))
    return base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()


def _given(header: str) -> Iterator[bytes]:
    for entry in header.split(" ")[:_MAX_SIGNATURES]:
        version, _, signature = entry.partition(",")
        if version == _VERSION:
            yield signature.encode("utf-8", "replace")
