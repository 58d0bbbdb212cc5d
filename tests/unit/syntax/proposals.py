"""Proposals to the syntax mutator, and its answers made into programs."""

import asyncio
from collections.abc import Sequence

from evolve.answers.edit import apply_answer
from evolve.evaluation import Evaluation, Outcome
from evolve.problem import EvaluatorSpec, Problem
from evolve.program import Program
from evolve.proposal import Answer, CompletedReply, Individual, Proposal
from service.policy.syntax import SyntaxPolicy


def individual(program: Program, name: str = "cnd_parent") -> Individual:
    return Individual(candidate_id=name, program=program, evaluation=Evaluation(outcome=Outcome.OK), measures={})


def proposal(
    program: Program,
    inspirations: Sequence[Program] = (),
    *,
    seed: int = 0,
    answers: int = 8,
    samples: int = 1,
    limit: int | None = None,
) -> Proposal:
    return Proposal(
        id="prp_1",
        number=1,
        island=0,
        operator="mutate",
        parent=individual(program),
        inspirations=tuple(individual(other, f"cnd_{number}") for number, other in enumerate(inspirations)),
        seed=seed,
        answers=answers,
        samples=samples,
        limit=answers * samples if limit is None else limit,
    )


def policy(program: Program, language: str = "python") -> SyntaxPolicy:
    return SyntaxPolicy(Problem(name="test", language=language, seeds=(program,), evaluator=EvaluatorSpec(entry="run")))


def ask(asked: Proposal, language: str = "python") -> tuple[list[Answer], CompletedReply]:
    async def collect() -> tuple[list[Answer], CompletedReply]:
        replies = [reply async for reply in policy(asked.parent.program, language).propose(asked)]
        *answers, completed = replies
        assert isinstance(completed, CompletedReply)
        return [answer for answer in answers if isinstance(answer, Answer)], completed

    return asyncio.run(collect())


def children(
    program: Program,
    inspirations: Sequence[Program] = (),
    *,
    seeds: int = 30,
    language: str = "python",
) -> list[Program]:
    """What the answers to several proposals make of a program, as the search reads them."""
    found = []
    for seed in range(seeds):
        answers, _ = ask(proposal(program, inspirations, seed=seed), language)
        found += [apply_answer(program, answer.text, answer.edits, language).program for answer in answers]
    return found


def texts(text: str, *inspirations: str, seeds: int = 30, language: str = "python", path: str = "p.py") -> list[str]:
    others = [Program.of({path: other}) for other in inspirations]
    return [child.text for child in children(Program.of({path: text}), others, seeds=seeds, language=language)]
