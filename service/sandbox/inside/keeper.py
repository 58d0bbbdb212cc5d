"""The keeper of a cell: has one evaluation at a time done, hears what its children say, and is the ancestor of none.

A child runs the program and another the scorer, so that the two never share a process; neither has seen code of the
other, or of an earlier evaluation. The fork server makes both, and ends everything below itself between them. The
keeper alone reads tasks, values and prints, in memory that no program inherits.
"""

import contextlib
import io
import os
import signal
import socket
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from time import monotonic
from typing import Any

from . import canary, fork_server, kernel, namespaces, tree, watchdog, wipe
from .channel import Channel, ChannelError, frame
from .fork_client import ForkClient, LostError
from .phase import Ending, ProcessPhase
from .protocol import Conversation, Dialogue, ScoreReply
from .sandbox_spec import PROGRAM, SCORER, SandboxSpec
from .trampoline import LeaveFrames

_PROGRAM, _SCORER = "the program", "the evaluator"
_CANARY = "a known-good program"
_INPUTS_KB = 64 * 1024
_SETUP_KB = 128 * 1024
_VIEW_KB = 384  # beside what a scorer says otherwise: `jsonable.view_of` keeps a view within it
# For each phase of the self-test: a problem may allow its programs less than a busy machine takes for an attack.
SELFTEST_SECONDS = 30.0
Task = Mapping[str, Any]
# What a program's child gets of its task: nothing of how it is scored.
_OF_A_PROGRAM = ("files", "main", "entry", "command", "build", "seed", "traced")


def main(line: socket.socket, cell: SandboxSpec, unavailable: str) -> None:
    """Serve until the line is closed.

    Raises:
        LeaveFrames: in the fork server, and in what it forks.
    """
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(line_buffering=True)  # what a child prints counts even if its end comes suddenly
    if not namespaces.knows(cell.uid):
        cell = replace(cell, uid=-1)
    client = _start_fork_server(line, cell, unavailable)
    if kernel.LINUX:
        kernel.prctl(kernel.PR_SET_DUMPABLE, 0)
    keeper = Keeper(line, cell, client)
    with contextlib.suppress(OSError, ChannelError, LostError):
        keeper.serve()
    keeper.close()


def _start_fork_server(line: socket.socket, cell: SandboxSpec, unavailable: str) -> ForkClient:
    """The next process of ours, which is the first of a namespace where there is one, and ends with us there."""
    ours, theirs = socket.socketpair()
    pid = os.fork()
    if pid == 0:
        ours.close()
        line.close()
        if kernel.LINUX and not unavailable:
            kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGKILL)
        raise LeaveFrames(partial(fork_server.main, theirs, cell, unavailable))
    theirs.close()
    return ForkClient(ours, pid)


