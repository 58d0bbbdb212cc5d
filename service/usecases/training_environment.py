"""A problem as a package with an environment for reinforcement learning, which the library verifiers loads."""

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evolve.credit.operators import MUTATE
from evolve.errors import EvolveError
from evolve.evaluation import Evaluation, Outcome, fitness, reward_vector, signed_scores
from evolve.ports import Evaluator
from evolve.problem import Problem
from evolve.program import Program
from evolve.prompt import PromptRequest, build_prompt
from evolve.proposal import Individual, Proposal
from evolve.version import __version__
from service.errors import ConflictError, UsageError
from service.ports import Bundle
from service.problems.bundle import unpack

FORMAT, EDITS = "tags:answer", "rewrite"
PARENTS, PROBLEM = "parents.jsonl", "problem"
MAX_PARENTS = 64
MAX_NAME_CHARACTERS = 60
# Characters for a token: a prompt is built before anybody knows the model.
_CHARACTERS_PER_TOKEN = 3.5
_CONTEXT_TOKENS = 32_768
_PROJECT = """\
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"

[project]
name = "{name}"
version = "0.1.0"
description = "A problem of Evolve as an environment of verifiers"
requires-python = ">=3.11"
dependencies = ["evolve-search", "verifiers>=0.4"]

[tool.hatch.build.targets.wheel]
packages = ["{module}"]
"""
# It has no text of the problem: what runs where it is installed is the same for every problem.
_MODULE = '''\
"""A problem as an environment of verifiers: a completion is a program, which the evaluator of the problem scores."""

from functools import cache
from pathlib import Path

import httpx
import verifiers.v1 as vf

from service.notebook.completion_scorer import CompletionScorer

__all__ = ["ProblemEnv", "ProblemHarness", "ProblemTaskset"]


@cache
def open_scorer(require_isolation: str | None, slots: int) -> CompletionScorer:
    return CompletionScorer(Path(__file__).parent, require_isolation=require_isolation, slots=slots)


class ProgramData(vf.TaskData):
    """The place of the parent among the parents."""

    parent: int


class ProgramTaskConfig(vf.TaskConfig):
    """The weakest isolation of the sandbox (None: that of the settings), and evaluations at once (0: one a core)."""

    require_isolation: str | None = None
    slots: int = 0


class ProgramTask(vf.Task[ProgramData, vf.State, ProgramTaskConfig]):
    """Change the parent. The program in the reply is evaluated in the sandbox."""

    @vf.reward
    async def reward(self, trace: vf.Trace) -> float:
        return (await self._scores(trace))["reward"]

    @vf.metric
    async def scores(self, trace: vf.Trace) -> dict[str, float]:
        return {name: value for name, value in (await self._scores(trace)).items() if name != "reward"}

    async def _scores(self, trace: vf.Trace) -> dict[str, float]:
        scorer = open_scorer(self.config.require_isolation, self.config.slots)
        return await scorer.scores(trace.last_reply, self.data.parent)


class ProblemTasksetConfig(vf.TasksetConfig):
    """Tasks are the parents, in their order."""

    task: ProgramTaskConfig = ProgramTaskConfig()


class ProblemTaskset(vf.Taskset[ProgramTask, ProblemTasksetConfig]):
    """A task for each parent."""

    def load(self) -> list[ProgramTask]:
        scorer = open_scorer(self.config.task.require_isolation, self.config.task.slots)
        return [self._task(place, parent) for place, parent in enumerate(scorer.parents)]

    def _task(self, place, parent) -> ProgramTask:
        data = ProgramData(id=parent.candidate_id, parent=place, system_prompt=parent.system, prompt=parent.user)
        return ProgramTask(data, self.config.task)


class ProblemHarnessConfig(vf.HarnessConfig):
    """Nothing beside what each harness has."""


class ProblemHarness(vf.Harness[ProblemHarnessConfig]):
    """Asks the model once, from this process."""

    APPENDS_SYSTEM_PROMPT = True
    EXECUTES_CODE = False
    NEEDS_CONTAINER = False

    async def launch(self, ctx, trace, runtime, endpoint, secret, mcp_urls, data) -> vf.ProgramResult:
        system, prompt = self.resolve_text_prompt(data)
        messages = [{"role": "system", "content": system}] if system else []
        body = {"model": ctx.model, "messages": [*messages, {"role": "user", "content": prompt}]}
        async with httpx.AsyncClient(timeout=None, trust_env=False) as client:
            headers = {"Authorization": f"Bearer {secret}"}
            answer = await client.post(f"{endpoint}/chat/completions", json=body, headers=headers)
        return vf.ProgramResult(exit_code=0 if answer.is_success else 1, stdout="", stderr=answer.text[-2000:])


class ProblemEnvConfig(vf.SingleAgentEnvConfig):
    """The harness needs nothing but this process."""

    agent: vf.AgentConfig = vf.AgentConfig(runtime=vf.SubprocessConfig())


class ProblemEnv(vf.Env[ProblemEnvConfig]):
    """One reply, scored in the sandbox."""

    async def run(self, task, agents) -> None:
        await agents.agent.run(task)

    async def stop(self) -> None:
        task = self.taskset.config.task
        await open_scorer(task.require_isolation, task.slots).close()
'''
_README = """\
# {name}

The problem in `{module}/{folder}` as an environment of [verifiers](https://github.com/PrimeIntellect-ai/verifiers). A
prompt describes the problem and shows a parent program. A completion is a new program, which the problem's evaluator
scores in Evolve's sandbox.

    pip install -e .
    vf-eval {name} --model MODEL --client.base-url URL

Written by `evolve export --verifiers` of Evolve {version}, with {parents} in `{module}/{file}`.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class ParentProgram:
    """A program that a prompt shows, as a row of the environment.

    Attributes:
        system, user: the messages of the prompt.
    """

    candidate_id: str
    program: Program
    fitness: float
    system: str
    user: str

    def as_json(self) -> dict[str, Any]:
        """The row as JSON."""
        return {
            "candidate_id": self.candidate_id,
            "files": dict(self.program.files),
            "fitness": self.fitness,
            "system": self.system,
            "user": self.user,
        }


async def seed_parents(problem: Problem, evaluator: Evaluator) -> list[ParentProgram]:
    """The seeds of a problem as parents, each evaluated once.

    Raises:
        UsageError: no seed can be scored.
    """
    found, reason = [], "there is no seed"
    for number, seed in enumerate(problem.seeds):
        evaluation = await evaluator.evaluate(seed, f"evl_seed_{number}")
        if evaluation.ok:
            found.append(_parent(problem, f"seed_{number}", seed, evaluation))
        else:
            reason = evaluation.reason or str(evaluation.outcome)
    if not found:
        raise UsageError(f"no seed of the problem {problem.name} can be scored: {reason}")
    return found


def candidate_parents(problem: Problem, lines: Iterable[str]) -> list[ParentProgram]:
    """The best valid candidates of a run as parents, at most `MAX_PARENTS` different programs, the best first.

    Args:
        problem: of the run.
        lines: its export as JSON Lines.

    Raises:
        UsageError: no candidate was scored.
    """
    best: dict[Program, tuple[float, dict[str, Any]]] = {}
    for record in map(json.loads, lines):
        if record["fitness"] is not None:
            best.setdefault(Program.of(record["files"]), (record["fitness"], record))
    chosen = sorted(best.items(), key=lambda item: -item[1][0])[:MAX_PARENTS]
    if not chosen:
        raise UsageError("no candidate of the run was scored: export another run, or the problem's folder")
    return [
        _parent(problem, record["candidate_id"], program, Evaluation(outcome=Outcome.OK, scores=record["scores"]))
        for program, (_, record) in chosen
    ]


def write_environment(folder: Path, problem: Problem, bundle: Bundle, parents: Iterable[ParentProgram]) -> str:
    """Write a package into a new or empty folder. Returns the name by which verifiers loads it.

    Raises:
        ConflictError: the folder holds something.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ConflictError(f"{folder} is not an empty folder: name a new one")
    name = package_name(problem.name)
    module = name.replace("-", "_")
    package = folder / module
    unpack(bundle, package / PROBLEM)
    rows = [json.dumps(parent.as_json(), allow_nan=False) for parent in parents]
    count = "1 parent" if len(rows) == 1 else f"{len(rows)} parents"
    about = {"name": name, "module": module, "folder": PROBLEM, "version": __version__}
    texts = {
        folder / "pyproject.toml": _PROJECT.format(**about),
        folder / "README.md": _README.format(**about, parents=count, file=PARENTS),
        package / "__init__.py": _MODULE,
        package / PARENTS: "\n".join(rows) + "\n",
    }
    for path, text in texts.items():
        path.write_text(text, encoding="utf-8")
    return name


