"""Scripted agents: Python scripts that a policy starts as if they were coding agents."""

import sys
from collections.abc import AsyncIterator, Callable, Mapping
from functools import partial
from pathlib import Path
from textwrap import dedent

import pytest

from evolve.configuration import RunConfig
from evolve.evaluation import Evaluation, Outcome
from evolve.problem import EvaluatorSpec, Problem
from evolve.program import Program
from evolve.proposal import Answer, CompletedReply, Individual, Proposal
from evolve.repository import Repository
from service.agents.policy import AgentPolicy
from service.policy.prompt_builder import FilesForm, prompt_builder
from service.policy_settings.settings import PolicySettings

SINGLE = {"p.py": "x = 1\n"}
SEVERAL = {"pkg/a.py": "a = 1\n", "pkg/b.py": "b = 1\n"}
Make = Callable[..., AgentPolicy]


def proposal(files: Mapping[str, str], *, answers: int = 1, samples: int = 1, limit: int | None = None) -> Proposal:
    parent = Individual(
        candidate_id="cnd_parent",
        program=Program.of(files),
        evaluation=Evaluation(outcome=Outcome.OK, scores={"combined_score": 1.0}),
        measures={},
    )
    return Proposal(
        id="prp_1", number=1, island=0, operator="mutate", parent=parent, seed=7,
        answers=answers, samples=samples, limit=answers * samples if limit is None else limit,
    )  # fmt: skip


async def asked(policy: AgentPolicy, proposal: Proposal) -> tuple[list[Answer], CompletedReply]:
    """The answers to a proposal, and the last reply."""
    replies = [reply async for reply in policy.propose(proposal)]
    *answers, completed = replies
    assert isinstance(completed, CompletedReply)
    return [answer for answer in answers if isinstance(answer, Answer)], completed


@pytest.fixture
async def make(tmp_path: Path) -> AsyncIterator[Make]:
    """Makes the policy of a scripted agent; the keyword arguments are settings."""
    made: list[AgentPolicy] = []

    def policy(
        source: str, *, files: Mapping[str, str] = SINGLE, key: str | None = None, variables: Mapping[str, str] = {},
        repository: Repository | None = None, **settings: object,
    ) -> AgentPolicy:  # fmt: skip
        given = {"command": [sys.executable, "-c", dedent(source), "{prompt}"], "timeout_seconds": 20.0, **settings}
        read = PolicySettings.model_validate({"name": "agent", "kind": "agent", **given})
        problem = Problem(
            name="toy",
            description="Make x large.",
            seeds=(Program.of(files),),
            repository=repository,
            evaluator=EvaluatorSpec(entry="x"),
        )
        build = partial(prompt_builder(FilesForm(), problem, RunConfig(), {}), context_tokens=read.context_tokens)
        opened = AgentPolicy(read, build_prompt=build, key=key, environment=variables, repository=repository)
        made.append(opened)
        return made[-1]

    yield policy
    for each in made:
        await each.close()
