"""Programs that a real model writes, for Evolve and for OpenEvolve: `python -m benchmarks.models --url URL`.

Both ask one model for changes of the seed program of three examples, with the same sampling (temperature, n,
max_tokens). Evolve asks through its policy, OpenEvolve by its own prompt and parser in an environment of its own. A
program is `valid` when it is Python and its fingerprint differs from the parent's. It is `scored` when the example's
evaluator also gives it a fitness. Figures are given for each 1,000 output tokens. With `--runs`, both also run
`examples/openevolve_function` from several seeds, each until it has drawn `--run-tokens` output tokens.
"""

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from benchmarks.harness import arguments, report, scratch
from benchmarks.model_runs import compare_runs
from benchmarks.openevolve import VERSION, install_openevolve
from evolve.answers.edit import apply_answer
from evolve.answers.python_source import parse_python
from evolve.errors import AnswerError, ProgramError
from evolve.evaluation import Evaluation, Outcome, fitness, reward_vector
from evolve.problem import Problem
from evolve.program import Program
from evolve.proposal import Answer, CompletedReply, Individual, Proposal
from evolve.similarity.fingerprint import fingerprint
from service.policy.opening import serve
from service.policy_settings.settings import PolicySettings
from service.problems.configuration import read_config
from service.problems.load import load_problem
from service.sandbox.evaluator import open_evaluator
from tests.vllm.server import REAL, VllmServer, vllm_server

EXAMPLES = ("openevolve_function", "function_minimisation", "circle_packing")
SEED = 7
CALL_SECONDS = 3600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampling:
    """How a model is asked, the same by both systems."""

    url: str
    model: str
    samples: int
    temperature: float
    max_tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """A way of asking for changes: a system, rewrite or diff, and the answers in one completion."""

    system: str
    edits: str
    answers: int = 1

    @property
    def title(self) -> str:
        return f"{self.system}, {self.edits}, m = {self.answers}"


