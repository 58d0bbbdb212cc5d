"""Ids of things that are made: a prefix that says what they are, and a UUID that sorts by age."""

import secrets
import uuid
from datetime import datetime


def new_id(prefix: str, now: datetime) -> str:
    """`prefix_` and a UUID of version 7 (RFC 9562): milliseconds since the epoch, then chance; they sort by age."""
    milliseconds = int(now.timestamp() * 1000)
    value = (milliseconds << 80) | (0x7 << 76) | (secrets.randbits(12) << 64) | (0b10 << 62) | secrets.randbits(62)
    return f"{prefix}_{uuid.UUID(int=value)}"
