"""The keeper of a cell: trusted, warm, the first process of its namespace; runs one evaluation at a time.

It forks a child for the program and another for the scorer, so that the two never share a process; neither has seen
code of the other, or of an earlier evaluation. Between them, and at the end, everything below the keeper is ended.
"""

import contextlib
import gc
import io
import json
import os
import signal
import socket
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from time import monotonic
from typing import Any

from . import attacks, canary, candidate, kernel, namespaces, process_state, scoring, tree, watchdog
from .cell import PROGRAM, SCORER, Cell
from .channel import STARTED, Channel, ChannelError
from .confinement import Confinement
from .phase import Ending, Phase
from .talk import Dialogue, Talk, Verdict

_PROGRAM, _SCORER = "the program", "the evaluator"
_CANARY = "a known-good program"
_INPUTS_KB = 64 * 1024
# For each phase of the self-test: a problem may allow its programs less than a busy machine takes for an attack.
SELFTEST_SECONDS = 30.0
Task = Mapping[str, Any]
Prepare = Callable[[Task], Any]
Work = Callable[[Channel, Task, Any], None]
# What a program's child gets of its task: nothing of how it is scored.
_OF_A_PROGRAM = ("files", "main", "entry", "command", "build", "traced")


def main(line: socket.socket, cell: Cell, unavailable: str) -> None:
    """Serve until the line is closed."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(line_buffering=True)  # what a child prints counts even if its end comes suddenly
    if not namespaces.knows(cell.uid):
        cell = replace(cell, uid=-1)
    confinement = Confinement(cell, unavailable)
    if kernel.LINUX:
        kernel.prctl(kernel.PR_SET_DUMPABLE, 0)
        if confinement.adopts:
            kernel.prctl(kernel.PR_SET_CHILD_SUBREAPER, 1)
    Keeper(line, cell, confinement).serve()


class Child(BaseException):
    """Raised in a new child to leave the keeper's frames, so that what they hold is gone before a program runs.

    Attributes:
        parts: what `live` takes.
    """

    def __init__(self, parts: "_Parts") -> None:
        super().__init__()
        self.parts = [parts]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Parts:
    """What a child needs of its keeper: all of it is dropped before the child works."""

    confinement: Confinement
    role: str
    task: Task
    stream: socket.socket
    prints: int
    cell: Cell
    prepare: Prepare
    work: Work


class LostError(Exception):
    """The sandbox failed, not the program: the evaluation is to be done again, by another keeper."""


class Keeper:
    """Runs the evaluations of one cell, one after the other, for as long as none of them changes it."""

    def __init__(self, line: socket.socket, cell: Cell, confinement: Confinement) -> None:
        self._line, self._cell, self._confinement = Channel(line), cell, confinement
        self._trial = replace(cell, wall_seconds=SELFTEST_SECONDS, cpu_seconds=SELFTEST_SECONDS)
        self._birth = process_state.capture()
        self._unfit = False
        self._files = -1

    def serve(self) -> None:
        """Answer tasks until the line is closed, or until this process is not fit for another task."""
        self._line.send({"layers": self._confinement.layers})
        gc.collect()
        gc.freeze()
        with contextlib.suppress(OSError, ChannelError):
            while not self._unfit and (task := self._line.receive()) is not None:
                if "cancel" not in task:  # one that comes after the end is void
                    self._line.send({"id": task["id"], **self._answer(task)})

    def _answer(self, task: Mapping[str, Any]) -> dict[str, Any]:
        began = monotonic()
        try:
            answer = self._done(task)
            self._require_unchanged()
        except (LostError, OSError) as error:
            self._unfit = True
            answer = {"outcome": "lost", "reason": str(error)}
        return {"seconds": monotonic() - began, **answer}

    def _done(self, task: Task) -> dict[str, Any]:
        do: Callable[[Task], dict[str, Any]] = getattr(self, f"_{task['do']}")
        if "attached" not in task:
            return do(task)
        with self._line.attachment(task["attached"]) as file:
            self._files = file.fileno()
            try:
                return do(task)
            finally:
                self._files = -1

    def _require_unchanged(self) -> None:
        """Children inherit what we are: after a change of it, none of theirs is a fair evaluation."""
        changes = process_state.changes(self._birth)
        if changes:
            raise LostError(f"the process that starts evaluations changed while one ran: its {', its '.join(changes)}")

    def _score(self, task: Mapping[str, Any]) -> dict[str, Any]:
        if task["text"]:
            return self._judge(task, Dialogue(None), printed="")
        with contextlib.ExitStack() as stack:
            lines = stack.enter_context(open(task["inputs"], "rb")) if task["inputs"] else None
            dialogue = Dialogue(lines)
            ending = self._perform(task, dialogue)
        complaint = ending.outcome, ending.reason
        if not ending.outcome:
            errors = [output["error"] for output in dialogue.outputs if output["error"]]
            complaint = ("error", errors[0]) if errors and len(errors) == len(dialogue.outputs) else ("", "")
        if complaint[0]:
            return {"outcome": complaint[0], "reason": complaint[1], "printed": ending.printed}
        return self._judge(task, dialogue, ending.printed)

    def _perform(
        self, task: Mapping[str, Any], dialogue: Dialogue, what: str = _PROGRAM, cell: Cell | None = None
    ) -> Ending:
        scratch, disk_kb = self._cell.scratch(PROGRAM), self._cell.disk_kb
        return self._run(
            PROGRAM,
            task,
            dialogue,
            candidate.perform,
            what,
            prepare=lambda whole: candidate.prepare(whole, scratch, disk_kb),
            cell=cell,
        )

    def _canary(self, _: Mapping[str, Any]) -> dict[str, Any]:
        """Score a known-good program; anything but its value is the sandbox's failure."""
        dialogue, verdict = Dialogue(None), Verdict()
        ending = self._perform(canary.TASK, dialogue, _CANARY, self._trial)
        if not ending.outcome:
            ending = self._run(
                SCORER,
                canary.TASK,
                verdict,
                lambda channel, _, path: canary.score(channel, path, dialogue.outputs),
                _CANARY,
                prepare=lambda _: canary.prepare(self._cell),
                cell=self._trial,
            )
        if ending.outcome == "cancelled":
            return _reply(verdict, ending)
        if ending.outcome or verdict.result != canary.VALUE:
            raise LostError(ending.reason or f"{_CANARY} scored {verdict.result} instead of {canary.VALUE}")
        return _reply(verdict, ending)

    def _judge(self, task: Mapping[str, Any], dialogue: Dialogue, printed: str) -> dict[str, Any]:
        verdict, problem, outputs = Verdict(), self._cell.problem, dialogue.outputs
        ending = self._run(
            SCORER, task, verdict, lambda channel, whole, _: scoring.score(channel, whole, outputs, problem), _SCORER
        )
        if ending.outcome == "error":
            wrong = next((output["error"] for output in outputs if output["error"]), "")
            if wrong:
                return {"outcome": "error", "reason": wrong, "printed": printed}
        reply = _reply(verdict, ending)
        if task.get("traced"):
            reply["program"] = {"printed": printed, "imports": dialogue.imports}
        return reply

    def _evaluate(self, task: Mapping[str, Any]) -> dict[str, Any]:
        cell, verdict = self._cell, Verdict()
        ending = self._run(
            SCORER,
            task,
            verdict,
            lambda channel, whole, folder: scoring.evaluate(channel, whole, folder, cell.shim),
            "the evaluation",
            prepare=lambda whole: scoring.prepare(whole, cell),
        )
        return _reply(verdict, ending)

    def _inputs(self, task: Mapping[str, Any]) -> dict[str, Any]:
        verdict, problem = Verdict(), self._cell.problem
        ending = self._run(
            SCORER,
            task,
            verdict,
            lambda channel, whole, _: scoring.inputs(channel, whole, problem),
            _SCORER,
            cap_kb=_INPUTS_KB,
        )
        return _reply(verdict, ending)

    def _attack(self, task: Mapping[str, Any]) -> dict[str, Any]:
        reply = self._try(task, attacks.attempt)
        if reply["outcome"] == "ok":
            reply["result"]["a process that outlives its evaluation"] = attacks.outlived(reply["result"].pop("daemon"))
        return reply

    def _crowd(self, task: Mapping[str, Any]) -> dict[str, Any]:
        return self._try(task, attacks.crowd)

    def _try(self, task: Mapping[str, Any], attack: Callable[[Channel, Mapping[str, Any]], None]) -> dict[str, Any]:
        verdict, targets = Verdict(), task["targets"]
        ending = self._run(
            PROGRAM,
            task,
            verdict,
            lambda channel, _, __: attack(channel, targets),
            "the self-test",
            cell=self._trial,
        )
        return _reply(verdict, ending)

    def _run(
        self,
        role: str,
        task: Mapping[str, Any],
        talk: Talk,
        work: Work,
        what: str,
        *,
        prepare: Prepare = lambda _: None,
        cap_kb: int = 0,
        cell: Cell | None = None,
    ) -> Ending:
        cell = cell or self._cell
        ours, theirs = socket.socketpair()
        reading, writing = os.pipe()
        os.set_blocking(reading, False)
        child = os.fork()
        if child == 0:
            raise Child(
                _Parts(
                    confinement=self._confinement,
                    role=role,
                    task=self._whole(role, task),
                    stream=theirs,
                    prints=writing,
                    cell=cell,
                    prepare=prepare,
                    work=work,
                )
            )
        theirs.close()
        os.close(writing)
        try:
            return Phase(
                cell=cell,
                child=child,
                stream=ours,
                prints=reading,
                line=self._line.socket,
                talk=talk,
                members=self._members(),
                what=what,
                cap_kb=cap_kb or cell.output_kb,
                memory_folders=self._confinement.memory_folders(role),
                disk_folder=self._confinement.disk_folder(role),
            ).run()
        finally:
            self._end(child)
            ours.close()
            os.close(reading)
            self._confinement.clear(role)

    def _whole(self, role: str, task: Task) -> Task:
        """In the child: the task with the program's files, which the keeper itself never reads."""
        if self._files >= 0:
            with open(self._files, "rb", closefd=False) as file:
                file.seek(0)
                task = {**task, "files": json.loads(file.read())}
        return {key: task[key] for key in (*_OF_A_PROGRAM, "seed") if key in task} if role == PROGRAM else task

    def _members(self) -> Callable[[], list[int]] | None:
        if self._confinement.own_proc:
            return watchdog.namespace
        return tree.descendants if self._confinement.adopts else None

    def _end(self, child: int) -> None:
        if self._confinement.inside:
            tree.end_namespace()
        elif self._confinement.adopts:
            tree.end_group(child)
            if self._confinement.user > 0:
                tree.end_user(self._confinement.user)
            tree.end_adopted()
        else:
            tree.end_group(child)
            tree.await_group(child)


