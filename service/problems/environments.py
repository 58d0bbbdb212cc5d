"""Environments: the packages that a problem declares, installed once per list and interpreter.

Installing runs uv or pip, and with it code of the packages, as the user and outside of every sandbox. Other modules
decide whether this is allowed.
"""

import fcntl
import hashlib
import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from evolve.problem import EvaluatorSpec
from service.errors import InvalidProblemError
from service.problems.declared_packages import REQUIREMENTS, declared_packages
from service.problems.folder import Folder
from service.problems.requirements import check_requirements
from service.user_folders import cache_home

_READY = "ready"
_COMPLAINT = "evaluator.requirements: "  # how what `check_requirements` says of one begins
_SECONDS, _CONFIG_SECONDS = 1800.0, 60.0
_MAX_REASON = 300
_QUIET = ("--no-input", "--disable-pip-version-check")
# Where somebody has told pip to find packages, uv would look elsewhere: it does not read pip's configuration.
_OWN_PLACES = ("index-url", "extra-index-url", "no-index", "find-links")
# What installers get of this process: no keys of models, databases or services.
_KEPT = re.compile(
    r"PATH|HOME|USER|LANG|LC_\w+|TMPDIR|TZ|(PIP|UV)_\w+|XDG_\w+|SSL_CERT_\w+|REQUESTS_CA_BUNDLE|(\w+_)?PROXY"
)
# Lines that name something beside the text itself, so that equal texts would not be equal environments. pip puts
# variables in place of ${NAME}, which an address could carry away.
_ELSEWHERE = re.compile(r"(-(?!i\b|-index-url\b|-extra-index-url\b|-pre\b))|[./~]|.*file:|.*\$\{")


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """The environment of a problem.

    Attributes:
        folder: of the environment, after it is made.
        lines: packages and options as pip takes them.
        file: that declares them.
    """

    folder: Path
    lines: tuple[str, ...]
    file: str

    @property
    def python(self) -> str:
        """Its interpreter."""
        return str(self.folder / "bin" / "python")

    @property
    def ready(self) -> bool:
        """Whether it is there, whole and this user's own."""
        try:
            owners = {path.stat().st_uid for path in (self.folder.parent, self.folder, self.folder / _READY)}
        except OSError:
            return False
        return owners == {os.geteuid()} and os.access(self.python, os.X_OK)


def environment_of(files: Folder, spec: EvaluatorSpec) -> Environment | None:
    """The environment of a problem. None: it has no requirements, or names an interpreter or an image.

    Args:
        files: of the problem.
        spec: its evaluator, beside the file.
    """
    declared = declared_packages(files, spec.file)
    if declared is None or spec.python or spec.image:
        return None
    key = "\0".join((*declared.lines, os.path.realpath(sys.executable), sys.version, platform.machine()))
    folder = cache_home() / "evolve" / "environments" / hashlib.sha256(key.encode()).hexdigest()[:24]
    return Environment(folder=folder, lines=declared.lines, file=declared.file)


async def lacking(environment: Environment) -> list[str]:
    """The requirements that this interpreter does not meet. Those that cannot be looked up count, as other files do."""
    asked = {line: line.partition(";")[0].strip() for line in environment.lines if not line.startswith("-")}
    complaints = await check_requirements("", list(asked.values()), [])
    starts = [(line, (f"{_COMPLAINT}{name} ", f"{_COMPLAINT}{name!r} ")) for line, name in asked.items()]
    missing = {line for line, start in starts if any(complaint.startswith(start) for complaint in complaints)}
    return [line for line in environment.lines if line in missing or (line.startswith("-") and _ELSEWHERE.match(line))]


def make(environment: Environment) -> None:
    """Install an environment, unless another process has done so meanwhile.

    Raises:
        InvalidProblemError: a requirement names a file, or the installer fails, with its reason.
    """
    folder, file = environment.folder, environment.file
    for line in environment.lines:
        if _ELSEWHERE.match(line):
            raise InvalidProblemError(
                [f"{file}: {line[:80]!r} cannot be installed: write names with versions, or name an interpreter"]
            )
    try:
        folder.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with _locked(folder.with_suffix(".lock")):
            if not environment.ready:
                _install(environment)
    except OSError as error:
        raise InvalidProblemError([f"{file} cannot be installed at {folder}: {error.strerror or error}"]) from error


def _install(environment: Environment) -> None:
    folder = environment.folder
    shutil.rmtree(folder, ignore_errors=True)
    try:
        uv, python, wanted = uv_program(), environment.python, str(folder / REQUIREMENTS)
        makes = [uv, "venv", "--quiet", "--python", sys.executable] if uv else [sys.executable, "-I", "-m", "venv"]
        _run([*makes, str(folder)], "an environment cannot be made")
        (folder / REQUIREMENTS).write_text("\n".join(environment.lines) + "\n", encoding="utf-8")
        installs = [uv, "pip", "install", "--python", python] if uv else [python, "-I", "-m", "pip", "install", *_QUIET]
        _run([*installs, "--quiet", "-r", wanted], f"{environment.file} cannot be installed")
        (folder / _READY).touch()
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def uv_program() -> str:
    """Path of uv; empty where it is not installed, or where pip has places of its own to find packages."""
    found = shutil.which("uv")
    if not found:
        return ""
    words = [sys.executable, "-I", "-m", "pip", "config", "list"]
    try:
        done = subprocess.run(words, capture_output=True, text=True, cwd="/", timeout=_CONFIG_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return ""
    keys = {line.partition("=")[0].rpartition(".")[2].strip(":'") for line in done.stdout.splitlines()}
    return "" if keys.intersection(_OWN_PLACES) else found


def _run(words: Sequence[str], failure: str) -> None:
    kept = {name: value for name, value in os.environ.items() if _KEPT.fullmatch(name.upper())}
    try:
        done = subprocess.run(
            words, env=kept, cwd="/", stdin=subprocess.DEVNULL, capture_output=True, timeout=_SECONDS, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise InvalidProblemError([f"{failure}: it took longer than {_SECONDS:g} s"]) from error
    if done.returncode != 0:
        raise InvalidProblemError([f"{failure}: {_reason(done.stderr.decode('utf-8', 'replace'))}"])


def _reason(said: str) -> str:
    """The last line that the installer marks as an error, or else the last line."""
    lines = [line.strip(" \t│╰─▶×") for line in said.splitlines() if line.strip()]
    errors = [line.removeprefix("ERROR: ") for line in lines if line.startswith("ERROR: ")]
    return [*(lines or ["it gave no reason"]), *errors][-1][:_MAX_REASON]


@contextmanager
def _locked(file: Path) -> Iterator[None]:
    """Hold a lock, which ends with the process that holds it."""
    handle = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
