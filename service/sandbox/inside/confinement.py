"""The layers round one cell: which hold here, found out by trying, and how a child puts them on."""

import contextlib
import os
import resource
import signal
import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from . import kernel, landlock, limits, namespaces, seccomp, visible_files, wipe
from .forked_call import in_child
from .sandbox_spec import MAX_FILES, ROOMS, SCORER, SCORER_READ_VARIABLE, SandboxSpec, interpreter_paths

SHARED_MEMORY = "/dev/shm"  # noqa: S108 - the mount point, over which ours is put
Layer = tuple[str, bool, str]
Steps = list[tuple[str, Callable[[], None]]]


class Confinement:
    """The layers of one cell.

    Attributes:
        layers: name, whether it holds, and what it does or why it is off.
    """

    def __init__(self, cell: SandboxSpec, unavailable: str) -> None:
        self._no_user = "only the superuser can become another user"
        if cell.uid >= 0 and (complaint := in_child(lambda: kernel.refusal_to_become(cell.uid))):
            self._no_user, cell = complaint, replace(cell, uid=-1)
        self._cell = cell
        self._inside = not unavailable
        self._shared_memory = (SHARED_MEMORY,) if os.path.isdir(SHARED_MEMORY) else ()
        self._layers: dict[str, tuple[bool, str]] = {
            "namespaces": (self._inside, unavailable or "own processes, network, mounts")
        }
        self._clean: dict[str, tuple[int, ...]] = {}
        self._masked: list[str] = []
        self._prepare_mounts()
        self.own_proc = self._inside and self._try("own /proc", namespaces.mount_proc)
        self._sized = self._inside and self._try("sized scratch", self._mount_rooms)
        if not self._sized:
            self._make_rooms()
        self._read_only = self._sized and self._try("read-only mounts", self._close_mounts)
        self._limits = limits.table(cell, limits.baseline())
        self._rules: dict[str, int] = {}
        self._filter: seccomp.Filter | None = None
        self._on = {"limits", "user", "capabilities", "landlock", "seccomp"}
        self._probe()
        self._views = {role: self._view(role) for role in ROOMS}

    @property
    def layers(self) -> list[Layer]:
        """What was found, in the order it was tried."""
        return [(name, on, reason) for name, (on, reason) in self._layers.items()]

    @property
    def inside(self) -> bool:
        """Whether the keeper is the first process of a namespace of its own."""
        return self._inside

    @property
    def adopts(self) -> bool:
        """Whether the keeper adopts the orphans of its tree, and ends them one by one."""
        return self._cell.tree and kernel.LINUX and not self._inside

    @property
    def user(self) -> int:
        """The user that this cell's programs alone run as; -1: they share the keeper's."""
        return self._cell.uid if "user" in self._on else -1

    @property
    def _writes_proc(self) -> bool:
        """Whether programs with a device may write all of /proc. Settings of the machine are there, open to user 0."""
        return self.own_proc and (self.user > 0 or os.geteuid() != 0)

    @property
    def found(self) -> dict[str, Any]:
        """What the keeper needs to know: the layers, which processes to watch, and where their files are."""
        return {
            "layers": self.layers,
            "watched": "namespace" if self.own_proc else "descendants" if self.adopts else "",
            "adopts": self.adopts,
            "memory_folders": {
                role: [self._cell.scratch(role), *self._shared_memory] if self._sized else [] for role in ROOMS
            },
            "disk_folders": {role: "" if self._sized else self._cell.scratch(role) for role in ROOMS},
        }

    def clear(self, role: str) -> bool:
        """Remove what processes of a role left in its scratch and in shared memory; none of them lives any more.

        Returns:
            Whether a layer had to be made anew for it, which no child has that was forked before.

        Raises:
            OSError: something cannot be removed, so that the next program would find it.
        """
        scratch = self._cell.scratch(role)
        if not self._sized:
            self._make_room(scratch)
        elif self._clean.get(scratch) != _folder_state(scratch):
            namespaces.unmount(scratch)
            self._mount_scratch(scratch)
        return self._renew_shared_memory()

    def apply_common(self) -> None:
        """In the child: apply the layers that are the same for every order, before one is known.

        Raises:
            OSError: a layer that held at the start holds no longer; the child must not go on.
        """
        limits.prefer_as_victim(processor=self._cell.image)
        self._apply(self._common_steps())

    def apply_role(self, role: str, channel: int, cpu_seconds: float) -> None:
        """In the child: apply the other layers, in the one order that works.

        Args:
            role: whose scratch the child gets.
            channel: the one descriptor that stays open.
            cpu_seconds: processor time of each process.

        Raises:
            OSError: a layer that held at the start holds no longer; the child must not go on.
        """
        scratch = self._cell.scratch(role)
        os.chdir(scratch)
        if self._limits_processor_time:
            limits.limit_processor_time(cpu_seconds)
        self._apply(self._role_steps(role, channel))
        os.environ["HOME"] = os.environ["TMPDIR"] = scratch
        os.environ.update(self._cell.device_variables)
        if self._cell.gpu:
            os.environ["TRITON_HOME"] = (
                scratch  # Triton looks for its home when it is imported, perhaps before HOME is set
            )
        if role == SCORER and self._cell.scorer_readable:
            os.environ[SCORER_READ_VARIABLE] = os.pathsep.join(self._cell.scorer_readable)
        visible_files.enter(self._views[role])

    def _apply(self, steps: Steps) -> None:
        for name, step in steps:
            if name in self._on:
                step()

    def _common_steps(self) -> Steps:
        return [
            ("limits", self._limit),
            ("user", self._become_user),
            ("capabilities", self._drop_capabilities),
            ("seccomp", self._seccomp),
        ]

    def _role_steps(self, role: str, channel: int) -> Steps:
        return [("landlock", lambda: self._landlock(role)), ("descriptors", lambda: _close_all_but(channel))]

    def _prepare_mounts(self) -> None:
        if self._inside:
            self._try("own mounts", namespaces.make_private)
        else:
            self._layers["own /proc"] = (False, "there are no namespaces")
        if self._cell.uid >= 0:
            self._try("reachable interpreter", self._reach)

    def _reach(self) -> None:
        """Other users must get at the interpreter, or a program could start no other."""
        wanted = [*interpreter_paths(), os.path.dirname(os.path.dirname(self._cell.folder))]
        if self._inside:
            self._masked = namespaces.expose([*wanted, *self._cell.opened(SCORER)])
            return
        closed = [folder for folder in map(namespaces.closed_ancestor, wanted) if folder]
        if closed:
            raise OSError(
                f"{closed[0]} is closed to other users, and without the layer namespaces programs see it as it is: they"
                f" cannot start {sys.executable}, nor import what is not preloaded. Open it (chmod o+x {closed[0]}), or"
                " name another interpreter in evaluator.python"
            )

    def _mount_rooms(self) -> None:
        cell = self._cell
        namespaces.mount_scratch(cell.folder, size_kb=64, files=32, owner=os.geteuid(), mode="755")
        for role in ROOMS:
            os.makedirs(cell.scratch(role))
        try:
            namespaces.freeze(cell.folder)
            for target in (*(cell.scratch(role) for role in ROOMS), *self._shared_memory):
                self._mount_scratch(target)
        except OSError:  # the rooms will be made on disk, where nothing may lie over them
            namespaces.unmount(cell.folder)
            raise

    def _mount_scratch(self, target: str) -> None:
        owner = self._cell.uid if self._cell.uid >= 0 else os.geteuid()
        namespaces.mount_scratch(target, size_kb=self._cell.disk_kb, files=MAX_FILES, owner=owner)
        self._clean[target] = _folder_state(target)

    def _close_mounts(self) -> None:
        own_proc = ("/proc",) if self.own_proc else ()
        namespaces.make_read_only((*(self._cell.scratch(role) for role in ROOMS), *self._shared_memory, *own_proc))

    def _make_rooms(self) -> None:
        self._layers.setdefault("sized scratch", (False, "there are no namespaces"))
        for role in ROOMS:
            self._make_room(self._cell.scratch(role))

    def _make_room(self, scratch: str) -> None:
        if os.path.islink(scratch):  # a program of our own user's put it there
            os.unlink(scratch)
        os.makedirs(scratch, mode=0o755, exist_ok=True)
        wipe.empty(scratch)
        os.chmod(scratch, 0o700)
        if self._cell.uid >= 0:
            with contextlib.suppress(OSError):
                os.chown(scratch, self._cell.uid, self._cell.uid)

    def _renew_shared_memory(self) -> bool:
        """Empty shared memory where something is in it; whether the rules were made anew for it."""
        renewed = False
        for folder in self._shared_memory if self._sized else ():
            if self._clean.get(folder) != _folder_state(folder):
                namespaces.unmount(folder)
                self._mount_scratch(folder)
                renewed = "landlock" in self._on
        if renewed:
            self._close_rules()
            self._build_rules()
        return renewed

    def _build_rules(self) -> None:
        for role in ROOMS:
            self._rules[role] = self._ruleset(role)

    def _ruleset(self, role: str) -> int:
        """The rules of a role. Those of a problem with a device may be for the calling process alone.

        CUDA names its threads in the files of its process, and does not start where it cannot.
        """
        return landlock.ruleset(
            readable=self._readable(role),
            writable=self._writable(role),
            processes=["/proc" if self._writes_proc else "/proc/self"] if self._cell.gpu else (),
            devices=[*visible_files.DEVICES, *self._cell.devices],
            network=self._cell.network,
        )

    def _readable(self, role: str) -> list[str]:
        cell = self._cell
        proc = ("/proc",) if self.own_proc else visible_files.public_proc(gpu=cell.gpu)
        own = (cell.problem, cell.shim) if role == SCORER else ()
        names = visible_files.NAMES if cell.network else ()
        return [*visible_files.system(cell), *names, *proc, *interpreter_paths(), *own, *cell.opened(role)]

    def _writable(self, role: str) -> tuple[str, ...]:
        return (self._cell.room(role), *self._shared_memory) if self._sized else (self._cell.scratch(role),)

    def _view(self, role: str) -> visible_files.VisibleFiles:
        reachable, why = self._layers.get("reachable interpreter", (True, ""))
        return visible_files.VisibleFiles(
            confined="landlock" in self._on,
            visible=[*self._readable(role), *self._writable(role), *visible_files.DEVICES, *self._cell.devices],
            granted=self._cell.opened(role),
            masked=self._masked,
            interpreter=interpreter_paths(),
            unreachable="" if reachable else why,
        )

    def _close_rules(self) -> None:
        while self._rules:
            os.close(self._rules.popitem()[1])

    def _filter_program(self, signals_of: int | None = None) -> bytes:
        shared_user = self.user < 0 and not self._read_only
        return seccomp.program(
            network=self._cell.network,
            internet_only=bool(self._cell.egress),
            devices=self._cell.gpu,
            keep_modes=shared_user,
            signals_of=signals_of,
        )

    def _build_filter(self) -> None:
        self._filter = seccomp.Filter(self._filter_program())

    def _limit(self) -> None:
        in_user_namespace = self._inside and not self._cell.uid >= 0
        others = limits.others(alone=self.user >= 0, processes_of_namespace=in_user_namespace)
        limits.apply(self._limits, self._cell.processes + others)

    def _become_user(self) -> None:
        kernel.become(self._cell.uid)

    def _drop_capabilities(self) -> None:
        kernel.drop_capabilities()
        kernel.prctl(kernel.PR_SET_DUMPABLE, 1)  # else a program could not even list its own descriptors
        kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGKILL)  # a change of user or capabilities clears it
        if os.getppid() == 1 and not self._inside:
            os._exit(1)

    def _landlock(self, role: str) -> None:
        landlock.restrict(self._rules[role] if self._writes_proc or not self._cell.gpu else self._ruleset(role))

    def _seccomp(self) -> None:
        if self._filter is None:
            raise OSError("no filter was built")
        if self._inside or self.user >= 0 or landlock.version() >= landlock.SCOPES_SIGNALS:
            self._filter.install()
        else:
            seccomp.Filter(self._filter_program(signals_of=os.getpid())).install()

    def _probe(self) -> None:
        self._rule_out()
        for name, build in (("landlock", self._build_rules), ("seccomp", self._build_filter)):
            if name in self._on and not self._try(name, build):
                self._on.discard(name)
        self._drop_unavailable_limits()
        for name, complaint in self._tried_on().items():
            if complaint:
                self._on.discard(name)
            if complaint or name not in self._layers:
                self._layers[name] = (not complaint, complaint or _MEANINGS[name])
        self._on.add("descriptors")
        self._layers["tree"] = (
            (True, "ended with its process namespace" if self._inside else "ended by the keeper that adopts orphans")
            if self._inside or self.adopts
            else (False, "only the group of the first process is ended")
        )

    def _rule_out(self) -> None:
        cell = self._cell
        for name, wanted in (("landlock", cell.landlock), ("seccomp", cell.seccomp), ("capabilities", cell.tree)):
            if not (wanted and kernel.LINUX):
                self._on.discard(name)
                self._layers[name] = (False, "switched off" if kernel.LINUX else "this system has none")
        if cell.uid < 0:
            self._on.discard("user")
            self._layers["user"] = (False, self._no_user)

    def _drop_unavailable_limits(self) -> None:
        """Leave out limits that this system does not have, and say so; one that fails later fails its evaluation."""
        unavailable: list[int] = in_child(lambda: limits.unavailable(self._limits)) or []
        self._limits_processor_time = resource.RLIMIT_CPU not in unavailable
        left_out = {*unavailable, resource.RLIMIT_CPU}  # the order brings the limit on processor time
        self._limits = [(which, pair) for which, pair in self._limits if which not in left_out]
        if unavailable:
            names = ", ".join(map(limits.name, unavailable))
            self._layers["limits"] = (False, f"this system cannot set {names}")

    def _tried_on(self) -> dict[str, str]:
        """What each layer says when a child puts it on: a complaint, or nothing."""
        found: dict[str, str] | None = in_child(self._complaints)
        return dict.fromkeys(self._on, "the child trying it died") if found is None else found

    def _complaints(self) -> dict[str, str]:
        found: dict[str, str] = {}
        for name, step in [*self._common_steps(), *self._role_steps(SCORER, -1)]:
            if name not in self._on:
                continue
            try:
                step()
                found[name] = ""
            except OSError as error:
                found[name] = str(error)
        return found

    def _try(self, name: str, step: Callable[[], None]) -> bool:
        try:
            step()
        except OSError as error:
            self._layers[name] = (False, str(error))
            return False
        self._layers[name] = (True, _MEANINGS[name])
        return True


_MEANINGS = {
    "own mounts": "what is mounted inside stays inside",
    "reachable interpreter": "programs can start it",
    "own /proc": "its own processes are all it sees",
    "sized scratch": "files are in memory, up to the disk limit",
    "read-only mounts": "nobody changes files outside, their modes and their times",
    "limits": "processor time, memory, processes, files",
    "user": "a user of its own",
    "capabilities": "none left",
    "landlock": f"files by an allow-list, ABI {landlock.version()}",
    "seccomp": f"no sockets, mounts, tracing, on {kernel.MACHINE}",
}


def _folder_state(folder: str) -> tuple[int, ...]:
    """What changes when somebody puts a name into a folder, takes one out, or changes who may enter it."""
    about = os.stat(folder)
    return about.st_mode, about.st_uid, about.st_gid, about.st_nlink, about.st_size, about.st_ctime_ns


def _close_all_but(channel: int) -> None:
    os.closerange(3, channel)
    os.closerange(channel + 1, resource.getrlimit(resource.RLIMIT_NOFILE)[0])
