"""The command `evolve apply`: the winner of a run goes into the files that the run began from."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from evolve.program import Program
from evolve.repository import base_commit
from service.cli import formatting
from service.cli.apply_body import body_of, message_of
from service.cli.records import find_candidate, find_run
from service.cli.terminal import Terminal
from service.errors import UsageError
from service.policy_settings.choice import SOURCE, submitted
from service.ports import Bundle, CandidateRecord, RunRecord
from service.problems.bundle import open_bundle
from service.problems.source_files import SourceFiles, source_files
from service.process.git import git_top
from service.projections.diff import Files, file_diffs
from service.projections.sides import sides_of
from service.usecases.apply_winner import SourceChange, plan_change, rescore
from service.usecases.git_branch import commit_on_branch, require_free_branch

if TYPE_CHECKING:
    from service.projections.run_site import RunSite

SEED = ".0.0"


@dataclass(frozen=True, slots=True, kw_only=True)
class ApplyOptions:
    """The words of `evolve apply`.

    Attributes:
        into: file or folder that is changed; None: where the run began.
        branch: of one commit; empty: files are changed in place.
        patch: whether the change is printed; `body`: whether the text of a pull request is.
        require_isolation: weakest isolation in which programs are scored again.
        named_service: whether the run is with a service that was named. It could tell any source: only a run of this
            user's database or service says where it began.
    """

    into: Path | None = None
    force: bool = False
    patch: bool = False
    branch: str = ""
    body: bool = False
    require_isolation: str | None = None
    named_service: bool = False

    def require_sense(self) -> None:
        """Refuse words that contradict each other.

        Raises:
            UsageError: they do.
        """
        if self.patch and (self.branch or self.body):
            raise UsageError("--patch prints the change alone: leave out --branch and --body")


def apply_winner(
    terminal: Terminal,
    site: "RunSite",
    bundles: Callable[[RunRecord], Bundle],
    run_id: str,
    candidate_name: str | None,
    options: ApplyOptions,
) -> None:
    """Put a candidate of a run into its sources, or print what that changes.

    Raises:
        UsageError: the sources are not known, or the words contradict each other.
        ConflictError: the sources have changed since the run began.
    """
    options.require_sense()
    run = find_run(site.reader, run_id)
    winner = find_candidate(site.reader, candidate_name or run.id, run.id)
    if winner.run_id != run.id:
        raise UsageError(f"{winner.id} is a candidate of another run: evolve apply {winner.run_id} {winner.id}")
    began = site.reader.candidate(f"{run.id}{SEED}")
    seed, program, bundle = site.reader.program(began.id), site.reader.program(winner.id), bundles(run)
    source = f"{SOURCE}{site.name}" if options.named_service else run.source
    files = source_files(open_bundle(bundle), seed, source, options.into)
    sides = sides_of(seed, program, lambda: site.repository(run))
    before, after = (_texts(side, seed) for side in sides)
    change = plan_change(before, after, files, force=options.force)
    if not change.before and not change.after:
        terminal.note(f"{formatting.short(winner.id)} is in the sources already: nothing changes")
    if change.moved:
        terminal.note(f"changed since the run began: {', '.join(change.moved)}", style="yellow")
    if options.patch:
        _print_patch(terminal, files, change)
        return
    top = require_free_branch(files.folder, options.branch) if options.branch else None
    if top and not change.before and not change.after:
        raise UsageError("nothing changes, so there is nothing to commit: leave out --branch")
    body = ""
    if options.body:
        body = _body(terminal, site, run, (began, winner), (seed, program), bundle, options, others=submitted(source))
    commit = ""
    if top:
        message = message_of(site, run, began, winner, body)
        commit = commit_on_branch(top, options.branch, _below(top, files, change), message, force=options.force)
    elif not options.body:
        _write(files, change)
    _say(terminal, run, winner, files, change, body, commit, options)


def _texts(files: Files, seed: Program) -> dict[str, str]:
    """Texts by path; those of a repository end their lines in LF, as its working files are compared."""
    based = bool(base_commit(dict(seed.files)))
    return {path: text.replace("\r\n", "\n") if based else text for path, text in files}


def _body(
    terminal: Terminal,
    site: "RunSite",
    run: RunRecord,
    records: tuple[CandidateRecord, CandidateRecord],
    programs: tuple[Program, Program],
    bundle: Bundle,
    options: ApplyOptions,
    *,
    others: bool,
) -> str:
    from service.bootstrap.evaluators import choose_evaluators
    from service.config import load_settings

    evaluators = choose_evaluators(load_settings(), queue="", require=options.require_isolation)
    with terminal.doing("scoring the seed and the winner again"):
        scored = asyncio.run(rescore(bundle, run.problem_name, evaluators, *programs, others=others))
    return body_of(site, run, *records, scored)


def _below(top: Path | None, files: SourceFiles, change: SourceChange) -> SourceChange:
    """A change with paths relative to a folder above."""
    start = files.folder.resolve().relative_to(top.resolve()) if top else Path()

    def moved(path: str) -> str:
        return (start / path).as_posix()

    return SourceChange(
        before={moved(path): text for path, text in change.before.items()},
        after={moved(path): text for path, text in change.after.items()},
        moved=change.moved,
    )


def _print_patch(terminal: Terminal, files: SourceFiles, change: SourceChange) -> None:
    """Print a change for `git apply` in the repository, or for `patch -p1` in the folder."""
    shown = _below(git_top(files.folder), files, change)
    found = list(file_diffs(sorted(shown.before.items()), sorted(shown.after.items()), "a", "b"))
    if large := [one.path for one in found if one.text is None]:
        raise UsageError(f"{large[0]} has too many lines to compare: leave out --patch")
    text = "".join(one.text or "" for one in found)
    if terminal.as_json:
        terminal.emit({"patch": text})
    else:
        terminal.write(text)


def _write(files: SourceFiles, change: SourceChange) -> None:
    """Write a change; line ends stay as they were."""
    for path in change.before.keys() - change.after.keys():
        (files.folder / path).unlink()
    for path, text in change.after.items():
        place = files.folder / path
        old = place.read_bytes() if place.exists() else b""
        content = text.encode()
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content.replace(b"\n", b"\r\n") if b"\r\n" in old else content)


def _say(
    terminal: Terminal,
    run: RunRecord,
    winner: CandidateRecord,
    files: SourceFiles,
    change: SourceChange,
    body: str,
    commit: str,
    options: ApplyOptions,
) -> None:
    changed = [str(files.folder / path) for path in sorted(change.before.keys() | change.after.keys())]
    if terminal.as_json:
        written = {"branch": options.branch, "commit": commit} if commit else {}
        text = {"body": body} if body else {}
        terminal.emit({"run_id": run.id, "candidate_id": winner.id, "files": changed, **written, **text})
        return
    if body:
        terminal.write(body)
    name = formatting.short(winner.id)
    if commit:
        terminal.note(f"{name} is on the branch {options.branch} as one commit, {commit[:12]}")
    elif not body and changed:
        terminal.note(f"{name} is in {', '.join(changed)}")
