"""Scores completions as programs of a problem, for the environment that `evolve export --verifiers` writes."""

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import numpy as np

from evolve.answers.chain import ChainParser, parse_format
from evolve.answers.edit import apply_answer
from evolve.errors import AnswerError, ProgramError
from evolve.evaluation import Evaluation, Outcome, fitness, reward_vector
from evolve.identity import digest
from evolve.ports import Evaluator
from evolve.prompt.control_tokens import restore
from service.bootstrap.evaluators import choose_evaluators
from service.config import load_settings
from service.errors import UnreachableError
from service.ports import Bundle, EvaluatorRequest
from service.problems.load import load_problem
from service.usecases.training_environment import EDITS, FORMAT, PARENTS, PROBLEM, ParentProgram, read_parents
from service.worker.evaluator_cache import Evaluators

REWARD, VALID, FITNESS = "reward", "valid", "fitness"
# Results of texts, so that a reward and its metrics cost one evaluation.
MAX_RESULTS = 1_000
_NOT_SCORED = (Outcome.LOST, Outcome.CANCELLED)


class CompletionScorer:
    """Scores completions in a sandbox, each text once.

    The reward is from 0 to 1, and 0 without a valid program. If the problem declares bounds, it is the weighted mean of
    the objectives. Without bounds, 0.5 means as good as the parent.

    Args:
        folder: of the package, with the problem and the parents.
        require_isolation: weakest isolation of the sandbox. None: that of the settings.
        slots: evaluations at once. 0: as many as this process has cores.

    Attributes:
        parents: the programs that prompts show.

    Raises:
        UsageError: the parents cannot be read.
        InvalidProblemError: the problem cannot be read.
    """

    def __init__(self, folder: Path, *, require_isolation: str | None = None, slots: int = 0) -> None:
        place = folder / PROBLEM
        self._source, self._slots = str(place.resolve()), slots
        loaded = load_problem(place)
        self._problem, self._bundle = loaded.problem, loaded.bundle
        self.parents: Sequence[ParentProgram] = tuple(read_parents(folder / PARENTS))
        self._factory = choose_evaluators(load_settings(), queue="", require=require_isolation)
        self._opened: dict[asyncio.AbstractEventLoop, Evaluators] = {}
        self._results: OrderedDict[tuple[int, str], asyncio.Task[dict[str, float]]] = OrderedDict()

    async def scores(self, text: str, parent: int) -> dict[str, float]:
        """Score a completion: `reward`, `valid`, and of a valid program `fitness` and `reward_OBJECTIVE`.

        Args:
            text: of the completion.
            parent: place of the parent that its prompt showed.

        Raises:
            UnreachableError: the sandbox could not evaluate the program. That is not the program's fault.
        """
        key, loop = (parent, text), asyncio.get_running_loop()
        found = self._results.get(key)
        if found is None or not (found.done() or found.get_loop() is loop):
            found = self._results[key] = loop.create_task(self._scored(text, self.parents[parent]))
            if len(self._results) > MAX_RESULTS:
                self._results.popitem(last=False)
        return await asyncio.shield(found)

    async def close(self) -> None:
        """End the processes of the sandbox."""
        opened = self._opened.pop(asyncio.get_running_loop(), None)
        if opened is not None:
            await opened.close()

    async def _scored(self, text: str, parent: ParentProgram) -> dict[str, float]:
        evaluation = await self._evaluate(text, parent)
        if evaluation is None or not evaluation.ok:
            return {REWARD: 0.0, VALID: 0.0}
        worth = fitness(self._problem, evaluation)
        assert worth is not None  # its outcome is ok
        vector = zip(self._problem.objective_names, reward_vector(self._problem, evaluation), strict=True)
        rewards = {f"reward_{name}": value for name, value in vector}
        return {REWARD: self._reward(evaluation, worth, parent), VALID: 1.0, FITNESS: worth, **rewards}

    def _reward(self, evaluation: Evaluation, worth: float, parent: ParentProgram) -> float:
        objectives = self._problem.objectives
        if objectives and all(objective.bounded for objective in objectives):
            values = [objective.normalise(evaluation.scores[objective.name]) for objective in objectives]
            return float(np.average(values, weights=[objective.weight for objective in objectives]))
        gain = (worth - parent.fitness) / (abs(parent.fitness) or 1.0)
        return 0.5 * (1.0 + gain / (1.0 + abs(gain)))

    async def _evaluate(self, text: str, parent: ParentProgram) -> Evaluation | None:
        """The evaluation of the program in a text. None: there is none."""
        parser = ChainParser(parse_format(FORMAT), 1)
        answers = [*parser.feed(text), *parser.close(cut=False)]
        if not answers:
            return None
        try:
            program = apply_answer(parent.program, restore(answers[0].text), EDITS, self._problem.language).program
        except (AnswerError, ProgramError):
            return None
        evaluation_id = f"evl_{digest(f'{parent.candidate_id}/{text}')}"
        async with self._evaluators().use(self._bundle.hash) as evaluator:
            evaluation = await evaluator.evaluate(program, evaluation_id)
        if evaluation.outcome in _NOT_SCORED:
            raise UnreachableError(f"a program could not be evaluated: {evaluation.reason or evaluation.outcome}")
        return evaluation

    def _evaluators(self) -> Evaluators:
        loop = asyncio.get_running_loop()
        if loop not in self._opened:
            self._opened[loop] = Evaluators(self._open, self._fetch, kept=1, maximum=1)
        return self._opened[loop]

    async def _fetch(self, _: str) -> Bundle:
        return self._bundle

    @asynccontextmanager
    async def _open(self, bundle: Bundle) -> AsyncIterator[Evaluator]:
        request = EvaluatorRequest(problem=self._problem, bundle=bundle, source=self._source, slots=self._slots)
        async with self._factory.open(request) as opened:
            yield opened.evaluator
