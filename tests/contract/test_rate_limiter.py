"""What every RateLimiter holds, in memory and on a real Redis."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from service.ports import RateLimiter
from service.queue.connection import PREFIX, connect
from service.queue.limiter import MAX_BUCKETS, MemoryRateLimiter, RedisRateLimiter
from tests.contract.queueing import HandClock

# So slow that nothing comes back during a test, unless time is moved.
RATE = (3, 3600.0)

Pass = Callable[[str, float], Awaitable[None]]


@pytest.fixture(params=["memory", "redis"])
async def bench(request: pytest.FixtureRequest) -> AsyncIterator[tuple[RateLimiter, Pass]]:
    """A limiter, and a hand that lets seconds pass for a bucket."""
    if request.param == "memory":
        clock = HandClock()

        async def forward(_: str, seconds: float) -> None:
            clock.seconds += seconds

        yield MemoryRateLimiter(RATE[0], clock, RATE[1]), forward
        return
    async with connect(request.getfixturevalue("redis_url")) as client:

        async def back(name: str, seconds: float) -> None:
            await client.hincrbyfloat(f"{PREFIX}:bucket:{name}", "at", -1000 * seconds)

        yield RedisRateLimiter(client, *RATE), back


async def test_a_bucket_gives_what_it_holds_and_then_says_when_to_come_again(bench: tuple[RateLimiter, Pass]) -> None:
    limiter, _ = bench
    taken = [await limiter.take("a") for _ in range(3)]
    assert [(one.limit, one.remaining, one.retry_after_seconds) for one in taken] == [(3, 2, 0), (3, 1, 0), (3, 0, 0)]
    refused = await limiter.take("a")
    assert (refused.limit, refused.remaining) == (3, 0)
    assert refused.retry_after_seconds == pytest.approx(1200.0, abs=5)
    assert refused.reset_seconds == pytest.approx(3600.0, abs=5)


async def test_buckets_are_apart(bench: tuple[RateLimiter, Pass]) -> None:
    limiter, _ = bench
    for _ in range(4):
        await limiter.take("a")
    assert (await limiter.take("b")).remaining == 2


async def test_a_token_comes_back_with_time(bench: tuple[RateLimiter, Pass]) -> None:
    limiter, pass_ = bench
    for _ in range(3):
        await limiter.take("a")
    await pass_("a", 600.0)
    assert (await limiter.take("a")).retry_after_seconds == pytest.approx(600.0, abs=5)
    await pass_("a", 610.0)
    assert [(await limiter.take("a")).retry_after_seconds > 0 for _ in range(2)] == [False, True]


async def test_a_refused_call_costs_nothing(bench: tuple[RateLimiter, Pass]) -> None:
    limiter, _ = bench
    refused = [await limiter.take("a") for _ in range(9)][3:]
    assert {round(one.retry_after_seconds, -1) for one in refused} == {1200.0}


async def test_a_bucket_does_not_overflow(bench: tuple[RateLimiter, Pass]) -> None:
    limiter, pass_ = bench
    await limiter.take("a")
    await pass_("a", 7200.0)
    assert (await limiter.take("a")).remaining == 2


async def test_calls_at_once_get_no_more_than_there_is(bench: tuple[RateLimiter, Pass]) -> None:
    limiter, _ = bench
    taken = await asyncio.gather(*(limiter.take("a") for _ in range(20)))
    assert sum(one.retry_after_seconds == 0 for one in taken) == 3


async def test_a_limiter_whose_redis_is_away_lets_everything_pass(tmp_path: Path) -> None:
    async with connect(f"unix://{tmp_path}/nobody.sock") as client:
        limiter = RedisRateLimiter(client, *RATE)
        assert {(await limiter.take("a")).retry_after_seconds for _ in range(5)} == {0}


async def test_a_bucket_on_redis_stays_no_longer_than_it_needs_to_fill(redis_url: str) -> None:
    async with connect(redis_url) as client:
        await RedisRateLimiter(client, *RATE).take("a")
        assert 0 < await client.pttl(f"{PREFIX}:bucket:a") <= 1_200_001


async def test_buckets_in_memory_do_not_pile_up() -> None:
    clock = HandClock()
    limiter = MemoryRateLimiter(RATE[0], clock, RATE[1])
    for number in range(3 * MAX_BUCKETS):
        await limiter.take(str(number))
    assert len(limiter._buckets) <= MAX_BUCKETS
    clock.seconds += 3600
    for _ in range(2):
        await limiter.take("again")
    assert (await limiter.take("again")).remaining == 0
