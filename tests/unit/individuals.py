"""Individuals for tests of archives and selections."""

from collections.abc import Mapping

from evolve.evaluation import Evaluation, Outcome
from evolve.program import Program
from evolve.proposal import Individual


def individual(
    name: str, fitness: float, rewards: tuple[float, ...] | None = None, measures: Mapping[str, float] | None = None
) -> Individual:
    vector = (fitness,) if rewards is None else rewards
    return Individual(
        candidate_id=name,
        program=Program.of({"p.py": f"# {name}\n"}),
        evaluation=Evaluation(outcome=Outcome.OK),
        fitness=fitness,
        rewards=vector,
        signed_scores=vector,
        measures=measures or {},
    )
