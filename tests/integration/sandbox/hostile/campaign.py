"""Campaigns: attacks and combinations of them, drawn by a seed, run among known-good programs in one evaluator.

What must hold of each: every good program gets its exact score, no attack gets one that it has not earned or an outcome
that blames the sandbox, and afterwards everything is as it was before.
"""

import asyncio
import contextlib
import os
import random
import socket
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from evolve.evaluation import Evaluation, Outcome
from evolve.program import Program
from service.sandbox.evaluator import SandboxEvaluator
from service.sandbox.inside import process_state
from service.sandbox.layers import IsolationLevel
from tests.integration.sandbox import bench
from tests.integration.sandbox.hostile import reaching, spending
from tests.integration.sandbox.hostile.attack import ANY, PRELUDE, Attack
from tests.integration.sandbox.hostile.good import GOOD

ATTACKS: Sequence[Attack] = (*reaching.ATTACKS, *spending.ATTACKS)
INPUTS = (3, 4)
COMBINATIONS = 12
LIMITS = replace(bench.LIMITS, wall_seconds=4.0, cpu_seconds=2.0)
# A number counts as itself up to a bound that no claim of an attack stays below; all else is shown.
EVALUATOR = f"""
def inputs():
    return [[n] for n in {INPUTS}]
def score(outputs, program):
    values = [output["value"] for output in outputs]
    plain = [value for value in values if type(value) in (int, float) and abs(value) <= 1000]
    return {{"score": float(sum(plain)), "feedback": str(values[0])}}
"""
_MAILBOX_BYTES = 64
_GLANCE_SECONDS, _STALL_SECONDS = 0.05, LIMITS.wall_seconds / 4
# What the test's own event loop changes.
_OWN_AFFAIR = {"descriptors", "number of threads", "signal handlers"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One program of a campaign, and what must come of it.

    Attributes:
        name: the attack, the combination or the kind of good program.
        source: its text, braces not yet filled in.
        score: exact, if its outcome is `ok`.
    """

    name: str
    source: str
    outcomes: Collection[Outcome]
    score: float
    says: str = ""

    def complaint(self, found: Evaluation) -> str:
        """What is wrong with an evaluation of it; empty: nothing."""
        score = found.scores.get("score", 0.0)
        if found.outcome not in self.outcomes or (found.ok and score != self.score):
            return f"{self.name}: {found.outcome}, score {score} instead of {self.score}: {found.reason}"
        if self.says and found.feedback != self.says:
            return f"{self.name}: {found.feedback}"
        return f"{self.name}: no reason" if not found.ok and not found.reason else ""


def draw(seed: int, level: IsolationLevel, share: float = 1.0) -> list[Case]:
    """The programs of a campaign in their order: attacks, combinations of two, and half as many known-good programs.

    Args:
        seed: the same one draws the same campaign.
        level: whose attacks are drawn.
        share: of the attacks, how many.
    """
    chance = random.Random(seed)
    known = [attack for attack in ATTACKS if level in attack.levels]
    drawn = chance.sample(known, round(share * len(known)))
    cases = [_attack(attack) for attack in drawn]
    cases += [_combination(*chance.sample(known, 2)) for _ in range(round(share * COMBINATIONS))]
    cases += [_good(chance, level) for _ in range(len(cases) // 2)]
    chance.shuffle(cases)
    return cases


def _attack(attack: Attack) -> Case:
    return Case(
        name=attack.name, source=PRELUDE_KEPT + attack.source, outcomes=attack.outcomes, score=0.0, says=attack.says
    )


def _combination(first: Attack, second: Attack) -> Case:
    source = f"{PRELUDE_KEPT}{first.source}\nfirst = solve\n{second.source}\nsecond = solve\n" + (
        "def solve(n):\n    try: first(n)\n    except Exception: pass\n    return second(n)\n"
    )
    return Case(name=f"{first.name} + {second.name}", source=source, outcomes=ANY, score=0.0)


def _good(chance: random.Random, level: IsolationLevel) -> Case:
    kind, factor = chance.choice(sorted(GOOD)), chance.randrange(1, 1 << 12) / 1024
    source = GOOD[kind].replace("{factor}", str(factor)).replace("{sized}", str(level is IsolationLevel.STRONG))
    return Case(name=f"good: {kind}", source=source, outcomes={Outcome.OK}, score=factor * sum(INPUTS))


PRELUDE_KEPT = PRELUDE.replace("{", "{{").replace("}", "}}")


@contextlib.contextmanager
def busy(processes: int) -> Iterator[None]:
    """A machine with something else to do."""
    running = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(processes)]
    try:
        yield
    finally:
        for process in running:
            process.kill()
            process.wait()


@contextlib.contextmanager
def stalls() -> Iterator[list[float]]:
    """Stalls of this process, in seconds each. A machine that stalls holds up the sandbox, too."""
    found, over = list[float](), threading.Event()

    def watch() -> None:
        before = time.monotonic()
        while not over.wait(_GLANCE_SECONDS):
            before, passed = time.monotonic(), time.monotonic() - before
            if passed > _STALL_SECONDS:
                found.append(passed)

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield found
    finally:
        over.set()
        watcher.join()


@contextlib.contextmanager
def victim(folder: Path) -> Iterator[tuple[Path, socket.socket]]:
    """A folder that everybody may read and write, with a secret and a mailbox."""
    folder.mkdir()
    (folder / "secret").write_text("secret")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as mailbox, contextlib.chdir(folder):
        mailbox.bind("mailbox")
        mailbox.setblocking(False)
        for path in (folder, folder / "secret", folder / "mailbox"):
            path.chmod(0o777)
        yield folder, mailbox


async def run(
    cases: Sequence[Case], folder: Path, level: IsolationLevel, slots: int, token: str, **options: Any
) -> list[str]:
    """Run a campaign; what did not hold, a line each."""
    with victim(folder / "victim") as (target, mailbox):
        before = _surroundings(target, token)
        async with _opened(folder, level, slots, **options) as opened:
            values = {"victim": target, "problem": folder / "problem", "host": os.getpid(), "token": token}
            values |= {"sandbox": opened.folder, "zygote": opened._keeper_pools[0].zygote}
            born = _processes(opened)
            programs = [_program(case, number, values) for number, case in enumerate(cases)]
            found = await asyncio.gather(*(opened.evaluate(one, f"evl_{n}") for n, one in enumerate(programs)))
            left = [] if _processes(opened) == born else [f"processes: {_processes(opened)} instead of {born}"]
            left += [f"files: {path}" for path in opened.folder.glob("cells/*/*/scratch/*")]
        after = _surroundings(target, token)
        with contextlib.suppress(BlockingIOError):
            left.append(f"mail: {mailbox.recv(_MAILBOX_BYTES)!r}")
    left += [f"{name}: {after[name]} instead of {before[name]}" for name in before if before[name] != after[name]]
    return [*filter(None, map(Case.complaint, cases, found)), *left]


@contextlib.asynccontextmanager
async def _opened(folder: Path, level: IsolationLevel, slots: int, **options: Any) -> AsyncIterator[SandboxEvaluator]:
    async with bench.sandbox(folder, EVALUATOR, slots=slots, force=level, limits=LIMITS, **options) as opened:
        assert opened.level is level, opened.report
        yield opened


def _program(case: Case, number: int, values: dict[str, Any]) -> Program:
    source = case.source if case.name.startswith("good") else case.source.format(number=number, **values)
    mark = f"mark-{values['token']}-{number};"
    return Program.of({"main.py": f"print({mark!r})\n{source}"})


def _processes(opened: SandboxEvaluator) -> list[int]:
    """All that stand for longer than an evaluation, none of which an attack may cost."""
    return bench.standing(opened)


def _surroundings(target: Path, token: str) -> dict[str, object]:
    """Whatever an attack may want to change outside of its sandbox."""
    own = {name: value for name, value in process_state.capture().items() if name not in _OWN_AFFAIR}
    names = {
        folder: [name for name in os.listdir(folder) if token in name] for folder in ("/dev/shm", "/tmp", "/var/tmp")
    }
    files = {
        path.name: (about.st_mode, about.st_uid, about.st_gid, about.st_size, about.st_mtime_ns)
        for path in (target, *target.iterdir())
        for about in [path.lstat()]
    }
    attributes = os.listxattr(target / "secret")
    return {**own, **names, "files": files, "attributes": attributes, "daemons": bench.processes_naming(f"601.{token}")}
