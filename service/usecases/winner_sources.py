"""A candidate of a run as a change of the files that the run began from: planned, as a patch, and written."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from evolve.program import Program
from evolve.repository import base_commit
from service.errors import UsageError
from service.ports import Bundle, CandidateRecord, RunRecord
from service.problems.bundle import open_bundle
from service.problems.source_files import SourceFiles, source_files
from service.process.git import git_top
from service.projections.diff import Files, file_diffs
from service.projections.run_site import RunSite
from service.projections.sides import sides_of
from service.usecases.apply_winner import SourceChange, plan_change

SEED = ".0.0"


@dataclass(frozen=True, slots=True, kw_only=True)
class WinnerSources:
    """A candidate beside the files that it changes.

    Attributes:
        began: the first seed.
        winner: the candidate.
        seed, program: their programs.
        bundle: the folder of the problem.
        files: that the run began from.
        change: what the candidate changes in them; nothing is written yet.
    """

    began: CandidateRecord
    winner: CandidateRecord
    seed: Program
    program: Program
    bundle: Bundle
    files: SourceFiles
    change: SourceChange


def plan_sources(
    site: RunSite,
    bundles: Callable[[RunRecord], Bundle],
    run: RunRecord,
    winner: CandidateRecord,
    source: str,
    into: Path | None,
    *,
    force: bool = False,
) -> WinnerSources:
    """Plan what a candidate changes.

    Args:
        site: the place of the run.
        bundles: gives the folder of a run's problem.
        run: of the candidate.
        winner: the candidate.
        source: where the run began.
        into: file or folder that is changed; None: where the run began.
        force: whether files may have changed since.

    Raises:
        UsageError: the files are not known, or the candidate is of another run.
        ConflictError: the files have changed since the run began.
    """
    if winner.run_id != run.id:
        raise UsageError(f"{winner.id} is a candidate of another run: evolve apply {winner.run_id} {winner.id}")
    began = site.reader.candidate(f"{run.id}{SEED}")
    seed, program, bundle = site.reader.program(began.id), site.reader.program(winner.id), bundles(run)
    files = source_files(open_bundle(bundle), seed, source, into)
    before, after = (_texts(side, seed) for side in sides_of(seed, program, lambda: site.repository(run)))
    change = plan_change(before, after, files, force=force)
    return WinnerSources(
        began=began, winner=winner, seed=seed, program=program, bundle=bundle, files=files, change=change
    )


def patch_text(files: SourceFiles, change: SourceChange) -> str:
    """A change for `git apply` in the repository, or for `patch -p1` in the folder.

    Raises:
        UsageError: a file has too many lines to compare.
    """
    shown = change_below(git_top(files.folder), files, change)
    found = list(file_diffs(sorted(shown.before.items()), sorted(shown.after.items()), "a", "b"))
    if large := [one.path for one in found if one.text is None]:
        raise UsageError(f"{large[0]} has too many lines to compare: leave out --patch")
    return "".join(one.text or "" for one in found)


def change_below(top: Path | None, files: SourceFiles, change: SourceChange) -> SourceChange:
    """A change with paths relative to a folder above."""
    start = files.folder.resolve().relative_to(top.resolve()) if top else Path()

    def moved(path: str) -> str:
        return (start / path).as_posix()

    return SourceChange(
        before={moved(path): text for path, text in change.before.items()},
        after={moved(path): text for path, text in change.after.items()},
        moved=change.moved,
    )


def write_change(files: SourceFiles, change: SourceChange) -> None:
    """Write a change; line ends stay as they were."""
    for path in change.before.keys() - change.after.keys():
        (files.folder / path).unlink()
    for path, text in change.after.items():
        place = files.folder / path
        old = place.read_bytes() if place.exists() else b""
        content = text.encode()
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content.replace(b"\n", b"\r\n") if b"\r\n" in old else content)


def changed_paths(files: SourceFiles, change: SourceChange) -> list[str]:
    """Paths of the files that a change is about."""
    return [str(files.folder / path) for path in sorted(change.before.keys() | change.after.keys())]


def _texts(files: Files, seed: Program) -> dict[str, str]:
    """Texts by path; those of a repository end their lines in LF, as its working files are compared."""
    based = bool(base_commit(dict(seed.files)))
    return {path: text.replace("\r\n", "\n") if based else text for path, text in files}
