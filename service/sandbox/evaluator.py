"""Scores programs in the sandbox: the service's evaluator for runs on this machine."""

import asyncio
import contextlib
import hashlib
import json
import math
import os
import statistics
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path, PurePosixPath
from time import monotonic
from typing import Any

from evolve.evaluation import Evaluation, Outcome, read_result
from evolve.problem import Direction, Integrity, Problem
from evolve.program import Program
from service.errors import InvalidProblemError, RefusedError
from service.sandbox import owner, selftest
from service.sandbox.folder import Places, prepare
from service.sandbox.host import KeeperLine, SandboxError, Zygote
from service.sandbox.inside.cell import Cell
from service.sandbox.layers import Layer, Level

_TRIES = 2
_SPARE_SECONDS = 10.0
_FEEDBACK_CHARACTERS = 2000


class SandboxEvaluator:
    """Scores programs, each in process trees of its own; every way a program can fail is an outcome.

    Attributes:
        layers: every layer, on or off with its reason.
        level: the level that the self-test found.
    """

    def __init__(self, problem: Problem, places: Places, slots: int, force: Level) -> None:
        self._problem, self._places, self._slots, self._force = problem, places, slots, force
        self._zygote: Zygote | None = None
        self._free: asyncio.Queue[tuple[int, KeeperLine | None]] = asyncio.Queue()
        self._births = asyncio.Lock()
        self._keepers: set[KeeperLine] = set()
        self._inputs = ""
        self._problem_kb = 0
        self.layers: tuple[Layer, ...] = ()
        self.level = Level.NONE

    @property
    def slots(self) -> int:
        """Evaluations it runs at once."""
        return self._slots

    @property
    def isolation(self) -> str:
        """Level and integrity, such as `strong/separate`."""
        return f"{self.level}/{self._problem.evaluator.integrity}"

    async def evaluate(self, program: Program, evaluation_id: str) -> Evaluation:
        """Score one program, as often as the problem repeats; cancelling the call ends its processes."""
        return await self._evaluate(program, evaluation_id, "score")

    async def holdout(self, program: Program, evaluation_id: str) -> Evaluation:
        """Score one program with the evaluator's `holdout(outputs, program)` instead."""
        return await self._evaluate(program, evaluation_id, "holdout")

    async def open(self, require: Level | None) -> None:
        """Start the processes, test the sandbox and compute the inputs.

        Raises:
            RefusedError: the sandbox does not reach the level required.
            InvalidProblemError: the evaluator cannot be used.
        """
        self._problem_kb = await asyncio.to_thread(self._places.problem_kb)
        keepers = [await self._birth(number) for number in range(self._slots)]
        for number, keeper in enumerate(keepers):
            self._free.put_nowait((number, keeper))
        self.layers = keepers[0].layers
        report = await selftest.attack(keepers[0], self._running().pid, self._problem.limits)
        self.level = min(report.level, self._force, key=lambda level: level.rank)
        if require is not None and not self.level.reaches(require):
            raise RefusedError(_refusal(self.level, require, report))
        await self._compute_inputs(keepers[0])

    async def close(self) -> None:
        """End every process and remove every file."""
        await asyncio.gather(*(keeper.close() for keeper in self._keepers))
        if self._zygote is not None:
            await self._zygote.close()
        await asyncio.to_thread(self._places.remove)

    async def _evaluate(self, program: Program, evaluation_id: str, function: str) -> Evaluation:
        began = monotonic()
        number, keeper = await self._free.get()
        try:
            rounds: list[Evaluation] = []
            for repeat in range(self._problem.evaluator.repeats):
                task = self._task(program, evaluation_id, function, repeat)
                keeper, reply = await self._ask(number, keeper, task)
                rounds.append(read_reply(reply, self._problem))
                if not rounds[-1].ok:
                    break
        except asyncio.CancelledError:
            keeper = None if keeper is not None and not _lives(keeper) else keeper
            raise
        finally:
            self._free.put_nowait((number, keeper))
        return replace(combine(rounds), seconds=monotonic() - began, isolation=self.isolation)

    async def _ask(
        self, number: int, keeper: KeeperLine | None, task: Mapping[str, Any]
    ) -> tuple[KeeperLine | None, Mapping[str, Any]]:
        """Have a task done; with another keeper when one dies over it, and then no more."""
        limits = self._problem.limits
        patience = 2 * limits.wall_seconds + _SPARE_SECONDS
        complaint = ""
        for _ in range(_TRIES):
            try:
                keeper = keeper or await self._birth(number)
                return keeper, await keeper.ask(task, patience)
            except (SandboxError, InvalidProblemError) as error:
                complaint = str(error)
                if keeper is not None:
                    await self._bury(keeper)
                keeper = None
        return None, {"outcome": "lost", "reason": f"the sandbox was lost {_TRIES} times over it: {complaint}"}

    async def _birth(self, number: int) -> KeeperLine:
        async with self._births:
            replacing = self._zygote is not None
            if self._zygote is None or not self._zygote.alive:
                self._zygote = await self._warm_up()
            keeper = await self._zygote.keeper(self._cell(number), sweep=replacing)
        self._keepers.add(keeper)
        return keeper

    async def _bury(self, keeper: KeeperLine) -> None:
        keeper.kill()
        await keeper.close()
        self._keepers.discard(keeper)
        if self._zygote is not None:
            self._zygote.forget(keeper)

    async def _warm_up(self) -> Zygote:
        if self._zygote is not None:
            await self._zygote.close()
        evaluator = self._problem.evaluator
        orders = {
            "preload": list(evaluator.preload),
            "compile": self._places.sources(),
            "tree": self._force is not Level.NONE,
        }
        return await Zygote.start(evaluator.python, orders, self._places.log)

    def _running(self) -> Zygote:
        if self._zygote is None:
            raise SandboxError("the sandbox is not open")
        return self._zygote

    def _cell(self, number: int) -> Cell:
        limits, force = self._problem.limits, self._force
        return Cell(
            folder=str(self._places.cell(number)),
            problem=str(self._places.problem),
            problem_kb=self._problem_kb if self._problem.evaluator.integrity is Integrity.SHARED else 0,
            shim=str(self._places.shim),
            uid=owner.spare_user(number) if os.geteuid() == 0 and force is not Level.NONE else -1,
            wall_seconds=limits.wall_seconds,
            cpu_seconds=limits.cpu_seconds,
            memory_mb=limits.memory_mb,
            processes=limits.processes,
            disk_mb=limits.disk_mb,
            output_kb=limits.output_kb,
            network=limits.network,
            gpu=limits.gpu,
            namespaces=force.reaches(Level.STRONG),
            landlock=force.reaches(Level.MEDIUM),
            seccomp=force.reaches(Level.MEDIUM),
            tree=force.reaches(Level.WEAK),
        )

    def _task(self, program: Program, evaluation_id: str, function: str, repeat: int) -> dict[str, Any]:
        spec = self._problem.evaluator
        shared = spec.integrity is Integrity.SHARED
        return {
            "id": evaluation_id,
            "do": "evaluate" if shared else "score",
            "function": function,
            "files": dict(program.files),
            "main": main_file(program, self._problem),
            "entry": spec.entry,
            "command": list(spec.command),
            "evaluator": spec.file,
            "thresholds": [dict(threshold) for threshold in spec.stage_thresholds],
            "minimized": [o.name for o in self._problem.objectives if o.direction is Direction.MINIMIZE],
            "inputs": self._inputs,
            "seed": _seed(program, repeat),
        }

    async def _compute_inputs(self, keeper: KeeperLine) -> None:
        spec = self._problem.evaluator
        if spec.integrity is Integrity.SHARED:
            return
        task = {"id": "inputs", "do": "inputs", "evaluator": spec.file, "seed": 0}
        reply = await keeper.ask(task, self._problem.limits.wall_seconds + _SPARE_SECONDS)
        if reply["outcome"] != "ok":
            raise InvalidProblemError([f"inputs(): {reply['reason']}"])
        inputs = reply["result"]
        if inputs is not None:
            lines = "".join(json.dumps(value, separators=(",", ":")) + "\n" for value in inputs)
            await asyncio.to_thread(self._places.inputs.write_text, lines)
            self._places.inputs.chmod(0o600)
            self._inputs = str(self._places.inputs)


