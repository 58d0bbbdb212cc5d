"""What a policy is asked in a run on the maze of the examples, about walks made for the purpose."""

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

from evolve.domains import MazeDomain
from evolve.domains.maze import best, maze_of, reward, walk
from evolve.evaluation import Evaluation, Outcome
from evolve.problem import Problem
from evolve.program import Program
from evolve.prompt import PromptRequest, build_prompt
from evolve.proposal import Individual, Proposal
from service.problems.load import load_problem

EXAMPLE = Path(__file__).parents[3] / "examples" / "maze"
MAZE = maze_of("hard", "questions", 0)  # that of the example


@cache
def example() -> Problem:
    return load_problem(EXAMPLE).problem


@cache
def walked(weights: Sequence[float] = (0.25, 0.25, 0.25, 0.25)) -> str:
    """The moves of a walk that is best under the weights."""
    return best(MAZE, weights).moves


def individual(text: str, name: str = "parent", **changes: object) -> Individual:
    """A walk as an archive holds it; the keyword arguments change its evaluation."""
    answer = MazeDomain().parse(text).answers[0] or ""
    scores = dict(zip(MazeDomain().objectives(MAZE), reward(MAZE, walk(MAZE, answer)).tolist(), strict=True))
    evaluation = replace(Evaluation(outcome=Outcome.OK, scores=scores), **changes)  # type: ignore[arg-type] # any field
    return Individual(
        candidate_id=name, program=Program.of({"seed.txt": text}), evaluation=evaluation, fitness=0.5, measures={}
    )


def messages(parent: Individual, answers: int = 4, **changes: object) -> list[dict[str, str]]:
    """The messages of a proposal; the keyword arguments change it."""
    proposal = Proposal(
        id="prp_1", number=1, island=0, operator="mutate", parent=parent, answers=answers, limit=answers
    )
    proposal = replace(proposal, **changes)  # type: ignore[arg-type] # any field
    prompt = build_prompt(PromptRequest(problem=example(), proposal=proposal, format="tags:route"), len)
    return [{"role": message.role, "content": message.content} for message in prompt.messages]
