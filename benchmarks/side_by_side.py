"""Evolve beside OpenEvolve on the same work: `python -m benchmarks.side_by_side`.

Both run one OpenEvolve project as it is (programs of 3 KB, an evaluator that costs next to nothing, every program kept)
against the same policy server on the same cores, in turn. Two questions: how many candidates a second they reach once
so many programs are alive, and how near they come to the ideal with a policy that takes two seconds. Evolve runs with
every layer of its sandbox, and with its programs in a pool of plain processes, which is what OpenEvolve does; one
answer a call as OpenEvolve asks, and chains of four. Every commit of Evolve is durable; OpenEvolve keeps its own
checkpoints.
"""

import asyncio
import importlib.util
import json
import statistics
import tempfile
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import AsyncExitStack
from dataclasses import dataclass
from itertools import product
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from benchmarks.harness import Watch, arguments, collect_rarely, new_job, open_log, program_text, report
from benchmarks.memory import PeakMemory
from benchmarks.openevolve import VERSION, Ran, install_openevolve, run_openevolve, write_config
from benchmarks.policy_server import policy_server
from evolve.evaluation import PLAIN, Evaluation, ScoringRequest, read_result
from evolve.problem import Problem
from evolve.program import Program
from service.policy.opening import serve
from service.policy_settings.settings import PolicySettings
from service.problems.configuration import read_config
from service.problems.load import load_problem
from service.runner.desired_state import RunOrders
from service.runner.run_loop import drive
from service.runner.status import RunStatus
from service.sandbox.evaluator import open_evaluator

EVALUATOR = """
import hashlib

def evaluate(program_path):
    with open(program_path) as file:
        text = file.read()
    namespace = {}
    exec(compile(text, program_path, "exec"), namespace)
    value = namespace["value"](0.5, 0.25)
    share = int(hashlib.sha256(text.encode()).hexdigest()[:8], 16) / 2**32
    return {"combined_score": share, "finite": float(value == value)}
"""
# Every program is kept alive.
DATABASE = """
database:
  population_size: 100000
  num_islands: 5
"""


def write_project(folder: Path, url: str, iterations: int, parallel: int) -> Path:
    folder.mkdir()
    (folder / "initial_program.py").write_text(program_text(0))
    (folder / "evaluator.py").write_text(EVALUATOR)
    write_config(folder, url, iterations, parallel, more=DATABASE)
    return folder


def rate_at(done_at: Sequence[float], live: int, window: int) -> float | None:
    """Candidates a second while the population grows from `live` on; None where it was not reached."""
    if len(done_at) < live + window:
        return None
    return window / (done_at[live + window - 1] - done_at[live - 1])


