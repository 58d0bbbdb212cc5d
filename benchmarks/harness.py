"""What the benchmarks share: a run on a durable SQLite file, driven by the real runner, and a JSON report."""

import argparse
import asyncio
import gc
import json
import os
import platform
import signal
import sys
import tempfile
import uuid
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from evolve.configuration import RunConfig
from evolve.evaluation import PLAIN, Evaluation, Outcome, ScoringRequest
from evolve.ports import Evaluator, Policy
from evolve.problem import EvaluatorSpec, Objective, Problem
from evolve.program import Program
from evolve.proposal import Answer, CompletedReply, Proposal, Reply
from evolve.search.ensemble import EnsembleMember
from service.cli.main import GARBAGE_THRESHOLD
from service.db.engine import open_database
from service.db.log import SqlRunLog
from service.ports import Bundle, LoggedEvent, NewRun
from service.runner.desired_state import RunOrders
from service.runner.run_job import RunJob
from service.runner.run_loop import drive
from service.runner.status import RunStatus
from service.timestamps import SystemClock

LINES = 90


def program_text(number: int) -> str:
    """A program of about 3 KB whose one constant makes it different from every other."""
    body = "\n".join(f"    total += {line}.5 * x ** {line % 5} - y / {line + 1}.0" for line in range(LINES - 10))
    return f"def value(x, y):\n    total = {number}.0\n{body}\n    return total\n"


def toy_problem() -> Problem:
    return Problem(
        name="benchmark",
        seeds=(Program.of({"program.py": program_text(0)}),),
        evaluator=EvaluatorSpec(entry="value"),
        objectives=(Objective(name="first", low=0.0, high=1.0), Objective(name="second", low=0.0, high=1.0)),
    )


@dataclass
class InstantPolicy:
    """Answers at once with new programs of 3 KB."""

    answers: int = 4
    samples: int = 1
    concurrency: int = 8
    name: str = "instant"
    write: Callable[[int], str] = program_text
    made: int = 0

    async def propose(self, proposal: Proposal) -> AsyncGenerator[Reply, None]:
        for index in range(proposal.limit):
            self.made += 1
            yield Answer(chain=0, index=index, text=self.write(self.made))
        yield CompletedReply(completions=("",))


@dataclass
class InstantEvaluator:
    """Scores at once: a hash of the program, so that every individual differs and most are kept."""

    slots: int = 8
    waiting: str = ""

    async def evaluate(self, program: Program, evaluation_id: str, scoring: ScoringRequest = PLAIN) -> Evaluation:
        del evaluation_id, scoring
        first, second = int(program.id[4:12], 16) / 2**32, int(program.id[12:20], 16) / 2**32
        return Evaluation(outcome=Outcome.OK, scores={"first": first, "second": second})


@dataclass
class Watch:
    """Hears of every commit."""

    heard: Callable[[RunStatus], None] = lambda _: None
    events: int = field(default=0)

    def committed(self, events: Sequence[LoggedEvent], status: RunStatus) -> None:
        self.events += len(events)
        self.heard(status)


def new_job(log: SqlRunLog, problem: Problem, config: RunConfig, policy: Policy, evaluator: Evaluator) -> RunJob:
    clock = SystemClock()
    run = NewRun(
        id=f"run_{uuid.uuid4()}",
        problem_name=problem.name,
        bundle=Bundle(hash="benchmark", content=b""),
        config={},
        policies=[],
        seed=config.seed,
        integrity="separate",
        isolation="none",
        objectives=[],
        known_best=None,
        source="benchmark",
        created_at=clock.now(),
    )
    log.create(run)
    return RunJob(
        run_id=run.id,
        problem=problem,
        config=config,
        policies=[EnsembleMember(policy=policy)],
        evaluator=evaluator,
        log=log,
        clock=clock,
        owner="benchmark",
    )


def collect_rarely() -> None:
    """Look for garbage as rarely as the command does."""
    gc.set_threshold(GARBAGE_THRESHOLD)


def play(job: RunJob, watch: Watch) -> RunStatus:
    collect_rarely()
    return asyncio.run(drive(job, observer=watch, orders=RunOrders()))


def scratch() -> AbstractContextManager[str]:
    return tempfile.TemporaryDirectory(prefix="evolve-benchmark-")


def open_log(folder: str) -> SqlRunLog:
    return SqlRunLog(open_database(f"sqlite:///{Path(folder) / 'evolve.db'}"), SystemClock())


def arguments(description: str) -> argparse.ArgumentParser:
    """The options of a benchmark; from now on SIGTERM ends it as Ctrl-C does, with the processes that it started."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--out", type=Path, help="also write the report to this file")
    return parser


def report(name: str, figures: dict[str, Any], out: Path | None) -> None:
    machine = {"cores": os.cpu_count(), "python": platform.python_version(), "system": platform.platform()}
    text = json.dumps({"benchmark": name, "machine": machine, **figures}, indent=2)
    sys.stdout.write(text + "\n")
    if out is not None:
        out.write_text(text + "\n")