def package_name(problem_name: str) -> str:
    """Name of the package of a problem: lower-case ASCII letters, digits and single hyphens."""
    words = re.sub(r"[^a-z0-9]+", "-", problem_name.lower())[:MAX_NAME_CHARACTERS].strip("-")
    return f"evolve-{words or 'problem'}"


def read_parents(path: Path) -> Iterator[ParentProgram]:
    """The parents of an environment.

    Raises:
        UsageError: a line is not a parent.
    """
    for number, line in enumerate(path.read_text(encoding="utf-8").rstrip("\n").split("\n"), start=1):
        try:
            raw = json.loads(line)
            yield ParentProgram(
                candidate_id=str(raw["candidate_id"]),
                program=Program.of(raw["files"]),
                fitness=float(raw["fitness"]),
                system=str(raw["system"]),
                user=str(raw["user"]),
            )
        except (KeyError, TypeError, ValueError, AttributeError, EvolveError) as error:
            raise UsageError(f"line {number} of {path} is not a parent: {error}") from error


def _parent(problem: Problem, candidate_id: str, program: Program, evaluation: Evaluation) -> ParentProgram:
    worth = fitness(problem, evaluation)
    assert worth is not None  # its outcome is ok
    individual = Individual(
        candidate_id=candidate_id,
        program=program,
        evaluation=evaluation,
        fitness=worth,
        rewards=reward_vector(problem, evaluation),
        signed_scores=signed_scores(problem.objectives, evaluation.scores, worth),
        measures={},
    )
    proposal = Proposal(id=f"prp_{candidate_id}", number=1, island=0, operator=MUTATE, parent=individual)
    request = PromptRequest(
        problem=problem, proposal=proposal, format=FORMAT, edits=EDITS, context_tokens=_CONTEXT_TOKENS
    )
    prompt = build_prompt(request, lambda text: round(len(text) / _CHARACTERS_PER_TOKEN))
    system, user = prompt.messages
    return ParentProgram(
        candidate_id=candidate_id, program=program, fitness=worth, system=system.content, user=user.content
    )
