"""Environments: the packages of `requirements.txt` beside an evaluator, installed once per text and interpreter.

Installing runs pip, and with it code of the packages, as the user and outside of every sandbox. Other modules decide
whether this is allowed.
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
from pathlib import Path, PurePosixPath

from evolve.problem import EvaluatorSpec
from service.config import cache_home
from service.errors import InvalidProblemError
from service.problems.folder import Folder
from service.problems.requirements import check_requirements

FILE = "requirements.txt"
_READY = "ready"
_COMPLAINT = "evaluator.requirements: "  # how what `check_requirements` says of one begins
_SECONDS = 1800.0
_MAX_REASON = 300
# What pip gets of this process: no keys of models, databases or services.
_KEPT = re.compile(r"PATH|HOME|USER|LANG|LC_\w+|TMPDIR|TZ|PIP_\w+|XDG_\w+|SSL_CERT_\w+|REQUESTS_CA_BUNDLE|(\w+_)?PROXY")
# Lines that name something beside the text itself, so that equal texts would not be equal environments. pip puts
# variables in place of ${NAME}, which an address could carry away.
_ELSEWHERE = re.compile(r"(-(?!i\b|-index-url\b|-extra-index-url\b|-pre\b))|[./~]|.*file:|.*\$\{")


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """The environment of a problem.

    Attributes:
        folder: of the environment, after it is made.
        lines: of the file, without comments and empty lines.
    """

    folder: Path
    lines: tuple[str, ...]

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
    """The environment of a problem. None: it has no requirements, or names an interpreter.

    Args:
        files: of the problem.
        spec: its evaluator, beside the file.
    """
    content = files.files.get(str(PurePosixPath(spec.file).parent / FILE))
    if content is None or spec.python:
        return None
    lines = _lines(content.decode("utf-8", "replace"))
    key = "\0".join((*lines, os.path.realpath(sys.executable), sys.version, platform.machine()))
    folder = cache_home() / "evolve" / "environments" / hashlib.sha256(key.encode()).hexdigest()[:24]
    return Environment(folder=folder, lines=lines) if lines else None


def _lines(text: str) -> tuple[str, ...]:
    found = [re.sub(r"(^|\s)#.*", "", line).strip() for line in text.replace("\\\n", " ").splitlines()]
    return tuple(line for line in found if line)


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
        InvalidProblemError: a requirement names a file, or pip fails, with its reason.
    """
    for line in environment.lines:
        if _ELSEWHERE.match(line):
            raise InvalidProblemError(
                [f"{FILE}: {line[:80]!r} cannot be installed: write names with versions, or name an interpreter"]
            )
    folder = environment.folder
    try:
        folder.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with _locked(folder.with_suffix(".lock")):
            if not environment.ready:
                _install(environment)
    except OSError as error:
        raise InvalidProblemError([f"{FILE} cannot be installed at {folder}: {error.strerror or error}"]) from error


def _install(environment: Environment) -> None:
    folder = environment.folder
    shutil.rmtree(folder, ignore_errors=True)
    try:
        _run([sys.executable, "-I", "-m", "venv", str(folder)], "an environment cannot be made")
        (folder / FILE).write_text("\n".join(environment.lines) + "\n", encoding="utf-8")
        words = ["install", "--no-input", "--disable-pip-version-check", "--quiet", "-r", str(folder / FILE)]
        _run([environment.python, "-I", "-m", "pip", *words], f"{FILE} cannot be installed")
        (folder / _READY).touch()
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


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
    """The last line that pip marks as an error, or else the last line."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    errors = [line.removeprefix("ERROR: ") for line in lines if line.startswith("ERROR: ")]
    return [*(lines or ["pip gave no reason"]), *errors][-1][:_MAX_REASON]


@contextmanager
def _locked(file: Path) -> Iterator[None]:
    """Hold a lock, which ends with the process that holds it."""
    handle = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
