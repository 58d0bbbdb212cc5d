"""Scores programs with a function of the user's own, in this process: no sandbox stands between the two.

Whatever the function lets a program do, the program does in this process; `service.sandbox.evaluator` keeps it apart.
"""

import traceback
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Any

from evolve.evaluation import PLAIN, Evaluation, Outcome, ScoringRequest, read_result
from evolve.problem import Problem
from evolve.program import Program
from service.sandbox.inside.error_report import explain
from service.sandbox.inside.jsonable import NotJsonError, entries_of, jsonable, text_of

# What a call came to: what it returned, or what it raised.
Attempt = tuple[object, BaseException | None]
Source = str | dict[str, str]

ISOLATION = "none/shared"
_NOWHERE = "\0"  # no folder: what is run here has no files


class FunctionEvaluator:
    """Scores a program by one call with its text; see `evolve.ports.Evaluator`.

    Args:
        problem: whose objectives are scored.
        attempt: makes the call, and raises nothing.
        slots: calls at once.
        monotonic: seconds that never go back.
    """

    waiting = ""

    def __init__(
        self,
        problem: Problem,
        attempt: Callable[[Source], Awaitable[Attempt]],
        *,
        slots: int,
        monotonic: Callable[[], float],
    ) -> None:
        self.slots = slots
        self._problem = problem
        self._attempt = attempt
        self._monotonic = monotonic

    async def evaluate(self, program: Program, evaluation_id: str, scoring: ScoringRequest = PLAIN) -> Evaluation:
        """Score one program: its text, or path and text of each file where it has several."""
        del evaluation_id, scoring  # a function is called once
        began = self._monotonic()
        value, error = await self._attempt(program.text if program.single else dict(program.files))
        evaluation = self._returned(value) if error is None else _raised(error)
        return replace(evaluation, seconds=self._monotonic() - began, isolation=ISOLATION)

    def _returned(self, value: object) -> Evaluation:
        try:
            return read_result(self._scores(value), self._problem)
        except Exception as error:  # noqa: BLE001 - what a program made may raise anything when it is looked at
            return Evaluation(
                outcome=Outcome.INVALID, reason=f"what evaluate returned cannot be read: {_sentence(error)}"
            )

    def _scores(self, value: Any) -> object:
        """What was returned, as JSON values."""
        if hasattr(value, "metrics") and hasattr(value, "artifacts"):
            return {**entries_of(value.metrics), "artifacts": text_of(value.artifacts or {})}
        if isinstance(value, Mapping):
            return entries_of(value)
        if isinstance(value, tuple):
            return [self._scores(item) for item in value]
        try:
            return jsonable(value)
        except NotJsonError:
            return value


def _raised(error: BaseException) -> Evaluation:
    outcome = Outcome.ERROR
    if isinstance(error, TimeoutError):
        outcome = Outcome.TIMEOUT
    elif isinstance(error, MemoryError):
        outcome = Outcome.MEMORY
    return Evaluation(outcome=outcome, reason=_sentence(error))


def _sentence(error: BaseException) -> str:
    return explain(error, _NOWHERE) + _place(error)


def _place(error: BaseException) -> str:
    """The deepest line of what has no file: the program, where a function runs its text."""
    if isinstance(error, SyntaxError):
        return ""
    for frame in reversed(traceback.extract_tb(error.__traceback__, limit=-64)):
        if frame.filename.startswith("<") and not frame.filename.startswith(("<frozen", "<ipython")):
            where = "" if frame.name == "<module>" else f", in {frame.name}"
            return f" (line {frame.lineno} of the program{where})"
    return ""
