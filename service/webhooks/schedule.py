"""When a message that was not taken is sent again: ten tries over about three days."""

from datetime import datetime, timedelta

# The example schedule of Standard Webhooks 1.0.0; the first try is made at once.
DELAYS = tuple(
    timedelta(seconds=seconds)
    for seconds in (5, 5 * 60, 30 * 60, 2 * 3600, 5 * 3600, 10 * 3600, 14 * 3600, 20 * 3600, 24 * 3600)
)
TRIES = len(DELAYS) + 1
JITTER = 0.2
MAX_DELAY = timedelta(days=1)


def next_try(attempts: int, now: datetime, draw: float, asked_seconds: float = 0.0) -> datetime | None:
    """When to try again; None: it was tried often enough.

    Args:
        attempts: how often it was tried.
        now: when the last one ended.
        draw: chance in [0, 1), which spreads the tries over a fifth of the delay more, so that not all come at once.
        asked_seconds: how long the receiver asked to be left alone, by `Retry-After`; at most a day is granted.
    """
    if attempts >= TRIES:
        return None
    delay = DELAYS[attempts - 1] * (1 + JITTER * draw)
    return now + max(delay, min(timedelta(seconds=asked_seconds), MAX_DELAY))
