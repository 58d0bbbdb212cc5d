"""Who evaluates the programs of a problem: workers of a queue, this process's sandbox, or a function."""

from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Protocol

from evolve.ports import Evaluator
from evolve.problem import Problem
from service.ports.evaluations import DeviceState
from service.ports.values import Bundle

WORKERS = "workers"  # the isolation of a run whose workers each tell their own


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluatorRequest:
    """The problem whose programs are to be evaluated.

    Attributes:
        bundle: the problem's folder.
        source: the folder that the problem was read from, or how it was submitted.
        slots: evaluations at once. 0 means as many as the place has cores.
        others: whether somebody else wrote the problem.
    """

    problem: Problem
    bundle: Bundle
    source: str = ""
    slots: int = 0
    others: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenedEvaluator:
    """An evaluator that is ready to evaluate.

    Attributes:
        isolation: the level that was reached, or `workers`.
        warnings: how programs can act outside of the isolation.
        in_process: whether programs are evaluated by the sandbox of this process.
        image: digest of the container image that they run in; empty: none, or each worker tells.
        devices: tells how the devices of its evaluations were found to be, by now.
    """

    evaluator: Evaluator
    isolation: str
    warnings: tuple[str, ...] = ()
    in_process: bool = False
    image: str = ""
    devices: Callable[[], Sequence[DeviceState]] = tuple


class EvaluatorFactory(Protocol):
    """Opens evaluators at one place. The composition root decides once which place that is."""

    def open(self, request: EvaluatorRequest) -> AbstractAsyncContextManager[OpenedEvaluator]:
        """Open the evaluator of a problem.

        Raises:
            InvalidProblemError: the evaluator cannot be used.
            RefusedError: the place offers less isolation than is required, or does not allow what the problem wants.
            UnreachableError: the queue does not answer.
        """

    def refuse_unpermitted(self, problem: Problem) -> None:
        """Refuse a submitted problem that wants more than the operator allows at this place.

        Raises:
            RefusedError: it does.
        """