class Keeper:
    """Has the evaluations of one cell done, one after the other, until one of them changes its fork server."""

    def __init__(self, line: socket.socket, cell: SandboxSpec, client: ForkClient) -> None:
        self._line, self._cell, self._client = Channel(line), cell, client
        self._trial = replace(cell, wall_seconds=SELFTEST_SECONDS, cpu_seconds=SELFTEST_SECONDS)
        self._unfit = False

    def serve(self) -> None:
        """Answer tasks until the line is closed, or until the fork server is not fit for another task.

        Raises:
            LostError: the fork server does not come up.
            OSError, ChannelError: the line broke.
        """
        self._client.greet()
        if self._client.found["adopts"]:  # what the fork server leaves when it dies
            kernel.prctl(kernel.PR_SET_CHILD_SUBREAPER, 1)
        pids = {"pid": os.getpid(), "fork_server": self._client.pid}
        self._line.send({**pids, "layers": self._client.found["layers"]})
        while not self._unfit and (task := self._line.receive()) is not None:
            if "cancel" not in task:  # one that comes after the end is void
                self._line.send({"id": task["id"], **self._answer(task)})

    def close(self) -> None:
        """Let the fork server go. Where it was killed, do its last duty: end what is left, and remove its files."""
        if self._client.close() or not self._client.found:
            return
        if self._client.found["adopts"]:
            tree.end_adopted()
        for folder in filter(None, self._client.found["disk_folders"].values()):
            with contextlib.suppress(OSError):
                wipe.empty(folder)

    def _answer(self, task: Task) -> dict[str, Any]:
        began = monotonic()
        do: Callable[[Task], dict[str, Any]] = getattr(self, f"_{task['do']}")
        try:
            answer = do(task)
            self._require_unchanged()
        except (LostError, OSError) as error:
            self._unfit = True
            answer = {"outcome": "lost", "reason": str(error)}
        return {"seconds": monotonic() - began, **answer}

    def _require_unchanged(self) -> None:
        """Children inherit what the fork server is: after a change of it, none of theirs is a fair evaluation."""
        changes = self._client.changes()
        if changes:
            raise LostError(f"the process that starts evaluations changed while one ran: its {', its '.join(changes)}")

    def _score(self, task: Task) -> dict[str, Any]:
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

    def _perform(self, task: Task, dialogue: Dialogue, what: str = _PROGRAM, cell: SandboxSpec | None = None) -> Ending:
        return self._run(PROGRAM, "perform", {name: task[name] for name in _OF_A_PROGRAM}, dialogue, what, cell=cell)

    def _canary(self, _: Task) -> dict[str, Any]:
        """Score a known-good program; anything but its value is the sandbox's failure."""
        dialogue, verdict = Dialogue(None), ScoreReply()
        ending = self._perform(canary.TASK, dialogue, _CANARY, self._trial)
        if not ending.outcome:
            task = {**canary.TASK, "outputs": dialogue.outputs}
            ending = self._run(SCORER, "canary", task, verdict, _CANARY, cell=self._trial)
        if ending.outcome == "cancelled":
            return _reply(verdict, ending)
        if ending.outcome or verdict.result != canary.VALUE:
            raise LostError(ending.reason or f"{_CANARY} scored {verdict.result} instead of {canary.VALUE}")
        return _reply(verdict, ending)

    def _judge(self, task: Task, dialogue: Dialogue, printed: str) -> dict[str, Any]:
        verdict, outputs = ScoreReply(), dialogue.outputs
        cap_kb = self._cell.output_kb + _VIEW_KB
        order = {**task, "seed": task["scorer_seed"], "outputs": outputs}
        ending = self._run(SCORER, "score", order, verdict, _SCORER, cap_kb=cap_kb)
        if ending.outcome == "error":
            wrong = next((output["error"] for output in outputs if output["error"]), "")
            if wrong:
                return {"outcome": "error", "reason": wrong, "printed": printed}
        reply = _reply(verdict, ending)
        if task.get("traced"):
            reply["program"] = {"printed": printed, "imports": dialogue.imports}
        return reply

    def _evaluate(self, task: Task) -> dict[str, Any]:
        verdict = ScoreReply()
        return _reply(verdict, self._run(SCORER, "evaluate", task, verdict, "the evaluation"))

    def _inputs(self, task: Task) -> dict[str, Any]:
        verdict = ScoreReply()
        return _reply(verdict, self._run(SCORER, "inputs", task, verdict, _SCORER, cap_kb=_INPUTS_KB))

    def _setup(self, task: Task) -> dict[str, Any]:
        verdict, seconds = ScoreReply(), task["seconds"]
        cell = replace(self._cell, wall_seconds=seconds, cpu_seconds=seconds)
        return _reply(verdict, self._run(SCORER, "setup", task, verdict, "the setup", cap_kb=_SETUP_KB, cell=cell))

    def _session(self, task: Task) -> dict[str, Any]:
        verdict, cap_kb = ScoreReply(), 2 * task["answer_kb"] + 2 * task["transcript_kb"]
        return _reply(verdict, self._run(PROGRAM, "session", task, verdict, "the command", cap_kb=cap_kb))

    def _attack(self, task: Task) -> dict[str, Any]:
        reply = self._try(task)
        if reply["outcome"] == "ok":
            gone = self._client.outlived(reply["result"].pop("daemon"))
            reply["result"]["a process that outlives its evaluation"] = gone
        return reply

    def _crowd(self, task: Task) -> dict[str, Any]:
        return self._try(task)

    def _try(self, task: Task) -> dict[str, Any]:
        verdict = ScoreReply()
        return _reply(verdict, self._run(PROGRAM, task["do"], task, verdict, "the self-test", cell=self._trial))

    def _run(
        self,
        role: str,
        work: str,
        task: Task,
        talk: Conversation,
        what: str,
        *,
        cap_kb: int = 0,
        cell: SandboxSpec | None = None,
    ) -> Ending:
        cell, client = cell or self._cell, self._client
        order = frame({"work": work, "place": cell.place(role), "task": task})
        stream, prints = self._fork(role, cell)
        try:
            return ProcessPhase(
                cell=cell,
                client=client,
                stream=stream,
                order=order,
                prints=prints,
                line=self._line.socket,
                talk=talk,
                members=self._members(),
                what=what,
                cap_kb=cap_kb or cell.output_kb,
                memory_folders=client.found["memory_folders"][role],
                disk_folder=client.found["disk_folders"][role],
            ).run()
        finally:
            stream.close()
            os.close(prints)
            client.end(role, compare=role == PROGRAM or work == "evaluate")

    def _fork(self, role: str, cell: SandboxSpec) -> tuple[socket.socket, int]:
        """A new child: our ends of its stream, and of the pipe that it prints to."""
        ours, theirs = socket.socketpair()
        reading, writing = os.pipe()
        os.set_blocking(reading, False)
        try:
            self._client.fork(role, cell.cpu_seconds, theirs.fileno(), writing)
        except LostError:
            ours.close()
            os.close(reading)
            raise
        finally:
            theirs.close()
            os.close(writing)
        return ours, reading

    def _members(self) -> Callable[[], list[int]] | None:
        watched = self._client.found["watched"]
        if watched == "namespace":
            return watchdog.namespace
        return partial(tree.descendants, self._client.pid) if watched else None


def _reply(verdict: ScoreReply, ending: Ending) -> dict[str, Any]:
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