@asynccontextmanager
async def open_evaluator(
    problem: Problem, folder: Path, slots: int, *, require: Level | None, force: Level | None = None
) -> AsyncIterator[SandboxEvaluator]:
    """An evaluator for one problem, warm and tested; closing it leaves no process and no file.

    Args:
        problem: what is scored, and within which limits.
        folder: the problem's folder, copied at once.
        slots: evaluations at once.
        require: the weakest level that will do; None: any.
        force: use no layer above this level.

    Raises:
        RefusedError: the host does not reach the level required.
        InvalidProblemError: the folder or the evaluator cannot be used.
    """
    places = await asyncio.to_thread(prepare, folder, slots)
    evaluator = SandboxEvaluator(problem, places, slots, force or Level.STRONG)
    try:
        await evaluator.open(require)
        yield evaluator
    finally:
        await asyncio.shield(evaluator.close())


def main_file(program: Program, problem: Problem) -> str:
    """The file of a program that is imported or handed on; empty: its folder."""
    paths = [path for path, _ in program.files]
    if problem.main in paths:
        return problem.main
    if program.single:
        return paths[0]
    if problem.evaluator.integrity is Integrity.SHARED:
        return ""
    named = [path for path in paths if PurePosixPath(path).stem in {"main", "__init__"}]
    return named[0] if named else paths[0]


