"""What goes on beside requests goes on, whatever breaks it once."""

import asyncio
from collections.abc import Mapping, Sequence

from service.api.event_poller import EventPoller
from service.process.supervise import keep_up
from tests.contract.story import RUN
from tests.patience import PATIENCE_SECONDS


async def test_who_waits_for_a_run_hears_of_it_although_a_look_broke() -> None:
    looks = 0

    def read(run_ids: Sequence[str]) -> Mapping[str, tuple[int, str]]:
        nonlocal looks
        looks += 1
        if looks == 1:
            raise RuntimeError("nobody expected this")
        return dict.fromkeys(run_ids, (7, "running"))

    watch = EventPoller(read, 0.01)
    try:
        assert await watch.beyond(RUN, 6, 10.0)
    finally:
        await watch.aclose()
    assert looks > 1


async def test_work_without_end_begins_again_when_it_breaks() -> None:
    begun, again = 0, asyncio.Event()

    async def work() -> None:
        nonlocal begun
        begun += 1
        if begun == 1:
            raise RuntimeError("nobody expected this")
        again.set()
        await asyncio.Event().wait()

    working = asyncio.create_task(keep_up("work", work, 0.0))
    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            await again.wait()
        assert not working.done()
    finally:
        working.cancel()
        await asyncio.gather(working, return_exceptions=True)
