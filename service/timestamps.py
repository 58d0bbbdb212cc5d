"""Times as the service writes them."""

from datetime import UTC, datetime


def rfc3339(at: datetime) -> str:
    """A time by RFC 3339, in UTC, ending in `Z`."""
    return at.astimezone(UTC).isoformat().replace("+00:00", "Z")