def read_reply(reply: Mapping[str, Any], problem: Problem) -> Evaluation:
    """An evaluation of what a keeper reported."""
    outcome, reason = Outcome(reply["outcome"]), str(reply.get("reason", ""))
    if outcome is Outcome.OK:
        return read_result(reply.get("result"), problem)
    printed = str(reply.get("printed", "")).strip()[-_FEEDBACK_CHARACTERS:]
    if outcome is Outcome.STAGE:
        return replace(read_result(reply.get("result"), problem), outcome=outcome, reason=reason)
    return Evaluation(outcome=outcome, reason=reason, feedback=f"it printed:\n{printed}" if printed else "")


def combine(rounds: Sequence[Evaluation]) -> Evaluation:
    """Several evaluations of one program as one: means, and the sample standard deviation of each score.

    The first that is not ok stands for all.
    """
    if len(rounds) == 1 or not rounds[-1].ok:
        return rounds[-1]
    scores = _means([one.scores for one in rounds])
    spread = {
        name: statistics.stdev(one.scores[name] for one in rounds)
        for name in scores
        if all(name in one.scores for one in rounds)
    }
    return replace(
        rounds[-1],
        scores=scores,
        measures=_means([one.measures for one in rounds]),
        cases=_means([one.cases for one in rounds]),
        spread=spread,
    )


def _means(maps: Sequence[Mapping[str, float]]) -> dict[str, float]:
    names = [name for name in maps[0] if all(name in other for other in maps)]
    return {name: math.fsum(one[name] for one in maps) / len(maps) for name in names}


def _seed(program: Program, repeat: int) -> int:
    return int.from_bytes(hashlib.sha256(f"{program.id}/{repeat}".encode()).digest()[:4], "big")


def _lives(keeper: KeeperLine) -> bool:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(keeper.pid, 0)
        return True
    return False


def _refusal(level: Level, require: Level, report: selftest.Report) -> str:
    off = [f"{layer.name}: {layer.reason}" for layer in report.layers if not layer.on]
    through = [attack.name for attack in report.attacks if not attack.blocked]
    why = "; ".join([*off, *(f"{name} came through" for name in through)]) or "it was switched down"
    return f"the sandbox reaches the level {level}, and {require} is required ({why})"
