"""How often a key may call: token buckets, on Redis for all processes that serve, or in one process."""

import asyncio
from dataclasses import dataclass

import structlog
from redis.asyncio import Redis

from service.errors import UnreachableError
from service.ports import Allowance, Clock
from service.queue.connection import PREFIX, reaching

# A call is not held up for a limiter that does not answer.
AWAY_SECONDS = 0.5
MAX_BUCKETS = 10_000

log = structlog.get_logger(__name__)

# KEYS bucket; ARGV limit, tokens a millisecond: whether one was taken, and what is left, in millionths
_TAKE = """
local time = redis.call('TIME')
local now, limit, rate = time[1] * 1000 + time[2] / 1000, tonumber(ARGV[1]), tonumber(ARGV[2])
local said = redis.call('HMGET', KEYS[1], 'tokens', 'at')
local tokens, at = tonumber(said[1]) or limit, tonumber(said[2]) or now
tokens = math.min(limit, tokens + math.max(0, now - at) * rate)
local taken = tokens >= 1
if taken then tokens = tokens - 1 end
redis.call('HSET', KEYS[1], 'tokens', string.format('%.9f', tokens), 'at', string.format('%.3f', now))
redis.call('PEXPIRE', KEYS[1], math.ceil((limit - tokens) / rate) + 1)
return {taken and 1 or 0, math.floor(tokens * 1000000)}
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rate:
    """A bucket's size, and the time in which it fills: `limit` calls at once, and as many in each period."""

    limit: int
    period_seconds: float

    def allowance(self, tokens: float, taken: bool) -> Allowance:
        """What is left in a bucket after it was asked for a token."""
        seconds = self.period_seconds / self.limit
        return Allowance(
            limit=self.limit,
            remaining=int(tokens),
            retry_after_seconds=0.0 if taken else (1 - tokens) * seconds,
            reset_seconds=(self.limit - tokens) * seconds,
        )


class RedisRateLimiter:
    """Buckets of `limit` tokens that all processes share, filled once a period; time is the server's."""

    def __init__(self, client: Redis, limit: int, period_seconds: float = 60.0) -> None:
        self._rate = _Rate(limit=limit, period_seconds=period_seconds)
        self._take = client.register_script(_TAKE)

    async def take(self, name: str) -> Allowance:
        """Take one token, if there is one; while Redis is away everything passes."""
        rate = self._rate
        args: list[str | int | float] = [rate.limit, rate.limit / rate.period_seconds / 1000]
        try:
            async with reaching(), asyncio.timeout(AWAY_SECONDS):
                taken, millionths = await self._take(keys=[f"{PREFIX}:bucket:{name}"], args=args)
        except UnreachableError as error:
            log.warning("limiter.away", reason=str(error))
            return rate.allowance(rate.limit, taken=True)
        return rate.allowance(millionths / 1e6, bool(taken))


class MemoryRateLimiter:
    """Buckets of `limit` tokens of one process, filled once a period."""

    def __init__(self, limit: int, clock: Clock, period_seconds: float = 60.0) -> None:
        self._rate, self._clock = _Rate(limit=limit, period_seconds=period_seconds), clock
        self._buckets: dict[str, tuple[float, float]] = {}

    async def take(self, name: str) -> Allowance:
        """Take one token, if there is one."""
        now = self._clock.monotonic()
        tokens = self._filled(now, *self._buckets.pop(name, (now, float(self._rate.limit))))
        taken = tokens >= 1
        tokens -= taken
        self._buckets[name] = (now, tokens)
        if len(self._buckets) > MAX_BUCKETS:
            self._forget(now)
        return self._rate.allowance(tokens, taken)

    def _filled(self, now: float, at: float, tokens: float) -> float:
        return min(self._rate.limit, tokens + (now - at) * self._rate.limit / self._rate.period_seconds)

    def _forget(self, now: float) -> None:
        """Let go of buckets that are full, and of those not used for longest where that does not suffice."""
        full = [name for name, bucket in self._buckets.items() if self._filled(now, *bucket) >= self._rate.limit]
        for name in full or list(self._buckets)[: MAX_BUCKETS // 2]:
            del self._buckets[name]
