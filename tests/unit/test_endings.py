"""Why completions ended is counted once each, however their answers come in."""

from collections.abc import Sequence
from typing import cast

from evolve.event_types import EventData
from evolve.events import Event
from evolve.payloads import describe_completion
from evolve.proposal import CompletedReply, Usage
from service.ports import LoggedEvent, RunReader
from service.projections.costs import MAX_REASONS, OTHER, Cost, Costs
from tests.contract.story import RUN, START
from tests.fakes.events import proposal_created


class Log:
    """A reader of proposals that say `stop`, and of every third `length`; it counts how often it is asked."""

    def __init__(self, last: int) -> None:
        self.last, self.asked = last, 0

    def finish_reasons(self, _: str, after: int, limit: int) -> list[tuple[int, Sequence[str]]]:
        self.asked += 1
        numbers = range(after + 1, min(self.last, after + limit) + 1)
        return [(n, ["stop", "stop" if n % 3 else "length"]) for n in numbers]


def told(number: int, data: EventData) -> LoggedEvent:
    return LoggedEvent(run_id=RUN, sequence=number, at=START, event=Event(data))


def answered(costs: Costs, *numbers: int) -> None:
    completed = CompletedReply(completions=(), usage=Usage(input=1, output=1), seconds=1.0)
    for number in numbers:
        costs.take(told(number, describe_completion(number, 1, completed, {})))


def test_each_completion_is_counted_once_in_whatever_order_it_comes() -> None:
    costs, log = Costs(), Log(2400)
    reader = cast(RunReader, log)
    for number in range(1, 2401):
        costs.take(told(number, proposal_created(number, policy="a")))
    answered(costs, 2400, *range(2, 2400))
    costs.settle(reader, RUN)
    answered(costs, 1)
    costs.settle(reader, RUN)
    costs.settle(reader, RUN)
    assert costs.by_policy()["a"].finish_reasons == {"stop": 4000, "length": 800}
    assert log.asked == 4  # three pages of all, and one of the late one


def test_a_server_that_says_something_new_each_time_fills_no_memory() -> None:
    cost = Cost()
    cost.finish(f"reason {n}" for n in range(1000))
    assert len(cost.finish_reasons) == MAX_REASONS + 1
    assert cost.finish_reasons[OTHER] == 1000 - MAX_REASONS