def live(held: list[_Parts]) -> None:
    """In the child: put the layers on, work, and never come back. The list is emptied: nobody holds the parts."""
    try:
        parts = held.pop()
        channel, task, work = Channel(parts.stream), parts.task, parts.work
        try:
            _rearrange(parts.prints)
            parts.confinement.wear(parts.role, task["seed"], parts.stream.fileno(), parts.cell.cpu_seconds)
            prepared = parts.prepare(task)
        except Exception as error:  # noqa: BLE001 - whatever fails here, the program has not begun
            channel.send(_unstarted(error))
            os._exit(1)
        del parts
        gc.enable()
        channel.send(STARTED)
        work(channel, task, prepared)
    except BaseException:  # noqa: BLE001 - whatever happens, the child must not go on as a second keeper
        os._exit(1)
    finally:
        os._exit(0)


def _rearrange(prints: int) -> None:
    """Take the child to a session of its own, and let it print to us; there is nothing to read, as for the keeper."""
    os.setsid()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.dup2(prints, 1)
    os.dup2(prints, 2)


def _unstarted(error: Exception) -> dict[str, str]:
    """The frame that says why a child does not start; only size and paths of its files are the program's fault."""
    if isinstance(error, candidate.UnfitError):
        return {"failed": str(error), "outcome": "error"}
    if isinstance(error, MemoryError):
        return {"failed": "limits.memory_mb leaves no room to start it", "outcome": "memory"}
    return {"failed": f"the sandbox could not start it: {type(error).__name__}: {error}", "outcome": "lost"}


def _reply(verdict: Verdict, ending: Ending) -> dict[str, Any]:
    if ending.outcome:
        return {"outcome": ending.outcome, "reason": ending.reason, "printed": ending.printed}
    outcome = "stage" if verdict.stage else "ok"
    return {
        "outcome": outcome,
        "reason": verdict.stage,
        "result": verdict.result,
        "printed": ending.printed,
        "imports": verdict.imports,
    }
