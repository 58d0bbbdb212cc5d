"""Completions that hold programs, scored by running the evaluator of their problem."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from evolve.answers.chain import ChainParser
from evolve.answers.repository_edits import child_of
from evolve.errors import AnswerError, ProgramError
from evolve.evaluation import Evaluation, Outcome, reward_vector
from evolve.problem import Problem
from evolve.program import Program
from evolve.prompt.control_tokens import restore
from evolve.similarity.fingerprint import fingerprint
from evolve.vpo.group import Rollout
from training.adapters.completions import Completion, Judge
from training.errors import TrainingError
from training.records import Record, Records, Scale

if TYPE_CHECKING:
    from evolve.multiobjective.scalarization import Floats

Evaluate = Callable[[Sequence[Program]], Sequence[Evaluation]]

COLUMN, PROBLEM = "record", "problem"
KEPT = 20_000  # rewards of programs that need no second evaluation
_NOT_SCORED = (Outcome.LOST, Outcome.CANCELLED)


class ProgramJudge:
    """Reads the answers of completions as changes of the parent, evaluates each program once, and scales the rewards.

    An answer that is missing, makes no child, repeats another of its completion or fails is a row of zeros.

    Args:
        problem: of the records.
        evaluate: scores programs, in order.
        records: a completion's column `record` is the number of its record.
    """

    def __init__(self, problem: Problem, evaluate: Evaluate, records: Records) -> None:
        expected = tuple(objective.name for objective in problem.objectives)
        if records.usable[0].objectives != expected:
            raise TrainingError(
                f"The records are from another problem than {problem.name}: they have the objectives"
                f" {', '.join(records.usable[0].objectives) or 'none'}, the problem {', '.join(expected) or 'none'}."
            )
        self._problem, self._evaluate, self._records = problem, evaluate, records.usable
        bounded = [objective.bounded for objective in problem.objectives] or [False]
        self._scale = Scale.of(bounded, records.rewards)
        self._width = len(bounded)
        self._known: dict[str, Floats] = {}

    def __call__(self, completions: Sequence[Completion]) -> list[Rollout]:
        """The (m, objectives) rewards of each completion. None for a completion without a program."""
        read = [self._read(completion, self._records[completion.columns[COLUMN]]) for completion in completions]
        self._learn({key: program for children in read for key, program in children if program is not None})
        return [self._rows(children) for children in read]

    def _read(self, completion: Completion, record: Record) -> list[tuple[str, Program | None]]:
        """The program of each of the m answers: (fingerprint, program). None for an answer that counts for nothing."""
        parser = ChainParser(record.chain_format, record.answers)
        parsed = [*parser.feed(completion.text), *parser.close(completion.cut)]
        seen: set[str] = set()
        children: list[tuple[str, Program | None]] = []
        for answer in parsed:
            child = self._child(record, answer.text)
            key = fingerprint(child, self._problem.language) if child else ""
            children.append((key, None if key in seen else child))
            seen.add(key)
        return children + [("", None)] * (record.answers - len(children))

    def _child(self, record: Record, text: str) -> Program | None:
        try:
            repository, language = self._problem.repository, self._problem.language
            return child_of(repository, record.parent, restore(text), record.edits, language).program
        except (AnswerError, ProgramError):
            return None

    def _learn(self, programs: dict[str, Program]) -> None:
        """Evaluate the programs without a known result."""
        new = {key: program for key, program in programs.items() if key not in self._known}
        if len(self._known) + len(new) > KEPT:
            self._known = {key: self._known[key] for key in programs if key in self._known}
        for key, evaluation in zip(new, self._evaluate(list(new.values())), strict=True):
            if evaluation.outcome in _NOT_SCORED:
                raise TrainingError(f"A program could not be scored: {evaluation.reason or evaluation.outcome}")
            vector = reward_vector(self._problem, evaluation) if evaluation.ok else ()
            self._known[key] = self._scale.apply(vector) if vector else np.zeros(self._width)

    def _rows(self, children: Sequence[tuple[str, Program | None]]) -> Rollout:
        if all(program is None for _, program in children):
            return None
        nothing = np.zeros(self._width)
        return [nothing if program is None else self._known[key] for key, program in children]


def by_problem(judges: Sequence[ProgramJudge]) -> Judge:
    """A judge of completions of several problems: the column `problem` is the place of the judge."""

    def judge(completions: Sequence[Completion]) -> list[Rollout]:
        found: dict[int, Rollout] = {}
        for place, one in enumerate(judges):
            own = [number for number, each in enumerate(completions) if each.columns.get(PROBLEM, 0) == place]
            if own:
                found |= dict(zip(own, one([completions[number] for number in own]), strict=True))
        return [found[number] for number in range(len(completions))]

    return judge
