"""The command `evolve apply`: the winner of a run goes into the files that the run began from."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from service.cli import formatting
from service.cli.apply_body import body_of, message_of
from service.cli.records import find_candidate, find_run
from service.cli.terminal import Terminal
from service.errors import UsageError
from service.policy_settings.choice import SOURCE, submitted
from service.ports import Bundle, CandidateRecord, RunRecord
from service.problems.source_files import SourceFiles
from service.usecases.apply_winner import SourceChange, rescore
from service.usecases.git_branch import commit_on_branch, require_free_branch
from service.usecases.winner_sources import (
    WinnerSources,
    change_below,
    changed_paths,
    patch_text,
    plan_sources,
    write_change,
)

if TYPE_CHECKING:
    from service.projections.run_site import RunSite


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
    source = f"{SOURCE}{site.name}" if options.named_service else run.source
    planned = plan_sources(site, bundles, run, winner, source, options.into, force=options.force)
    files, change = planned.files, planned.change
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
        body = _body(terminal, site, run, planned, options, others=submitted(source))
    commit = ""
    if top:
        message = message_of(site, run, planned.began, winner, body)
        commit = commit_on_branch(top, options.branch, change_below(top, files, change), message, force=options.force)
    elif not options.body:
        write_change(files, change)
    _say(terminal, run, winner, files, change, body, commit, options)


def _body(
    terminal: Terminal,
    site: "RunSite",
    run: RunRecord,
    planned: WinnerSources,
    options: ApplyOptions,
    *,
    others: bool,
) -> str:
    from service.bootstrap.evaluators import choose_evaluators
    from service.config import load_settings

    evaluators = choose_evaluators(load_settings(), queue="", require=options.require_isolation)
    with terminal.doing("scoring the seed and the winner again"):
        scoring = rescore(planned.bundle, run.problem_name, evaluators, planned.seed, planned.program, others=others)
        scored = asyncio.run(scoring)
    return body_of(site, run, planned.began, planned.winner, scored)


def _print_patch(terminal: Terminal, files: SourceFiles, change: SourceChange) -> None:
    text = patch_text(files, change)
    if terminal.as_json:
        terminal.emit({"patch": text})
    else:
        terminal.write(text)


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
    changed = changed_paths(files, change)
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