def evaluate_in_pool(folder: str, text: str) -> Any:
    """Run in a process of the pool: the evaluator imported once, the program from a file, as OpenEvolve does."""
    path = Path(folder) / "evaluator.py"
    spec = importlib.util.spec_from_file_location("evaluator", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    with tempfile.NamedTemporaryFile("w", suffix=".py") as file:
        file.write(text)
        file.flush()
        return module.evaluate(file.name)


@dataclass
class PoolEvaluator:
    """An evaluator without isolation: a pool of plain processes."""

    problem: Problem
    folder: Path
    pool: ProcessPoolExecutor
    slots: int
    waiting: str = ""

    async def evaluate(self, program: Program, evaluation_id: str, scoring: ScoringRequest = PLAIN) -> Evaluation:
        del evaluation_id, scoring
        loop = asyncio.get_running_loop()
        raw = await loop.run_in_executor(self.pool, evaluate_in_pool, str(self.folder), program.text)
        return read_result(raw, self.problem)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ours:
    """How Evolve runs: isolated or not, one answer a call or chains of four."""

    isolated: bool
    model: str
    calls: int
    slots: int

    @property
    def title(self) -> str:
        asked = "one answer a call" if self.model == "single" else "chains of 4"
        return f"Evolve, {'every layer of the sandbox' if self.isolated else 'plain processes'}, {asked}"


async def run_evolve(project: Path, url: str, ours: Ours, evaluations: int, folder: Path) -> Ran:
    loaded = load_problem(project)
    size = {"archive": {"kind": "top", "size": 100_000}}
    own = {
        "budget": {"evaluations": evaluations + 1, "patience": None},
        "concurrency": {"policy": ours.calls, "evaluations": ours.slots},
    }
    config = read_config([("the project", loaded.search), ("the benchmark", size | own)])
    tags = {"format": "tags:answer", "answers": 4} if ours.model == "chain" else {"format": "single"}
    settings = PolicySettings(base_url=url, model=ours.model, samples=1, concurrency=ours.calls, **tags)
    done_at: list[float] = []

    def hear(status: RunStatus) -> None:
        now = time.monotonic()
        done_at.extend([now] * (status.counters.evaluations - len(done_at)))

    async with AsyncExitStack() as stack:
        if ours.isolated:
            opened = open_evaluator(loaded.problem, project, slots=ours.slots, require=None)
            evaluator: Any = await stack.enter_async_context(opened)
        else:
            pool = stack.enter_context(ProcessPoolExecutor(ours.slots, mp_context=get_context("spawn")))
            evaluator = PoolEvaluator(loaded.problem, project, pool, ours.slots)
        policy = serve(settings, loaded.problem, config, {})
        await policy.check()
        stack.push_async_callback(policy.close)
        job = new_job(open_log(str(folder)), loaded.problem, config, policy, evaluator)
        with PeakMemory() as memory:
            await drive(job, observer=Watch(hear), orders=RunOrders())
    return Ran(done_at=done_at[1:], megabytes=memory.megabytes)


def growing(options: Any, home: Path, python: Path) -> dict[str, Any]:
    """Candidates a second by the number of live programs."""
    total = max(options.live) + options.window
    rates: dict[str, list[list[float | None]]] = {}
    memory: dict[str, float] = {}

    def note(title: str, runs: Sequence[Ran]) -> None:
        each = [[rate_at(ran.done_at, live, options.window) for live in options.live] for ran in runs]
        rates.setdefault(title, []).append([_middle(at_size) for at_size in zip(*each, strict=True)])
        memory[title] = max(memory.get(title, 0.0), *(round(ran.megabytes) for ran in runs))

    with policy_server() as url:
        for turn in range(options.turns):
            project = write_project(home / f"growing{turn}", url, total, options.cores)
            output = home / f"out{turn}"
            note(f"OpenEvolve {VERSION}", [run_openevolve(python, project, output, total, options.limit)])
            runs: dict[str, list[Ran]] = {}
            for again, isolated, model in product(range(options.repeats), (True, False), ("single", "chain")):
                ours = Ours(isolated=isolated, model=model, calls=options.cores * 2, slots=options.cores)
                (folder := home / f"{turn}{again}{isolated}{model}").mkdir()
                ran = asyncio.run(run_evolve(project, url, ours, total, folder))
                runs.setdefault(ours.title, []).append(ran)
            for title, several in runs.items():
                note(title, several)
    return {"candidates_per_second": _table(rates, options.live), "megabytes": memory}


def _middle(rates: Sequence[float | None]) -> float | None:
    known = [rate for rate in rates if rate is not None]
    return statistics.median(known) if len(known) == len(rates) else None


def _table(rates: Mapping[str, list[list[float | None]]], live: Sequence[int]) -> list[dict[str, Any]]:
    """A row for each system: the median rate at each size, and over OpenEvolve's, turn by turn, the median ratio."""
    (theirs, *_) = rates.values()
    rows = []
    for title, turns in rates.items():
        row: dict[str, Any] = {"system": title}
        for place, size in enumerate(live):
            known = [turn[place] for turn in turns]
            row[f"at_{size}"] = round(statistics.median(rate for rate in known if rate), 2) if all(known) else None
            pairs = [(mine, other[place]) for mine, other in zip(known, theirs, strict=True)]
            ratios = [mine / other for mine, other in pairs if mine and other]
            row[f"ratio_at_{size}"] = round(statistics.median(ratios), 2) if ratios else None
        rows.append(row)
    return rows


def waiting(options: Any, home: Path, python: Path) -> list[dict[str, Any]]:
    """Share of the ideal with a slow policy, by the calls at once; the first and the last rounds are left out."""
    rows = []
    with policy_server(options.latency) as url:
        for calls in options.calls:
            total = calls * options.rounds
            project = write_project(home / f"waiting{calls}", url, total, calls)
            ours = Ours(isolated=True, model="single", calls=calls, slots=options.cores)
            (folder := home / f"waits{calls}").mkdir()
            ideal = calls / options.latency
            for title, ran in (
                (f"OpenEvolve {VERSION}", run_openevolve(python, project, home / f"wout{calls}", total, options.limit)),
                (ours.title, asyncio.run(run_evolve(project, url, ours, total, folder))),
            ):
                rate = rate_at(ran.done_at, 2 * calls, total - 4 * calls)
                share = round(rate / ideal, 3) if rate else None
                rows.append(
                    {"system": title, "calls": calls, "share_of_ideal": share, "megabytes": round(ran.megabytes)}
                )
    return rows


def main() -> None:
    parser = arguments(__doc__ or "")
    parser.add_argument("--live", type=int, nargs="+", default=[300, 1000, 2300])
    parser.add_argument("--window", type=int, default=100)
    parser.add_argument("--turns", type=int, default=1, help="times that all of it is done, in turn")
    parser.add_argument("--repeats", type=int, default=5, help="runs of Evolve in a turn: seconds each, not minutes")
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--latency", type=float, default=2.0)
    parser.add_argument("--calls", type=int, nargs="+", default=[16, 32])
    parser.add_argument("--rounds", type=int, default=16)
    parser.add_argument(
        "--limit", type=float, default=3600.0, help="seconds after which a run of OpenEvolve is stopped"
    )
    parser.add_argument("--only", choices=["growing", "waiting"])
    parser.add_argument("--environment", type=Path, default=Path(".venv-openevolve"))
    options = parser.parse_args()
    collect_rarely()
    python = install_openevolve(options.environment.absolute())
    figures: dict[str, Any] = {"openevolve": VERSION}
    with tempfile.TemporaryDirectory(prefix="evolve-benchmark-") as name:
        home = Path(name)
        if options.only != "waiting":
            figures["growing"] = growing(options, home, python)
        if options.only != "growing":
            figures["waiting"] = waiting(options, home, python)
    report("side_by_side", json.loads(json.dumps(figures)), options.out)


if __name__ == "__main__":
    main()
