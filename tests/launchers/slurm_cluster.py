"""A real Slurm on this machine: munged, slurmctld and two nodes, as the user who tests, in a folder of their own."""

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from tests.patience import PATIENCE_SECONDS
from tests.services import free_port

NODES = ("a", "b")
CORES = 4
SYSTEM_FOLDERS = "/usr/sbin:/sbin"
CONFIGURATION = """
ClusterName=evolve
SlurmctldHost=localhost(127.0.0.1)
SlurmctldPort={controller_port}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket,cred_expire=5
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmdParameters=config_overrides
SlurmdTimeout=10
KillWait=30
ReturnToService=2
{nodes}
PartitionName=main Nodes=a,b Default=YES MaxTime=INFINITE State=UP
"""


def find_slurm() -> str | None:
    """The PATH on which every program of a Slurm is, or None."""
    path = f"{os.environ.get('PATH', '')}:{SYSTEM_FOLDERS}"
    wanted = ("munged", "slurmctld", "slurmd", "sbatch", "squeue", "scancel")
    return path if all(shutil.which(name, path=path) for name in wanted) else None


@dataclass(slots=True)
class SlurmCluster:
    """A cluster that runs, and what a command needs to reach it."""

    environment: Mapping[str, str]
    folder: Path
    daemons: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    def said(self, *command: str) -> str:
        ended = subprocess.run(command, env=self.environment, capture_output=True, text=True, check=False, timeout=60)
        assert ended.returncode == 0, f"{command}: {ended.stderr}{self.logs()}"
        return ended.stdout

    def states(self, job: str) -> list[str]:
        """The states of the tasks of a job that have not ended."""
        return self.said("squeue", "--noheader", "--array", f"--jobs={job}", "--format=%T").split()

    def wait_for(self, what: Callable[[], bool]) -> None:
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not what():
            assert time.monotonic() < deadline, self.logs()
            time.sleep(0.2)

    def start(self, name: str, *command: str) -> None:
        log = (self.folder / f"{name}.out").open("wb")
        with log:
            self.daemons[name] = subprocess.Popen(command, env=self.environment, stdout=log, stderr=log)

    def start_node(self, node: str) -> None:
        self.start(node, "slurmd", "-D", "-N", node)

    def kill_node(self, node: str) -> None:
        """A power failure: the daemon, and all that it had started, are gone at once."""
        jobs = self.said("squeue", "--noheader", "--array", f"--nodelist={node}", "--format=%A").split()
        _kill(self.daemons.pop(node), signal.SIGKILL)
        for pid in _processes_of(jobs):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def logs(self) -> str:
        texts = [f"\n== {path.name}\n{path.read_text()[-2000:]}" for path in sorted(self.folder.glob("*.log"))]
        return "".join(texts)

    def end(self) -> None:
        subprocess.run(["scancel", f"--user={_user()}"], env=self.environment, check=False, timeout=60)
        deadline = time.monotonic() + PATIENCE_SECONDS
        while self.said("squeue", "--noheader") and time.monotonic() < deadline:
            time.sleep(0.2)
        for name in reversed(list(self.daemons)):
            _kill(self.daemons.pop(name), signal.SIGTERM)


@contextmanager
def slurm_cluster(path: str) -> Iterator[SlurmCluster]:
    """A cluster of two nodes with four cores each, whatever this machine has.

    Args:
        path: a PATH with the programs of Slurm.
    """
    with tempfile.TemporaryDirectory(prefix="slurm-") as name:
        folder = Path(name)
        environment = {**os.environ, "PATH": path, "SLURM_CONF": str(folder / "slurm.conf")}
        cluster = SlurmCluster(environment=environment, folder=folder)
        _configure(folder)
        try:
            _start(cluster)
            yield cluster
        finally:
            cluster.end()


def _configure(folder: Path) -> None:
    folder.chmod(0o755)
    (folder / "munge.key").write_bytes(os.urandom(1024))
    (folder / "munge.key").chmod(0o400)
    for name in ("state", *(f"spool-{node}" for node in NODES)):
        (folder / name).mkdir()
    nodes = "\n".join(
        f"NodeName={node} NodeHostname=localhost NodeAddr=127.0.0.1 Port={free_port()} CPUs={CORES}" for node in NODES
    )
    text = CONFIGURATION.format(folder=folder, user=_user(), controller_port=free_port(), nodes=nodes)
    (folder / "slurm.conf").write_text(text)


def _start(cluster: SlurmCluster) -> None:
    folder = cluster.folder
    files = {"key-file": "munge.key", "socket": "munge.socket", "pid-file": "munged.pid", "seed-file": "munge.seed"}
    cluster.start("munged", "munged", "-F", *(f"--{option}={folder / name}" for option, name in files.items()))
    cluster.wait_for((folder / "munge.socket").exists)
    cluster.start("slurmctld", "slurmctld", "-D", "-i", "-c")
    for node in NODES:
        cluster.start_node(node)
    cluster.wait_for(lambda: _idle_nodes(cluster) == len(NODES))


def _idle_nodes(cluster: SlurmCluster) -> int:
    said = subprocess.run(
        ["sinfo", "--noheader", "--Node", "--format=%T"],
        env=cluster.environment, capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    return said.stdout.split().count("idle")


def _processes_of(jobs: list[str]) -> list[int]:
    """The shepherds of jobs, and what runs in the jobs."""
    titles, variables = [f"[{job}.batch]" for job in jobs], [f"SLURM_JOB_ID={job}" for job in jobs]
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            with suppress(OSError):
                title = (entry / "cmdline").read_text()
                environment = (entry / "environ").read_text(errors="replace").split("\0")
                shepherd = "slurmstepd" in title and any(job in title for job in titles)
                if shepherd or set(variables) & set(environment):
                    found.append(int(entry.name))
    return found


def _kill(process: subprocess.Popen[bytes], number: signal.Signals) -> None:
    process.send_signal(number)
    try:
        process.wait(30)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _user() -> str:
    return pwd.getpwuid(os.geteuid()).pw_name
