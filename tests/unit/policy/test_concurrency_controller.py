"""The limit on a server in simulated time: it fills the batch, keeps the queue short, and shares."""

import heapq
from collections import deque
from dataclasses import dataclass, field

import numpy as np
import pytest

from service.policy.concurrency_controller import FIRST_CALLS, ConcurrencyController, ConcurrencyLoad

WARM_SECONDS = 60.0


@dataclass
class Client:
    """Keeps as many calls of n requests under way as its limit says."""

    limit: ConcurrencyController | int
    choices: int = 1
    under_way: int = 0
    maximum: int = 0
    served: int = 0

    @property
    def calls(self) -> int:
        return self.limit if isinstance(self.limit, int) else self.limit.calls


@dataclass
class Batch:
    """A server with room for so many requests at once; the others wait in order. Time is simulated.

    Attributes:
        longest: the longest queue since `WARM_SECONDS`.
        sums: of each client's calls under way at its looks since then.
    """

    room: int
    clients: list[Client]
    seconds: float = 1.5
    seed: int = 1
    longest: int = 0
    served: int = 0
    sums: dict[int, list[int]] = field(default_factory=dict)

    def run(self, until: float) -> None:
        rng = np.random.default_rng(self.seed)
        queue: deque[tuple[int, int]] = deque()
        left: dict[tuple[int, int], int] = {}
        running, calls = 0, 0
        agenda: list[tuple[float, int, int, tuple[int, int] | None]] = []
        for place in range(len(self.clients)):
            heapq.heappush(agenda, (float(rng.uniform(0, 1)), len(agenda), place, None))
        ticket = len(agenda)
        while agenda and agenda[0][0] < until:
            now, _, place, call = heapq.heappop(agenda)
            client = self.clients[place]
            if call is None:
                self._look(client, place, running, len(queue), now)
                ticket += 1
                heapq.heappush(agenda, (now + float(rng.uniform(0.8, 1.2)), ticket, place, None))
            else:
                running -= 1
                left[call] -= 1
                if now >= WARM_SECONDS:
                    self.served += 1
                if not left[call]:
                    client.under_way -= 1
                    client.served += 1
            while client.under_way < client.calls:
                calls += 1
                left[place, calls] = client.choices
                queue.extend([(place, calls)] * client.choices)
                client.under_way += 1
                client.maximum = max(client.maximum, client.under_way)
            while queue and running < self.room:
                running += 1
                ticket += 1
                owner = queue.popleft()
                ends = now + self.seconds * float(rng.uniform(0.5, 1.5))
                heapq.heappush(agenda, (ends, ticket, owner[0], owner))
            if now >= WARM_SECONDS:
                self.longest = max(self.longest, len(queue))

    def _look(self, client: Client, place: int, running: int, waiting: int, now: float) -> None:
        if now >= WARM_SECONDS:
            self.sums.setdefault(place, []).append(client.under_way)
        if isinstance(client.limit, ConcurrencyController):
            client.limit.take(
                ConcurrencyLoad(running=running, waiting=waiting), now=client.under_way, maximum=client.maximum
            )
            client.maximum = client.under_way


@pytest.mark.parametrize(("room", "choices"), [(4, 1), (8, 2), (16, 2), (64, 2), (256, 4)])
@pytest.mark.parametrize("seconds", [0.3, 1.5, 20.0])
def test_the_batch_is_as_full_as_with_the_best_fixed_number_and_the_queue_is_short(
    room: int, choices: int, seconds: float
) -> None:
    until = WARM_SECONDS + 200 * max(1.0, seconds)
    fixed = Batch(room, [Client(limit=2 * room // choices, choices=choices)], seconds)
    fixed.run(until)
    free = Batch(room, [Client(limit=ConcurrencyController(1024), choices=choices)], seconds)
    free.run(until)
    assert free.served >= 0.97 * fixed.served
    assert free.longest < room
    assert free.longest < fixed.longest


def test_whoever_comes_later_gets_as_much_in_the_end() -> None:
    first = Client(limit=ConcurrencyController(1024), choices=2)
    batch = Batch(128, [first], 5.0)
    batch.run(WARM_SECONDS)
    clients = [first, *(Client(limit=ConcurrencyController(1024), choices=2) for _ in range(3))]
    first.under_way = 0
    shared = Batch(128, clients, 5.0)
    shared.run(900.0)
    means = [float(np.mean(sums)) for sums in shared.sums.values()]
    assert len(means) == 4
    # Jain's index: 1 where all have the same, 1/4 where one has all.
    assert sum(means) ** 2 / (len(means) * sum(mean**2 for mean in means)) > 0.95
    assert shared.longest < 128


def test_more_clients_than_room_keep_one_call_each() -> None:
    batch = Batch(4, [Client(limit=ConcurrencyController(16)) for _ in range(10)], 2.0)
    batch.run(300.0)
    assert all(client.served for client in batch.clients)
    assert all(client.calls >= 1 for client in batch.clients)
    assert float(np.mean([client.calls for client in batch.clients])) < 2.0


def test_it_begins_low_and_never_passes_its_ceiling() -> None:
    limit = ConcurrencyController(16)
    assert limit.calls == FIRST_CALLS
    for _ in range(50):
        limit.take(ConcurrencyLoad(running=8.0, waiting=0.0), now=16, maximum=16)
        assert limit.calls <= 16
    assert limit.calls == 16
    assert ConcurrencyController(2).calls == 2


def test_it_never_falls_below_one() -> None:
    limit = ConcurrencyController(16)
    for _ in range(50):
        limit.take(ConcurrencyLoad(running=0.0, waiting=1000.0), now=0, maximum=0)
    assert limit.calls == 1


def test_calls_that_nobody_makes_do_not_raise_it() -> None:
    limit = ConcurrencyController(64)
    for _ in range(50):
        limit.take(ConcurrencyLoad(running=1.0, waiting=0.0), now=1, maximum=FIRST_CALLS - 1)
    assert limit.calls == FIRST_CALLS


def test_a_cut_is_not_repeated_before_it_took_effect() -> None:
    limit = ConcurrencyController(64)
    limit.free()
    crowded = ConcurrencyLoad(running=16.0, waiting=48.0)
    limit.take(crowded, now=64, maximum=64)
    cut = limit.calls
    assert cut == 32
    limit.take(crowded, now=40, maximum=64)
    assert limit.calls == cut


def test_a_server_that_does_not_tell_gets_as_many_calls_as_the_settings_say() -> None:
    limit = ConcurrencyController(64)
    limit.free()
    assert limit.calls == 64


def test_a_server_that_cannot_be_asked_keeps_what_it_said_last() -> None:
    limit = ConcurrencyController(64)
    limit.miss()
    assert limit.calls == 64
    limit.take(ConcurrencyLoad(running=16.0, waiting=48.0), now=64, maximum=64)
    limit.miss()
    assert limit.calls == 32
