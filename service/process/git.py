"""Calls of git, with its complaints as errors."""

import os
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from service.errors import ConflictError, UsageError

GIT_SECONDS = 120.0
# For repositories that somebody else may have packed: what is missing in a partial clone is not fetched by the program
# that its configuration names.
UNTRUSTED = {"GIT_NO_LAZY_FETCH": "1"}


def git(
    folder: Path, words: Sequence[str], *, data: str | None = None, environment: Mapping[str, str] | None = None
) -> str:
    """Call git in a folder, and return what it prints.

    Args:
        folder: where it runs.
        words: behind `git`.
        data: its standard input.
        environment: variables to add.

    Raises:
        UsageError: there is no git.
        ConflictError: it fails.
    """
    try:
        ended = subprocess.run(
            ["git", *words],
            cwd=folder,
            input=(data or "").encode(),
            capture_output=True,
            env={**os.environ, **(environment or {})},
            timeout=GIT_SECONDS,
            check=False,
        )
    except FileNotFoundError as error:
        raise UsageError(f"git cannot be started in {folder}: install git, and check that the folder exists") from error
    except subprocess.TimeoutExpired as error:
        raise ConflictError(f"git {words[0]} has not ended within {GIT_SECONDS:g} seconds") from error
    if ended.returncode:
        said = ended.stderr.decode(errors="replace").strip().splitlines()
        raise ConflictError(f"git {words[0]} failed in {folder}: {said[-1] if said else ended.returncode}")
    return ended.stdout.decode(errors="replace")


def git_top(folder: Path) -> Path | None:
    """The top folder of the repository that a folder is in; None: it is in none, or there is no git."""
    try:
        return Path(git(folder, ["rev-parse", "--show-toplevel"]).removesuffix("\n"))
    except (ConflictError, UsageError):
        return None


def fast_import(folder: Path, stream: Iterable[bytes]) -> None:
    """Write commits into a repository, as a stream of `git fast-import`.

    Raises:
        ConflictError: git refuses the stream.
    """
    with tempfile.TemporaryFile() as said:
        with subprocess.Popen(
            ["git", "fast-import", "--quiet", "--date-format=raw"], cwd=folder, stdin=subprocess.PIPE, stderr=said
        ) as importing:
            assert importing.stdin is not None
            with suppress(BrokenPipeError):  # its reason is in the answer
                for part in stream:
                    importing.stdin.write(part)
                importing.stdin.close()
        if importing.returncode:
            said.seek(0)
            words = said.read().decode(errors="replace").strip().splitlines()
            raise ConflictError(f"git fast-import failed in {folder}: {words[0] if words else importing.returncode}")


def read_blobs(folder: Path, ids: Sequence[str]) -> Iterator[bytes]:
    """The contents of blobs, in order, by one process of git.

    Raises:
        ConflictError: one is not there.
    """
    with tempfile.TemporaryFile() as asked:
        asked.write("".join(f"{one}\n" for one in ids).encode())
        asked.seek(0)
        with subprocess.Popen(
            ["git", "cat-file", "--batch"],
            cwd=folder,
            stdin=asked,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, **UNTRUSTED},
        ) as reading:
            assert reading.stdout is not None
            for one in ids:
                words = reading.stdout.readline().split()
                if len(words) != 3:
                    raise ConflictError(f"git cat-file failed in {folder}: there is no object {one}")
                yield reading.stdout.read(int(words[2]))
                reading.stdout.read(1)
