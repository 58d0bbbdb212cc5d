"""Appraisal: what an evaluation makes of a candidate, in the terms that a search decides by."""

import numpy as np

from evolve.archives.population import Population
from evolve.configuration import MEASURED, RunConfig
from evolve.evaluation import Evaluation, fitness, reward_vector, signed_scores
from evolve.problem import Problem
from evolve.program import Program
from evolve.proposal import Candidate, Individual
from evolve.similarity.novelty import Reference


class CandidateScorer:
    """Gives candidates of one run their fitness, reward vectors and measures; the same evaluation always the same."""

    def __init__(self, problem: Problem, config: RunConfig) -> None:
        self._problem = problem
        self._reference = Reference.of(problem.seeds)
        self._built_in = {measure.name for measure in problem.measures}
        if not self._built_in and any(archive.kind in MEASURED for archive in config.archives):
            self._built_in = {"complexity", "novelty"}

    def individual(self, candidate: Candidate, evaluation: Evaluation) -> Individual:
        """A candidate with its evaluation."""
        worth = fitness(self._problem, evaluation)
        return Individual(
            candidate_id=candidate.id,
            program=candidate.program,
            evaluation=evaluation,
            fitness=worth,
            rewards=() if worth is None else reward_vector(self._problem, evaluation),
            signed_scores=() if worth is None else signed_scores(self._problem.objectives, evaluation.scores, worth),
            measures={**self._measured(candidate.program, worth), **evaluation.measures},
        )

    def early_stop_threshold(self, members: Population) -> float | None:
        """Fitness that a new candidate among these members is measured by while it is repeated: their median.

        Below the least fit of a grid, or of an archive that is not full, falls next to nothing, and below the best next
        to everything, among which selections have to choose. None where repeats are not spared, or nobody is there.
        """
        if not self._problem.evaluator.races or not len(members):
            return None
        return float(np.median(members.fitness))

    def _measured(self, program: Program, worth: float | None) -> dict[str, float]:
        """The built-in measures of a program; an evaluator that gives one of them itself is believed."""
        values = {"complexity": float(program.size)} if "complexity" in self._built_in else {}
        values |= {"novelty": self._reference.novelty(program)} if "novelty" in self._built_in else {}
        return values | ({"score": worth} if "score" in self._built_in and worth is not None else {})