FORMS = (
    Form(system="openevolve", edits="diff"),
    Form(system="openevolve", edits="rewrite"),
    *(Form(system="evolve", edits=edits, answers=m) for edits in ("rewrite", "diff") for m in (1, 4)),
    Form(system="evolve", edits="continue"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawn:
    """One request for n completions: the child programs of each completion, and the output tokens of all."""

    children: Sequence[Sequence[Program]]
    tokens: int
    reasons: Mapping[str, int] = field(default_factory=dict)


class Example:
    """One example with its evaluator, its evaluated seed program and the scores of every program seen so far."""

    def __init__(self, folder: Path, evaluator: Any, loaded: Any) -> None:
        self.name, self.loaded, self.problem = folder.name, loaded, loaded.problem
        self._evaluator = evaluator
        self._scored: dict[str, Evaluation] = {}

    @property
    def seed(self) -> Program:
        seed: Program = self.problem.seeds[0]
        return seed

    async def evaluate(self, program: Program) -> Evaluation:
        if program.id not in self._scored:
            self._scored[program.id] = await self._evaluator.evaluate(program, f"evl_{len(self._scored)}")
        return self._scored[program.id]

    async def draw_evolve(self, form: Form, sampling: Sampling) -> Drawn:
        settings = PolicySettings(
            base_url=sampling.url,
            model=sampling.model,
            edits=form.edits,
            answers=form.answers,
            samples=sampling.samples,
            temperature=sampling.temperature,
            max_tokens=sampling.max_tokens,
            timeout_seconds=CALL_SECONDS,
        )
        policy = serve(settings, self.problem, read_config([("the example", self.loaded.search)]), {})
        try:
            await policy.check()
            proposal = await self._proposal(form.answers, sampling.samples)
            replies = [reply async for reply in policy.propose(proposal)]
        finally:
            await policy.close()
        (end,) = [reply for reply in replies if isinstance(reply, CompletedReply)]
        answers = [reply for reply in replies if isinstance(reply, Answer)]
        return _of_answers(self.problem, self.seed, answers, end, sampling.samples)

    async def _proposal(self, answers: int, samples: int) -> Proposal:
        evaluation = await self.evaluate(self.seed)
        parent = Individual(
            candidate_id="cnd_seed",
            program=self.seed,
            evaluation=evaluation,
            fitness=fitness(self.problem, evaluation),
            rewards=reward_vector(self.problem, evaluation),
            measures={},
        )
        return Proposal(
            id="prp_1",
            number=1,
            island=0,
            operator="mutate",
            parent=parent,
            seed=SEED,
            answers=answers,
            samples=samples,
            limit=answers * samples,
        )

    async def draw_openevolve(self, form: Form, sampling: Sampling, python: Path) -> Drawn:
        evaluation = await self.evaluate(self.seed)
        (path, text), *_ = self.seed.files
        prompt_config = self.loaded.search.get("prompt", {})
        request = {
            "parent": text,
            "diff": form.edits == "diff",
            "system": prompt_config.get("system") or self.problem.description,
            "metrics": dict(evaluation.scores),
        }
        messages = ask_openevolve(python, request)
        completions, tokens = await complete(sampling, messages)
        programs = ask_openevolve(python, request | {"completions": completions})
        children = [[Program.of({path: program})] if program else [] for program in programs]
        return Drawn(children=children, tokens=tokens, reasons={"refused": sum(not program for program in programs)})

    async def count(self, drawn: Drawn) -> dict[str, Any]:
        """The figures of a request."""
        parent = fingerprint(self.seed, self.problem.language)
        valid: list[list[Program]] = [
            [child for child in chain if parses(child) and fingerprint(child, self.problem.language) != parent]
            for chain in drawn.children
        ]
        scored = [[child for child in chain if (await self.evaluate(child)).outcome is Outcome.OK] for chain in valid]
        per_thousand = 1000 / max(1, drawn.tokens)
        return {
            "completions": len(drawn.children),
            "output_tokens": drawn.tokens,
            "parsed": sum(map(len, drawn.children)),
            "valid": sum(map(len, valid)),
            "distinct": len({fingerprint(child, self.problem.language) for chain in valid for child in chain}),
            "scored": sum(map(len, scored)),
            "with_valid": sum(map(bool, valid)),
            "with_scored": sum(map(bool, scored)),
            "valid_per_1000_tokens": round(per_thousand * sum(map(len, valid)), 3),
            "scored_per_1000_tokens": round(per_thousand * sum(map(len, scored)), 3),
            "not_taken": dict(drawn.reasons),
        }


def _of_answers(
    problem: Problem, parent: Program, answers: Sequence[Answer], end: CompletedReply, samples: int
) -> Drawn:
    children: list[list[Program]] = [[] for _ in range(samples)]
    reasons: dict[str, int] = {}
    for dropped in end.dropped:
        reasons[dropped.reason] = reasons.get(dropped.reason, 0) + 1
    for answer in answers:
        try:
            children[answer.chain].append(apply_answer(parent, answer.text, answer.edits, problem.language).program)
        except (AnswerError, ProgramError) as error:
            reasons[str(error)] = reasons.get(str(error), 0) + 1
    return Drawn(children=children, tokens=end.usage.output, reasons=reasons)


def parses(program: Program) -> bool:
    try:
        for _, text in program.files:
            parse_python(text)
    except SyntaxError:
        return False
    return True


def ask_openevolve(python: Path, request: Mapping[str, Any]) -> Any:
    script = Path(__file__).with_name("openevolve_replies.py")
    done = subprocess.run(
        [python, "-P", str(script)], input=json.dumps(request), stdout=subprocess.PIPE, text=True, check=True
    )
    return json.loads(done.stdout)


async def complete(sampling: Sampling, messages: Sequence[Mapping[str, str]]) -> tuple[list[str], int]:
    """The completions of one request, and their output tokens."""
    body = {
        "model": sampling.model,
        "messages": messages,
        "n": sampling.samples,
        "seed": SEED,
        "temperature": sampling.temperature,
        "max_tokens": sampling.max_tokens,
    }
    async with httpx.AsyncClient(timeout=CALL_SECONDS) as client:
        reply = (await client.post(f"{sampling.url}/chat/completions", json=body)).raise_for_status().json()
    texts = [choice["message"]["content"] or "" for choice in reply["choices"]]
    return texts, reply["usage"]["completion_tokens"]


async def measure(folder: Path, sampling: Sampling, python: Path) -> Sequence[dict[str, Any]]:
    """The rows of one example."""
    loaded = load_problem(folder)
    rows = []
    async with open_evaluator(loaded.problem, folder, slots=1, require=None) as evaluator:
        example = Example(folder, evaluator, loaded)
        for form in FORMS:
            if form.system == "evolve":
                drawn = await example.draw_evolve(form, sampling)
            else:
                drawn = await example.draw_openevolve(form, sampling, python)
            row = {"example": example.name, "form": form.title, **await example.count(drawn)}
            sys.stderr.write(f"{row}\n")
            rows.append(row)
    return rows


def totals(rows: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """A row for each form over all examples, with its ratio to the better form of OpenEvolve."""
    sums = {}
    for form in FORMS:
        mine = [row for row in rows if row["form"] == form.title]
        keys = ("completions", "output_tokens", "valid", "distinct", "scored", "with_valid", "with_scored")
        sums[form] = {key: sum(row[key] for row in mine) for key in keys}
    for kind in ("valid", "scored"):
        for figures in sums.values():
            figures[f"{kind}_per_1000_tokens"] = round(1000 * figures[kind] / max(1, figures["output_tokens"]), 3)
        best = max(row[f"{kind}_per_1000_tokens"] for form, row in sums.items() if form.system == "openevolve")
        for figures in sums.values():
            figures[f"{kind}_ratio"] = round(figures[f"{kind}_per_1000_tokens"] / best, 2) if best else None
    for form, figures in sums.items():
        yield {"form": form.title, **figures}


def table(rows: Sequence[Mapping[str, Any]]) -> str:
    """The totals as a table in Markdown."""
    head = ("form", "completions", "with_valid", "with_scored", "valid_per_1000_tokens", "scored_per_1000_tokens",
            "valid_ratio")  # fmt: skip
    lines = [head, tuple("---" for _ in head), *(tuple(str(row[key]) for key in head) for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def serving(options: Any, home: Path) -> AbstractContextManager[VllmServer]:
    named = REAL | {"--served-model-name": options.model}
    return vllm_server(options.vllm_python.absolute(), home, "", model=options.folder.absolute(), options=named)


def main() -> None:
    parser = arguments(__doc__ or "")
    asked = parser.add_mutually_exclusive_group(required=True)
    asked.add_argument("--url", help="base URL of a server, such as http://localhost:8000/v1")
    asked.add_argument("--folder", type=Path, help="a folder of weights, served with vLLM")
    parser.add_argument("--model", default="small", help="name of the model at the server")
    parser.add_argument("--vllm-python", type=Path, default=Path(".venv-vllm/bin/python"))
    parser.add_argument("--examples", nargs="+", default=list(EXAMPLES))
    parser.add_argument("--samples", type=int, default=16)
    parser.add_argument("--temperature", type=float, default=0.5)
    parser.add_argument("--max-tokens", type=int, default=1024)
    parser.add_argument("--runs", type=int, default=5, help="seeds of the comparison of whole runs; 0: none")
    parser.add_argument("--run-tokens", type=int, default=20_000, help="output tokens of a run")
    parser.add_argument("--environment", type=Path, default=Path(".venv-openevolve"))
    options = parser.parse_args()
    python = install_openevolve(options.environment.absolute())
    with ExitStack() as stack:
        home = Path(stack.enter_context(scratch()))
        url = options.url or stack.enter_context(serving(options, home)).url
        sampling = Sampling(
            url=url.rstrip("/"), model=options.model, samples=options.samples, temperature=options.temperature,
            max_tokens=options.max_tokens,
        )  # fmt: skip
        rows: list[dict[str, Any]] = []
        for name in options.examples:
            rows += asyncio.run(measure(Path("examples") / name, sampling, python))
        summed = list(totals(rows))
        runs = compare_runs(python, sampling, home, options.runs, options.run_tokens) if options.runs else []
    sys.stderr.write(table(summed))
    figures = {"model": options.model, "openevolve": VERSION, "totals": summed, "examples": rows, "runs": runs}
    report("models", figures, options.out)


if __name__ == "__main__":
    main()
