"""The commands of training jobs: `evolve training submit`, `list`, `show`, `watch`, `cancel`, `resume`, `allow`, ..."""

import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from service.bootstrap.sites import open_policies, open_site, open_training
from service.cli import formatting
from service.cli.exit_codes import FAILED, INTERRUPTED, OK
from service.cli.listing import plain_table
from service.cli.records import find_run
from service.cli.terminal import Terminal, plain
from service.cli.training_events import event_line, figures_text
from service.client.service_choice import SourceOptions
from service.config import load_settings
from service.errors import AmbiguousIdError, NotFoundError, UsageError
from service.ports import JOB_ENDED, JOB_FAILED, JOB_SUCCEEDED
from service.projections.training import asked_settings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from service.schemas.training import TrainingJob, TrainingJobCreate
    from service.usecases.policy_site import PolicySite
    from service.usecases.training_site import TrainingSite

LAST = "last"
POLL_SECONDS = 1.0
MAX_LOOKED_THROUGH = 1000
NONE_YET = "there is no training job yet: submit one with evolve training submit POLICY"


def submit_job(terminal: Terminal, where: SourceOptions, words: dict[str, Any]) -> None:
    """Queue a training job.

    Args:
        terminal: where the job is printed.
        where: the database or service.
        words: fields of the request. None: as by default.

    Raises:
        NotFoundError, AmbiguousIdError: there is no such policy, base or run.
        UsageError: a word does not fit.
    """
    from pydantic import ValidationError

    from service.schemas.training import TrainingJobCreate

    if words["runs"] or words["test_runs"]:
        with open_site(load_settings(), where) as records:
            ids = {name: [find_run(records.reader, run).id for run in words[name]] for name in ("runs", "test_runs")}
            words = {**words, **ids}
    try:
        body = TrainingJobCreate.model_validate({key: value for key, value in words.items() if value is not None})
    except ValidationError as error:
        first = error.errors()[0]
        raise UsageError(f"{'.'.join(map(str, first['loc']))}: {first['msg']}") from error
    with open_policies(load_settings(), where) as policies:
        _refuse_unknown(policies, body)
    with _training(where) as site:
        job = site.submit(body)
    _tell(terminal, job, f"{formatting.short(job.id)} is queued. It waits for {job.waiting_for}: evolve trainer")
    if not terminal.as_json:
        terminal.note(f"Watch it with: {terminal.command('training watch')}")


def _refuse_unknown(policies: "PolicySite", body: "TrainingJobCreate") -> None:
    """Refuse a base or a policy that the registry does not have, with the nearest name that it has.

    Raises:
        NotFoundError: there is none of a name, and the job does not register it.
    """
    from service.problems.suggestion import hint

    known = {policy.name for policy in policies.policies()}
    base = body.base.partition("@")[0]
    if base and base not in known:
        raise NotFoundError(f"--base: there is no policy {base!r} in the registry{hint(base, known)}")
    if body.policy not in known and not body.new_policy:
        near = hint(body.policy, known)
        raise NotFoundError(f"there is no policy {body.policy!r} in the registry (--new registers it){near}")


def list_jobs(terminal: Terminal, where: SourceOptions, limit: int) -> None:
    """Print training jobs, newest first."""
    with _training(where) as site:
        jobs = site.jobs(limit)
    if terminal.as_json:
        for job in jobs:
            terminal.emit(job.model_dump(mode="json"))
        return
    if not jobs:
        terminal.note(NONE_YET)
        return
    table = plain_table("job", "policy", "state", "method", "step>", "version>", "created")
    for job in jobs:
        table.add_row(
            formatting.short(job.id),
            plain(job.policy),
            job.state,
            plain(str(job.request.get("method", ""))),
            _step(job),
            "" if job.version is None else str(job.version),
            f"{job.created_at.astimezone():%Y-%m-%d %H:%M}",
        )
    terminal.show(table)


def show_job(terminal: Terminal, where: SourceOptions, named: str) -> None:
    """Print a training job, with its evaluation if it has ended."""
    with _training(where) as site:
        job = _found(site, named)
        newest = site.events(job.id, max(0, job.sequence - 1))
    if terminal.as_json:
        terminal.emit(job.model_dump(mode="json"))
        return
    lines = [f"{job.id}: {job.state}", f"policy {plain(job.policy)}"]
    lines += [f"{plain(name)} {plain(value)}" for name, value in asked_settings(job.request).items()]
    lines += [f"runs {len(job.runs)}"] if job.runs else []
    if job.progress is not None:
        lines.append(f"{plain(job.progress.stage)} {_step(job)}: {figures_text(job.progress.figures)}")
    if job.checkpoint is not None:
        lines.append(f"checkpoint {plain(job.checkpoint.stage)} {job.checkpoint.step}")
    lines += [f"waits for {plain(job.waiting_for)}"] if job.waiting_for else []
    lines += [f"error {plain(job.error)}"] if job.error else []
    lines += [event_line(event) for event in newest if event.kind == "training.succeeded"]
    terminal.show("\n".join(lines))


def watch_job(terminal: Terminal, where: SourceOptions, named: str, after: int) -> int:
    """Print the events of a job as they come, until it ends. Returns the exit code."""
    with _training(where) as site:
        job = _found(site, named)
        try:
            job = follow_job(terminal, site, job, after)
        except KeyboardInterrupt:
            command = terminal.command(f"training cancel {formatting.short(job.id)}")
            terminal.note(f"The job continues. Cancel it with: {command}")
            return INTERRUPTED
    return OK if job.state == JOB_SUCCEEDED else FAILED if job.state == JOB_FAILED else INTERRUPTED


def follow_job(terminal: Terminal, site: "TrainingSite", job: "TrainingJob", after: int) -> "TrainingJob":
    """Print the events of a job behind a sequence number as they come, and return the job when it has ended."""
    while True:
        for event in site.events(job.id, after):
            after = event.sequence
            if terminal.as_json:
                terminal.emit(event.model_dump(mode="json"))
            else:
                terminal.show(event_line(event))
        job = site.get(job.id)
        if job.state in JOB_ENDED and after >= job.sequence:
            return job
        time.sleep(POLL_SECONDS)


def change_job(terminal: Terminal, where: SourceOptions, named: str, change: str) -> None:
    """Cancel or resume a job."""
    with _training(where) as site:
        changes: dict[str, Callable[[str], TrainingJob]] = {"cancel": site.cancel, "resume": site.resume}
        job = changes[change](_found(site, named).id)
    ending = change == "cancel" and job.state not in JOB_ENDED
    _tell(terminal, job, f"{formatting.short(job.id)} {'stops within seconds' if ending else f'is {job.state}'}")


def permit(terminal: Terminal, where: SourceOptions, run: str, *, all_runs: bool, allowed: bool) -> None:
    """Record whether a run, or all runs, may be trained on.

    Raises:
        UsageError: neither or both are named.
    """
    if bool(run) == all_runs:
        raise UsageError("name a run, or all of them with --all")
    settings = load_settings()
    if run:
        with open_site(settings, where) as records:
            run = find_run(records.reader, run).id
    with open_training(settings, where) as site:
        answer = site.permit(run or None, allowed=allowed)
    if terminal.as_json:
        terminal.emit(answer.model_dump(mode="json"))
        return
    what = answer.run_id or "every run without an answer of its own"
    terminal.show(f"{what} {'may' if allowed else 'may not'} be trained on")


def list_permissions(terminal: Terminal, where: SourceOptions) -> None:
    """Print what may be trained on."""
    with _training(where) as site:
        answers = site.permissions()
    if terminal.as_json:
        for answer in answers:
            terminal.emit(answer.model_dump(mode="json"))
        return
    if not answers:
        terminal.note("no run may be trained on: allow it with evolve training allow RUN, or all with --all")
        return
    table = plain_table("run", "allowed", "by~", "at")
    for answer in answers:
        allowed = "yes" if answer.allowed else "no"
        table.add_row(answer.run_id or "all others", allowed, plain(answer.by), formatting.moment(answer.at))
    terminal.show(table)


def read_hyperparameters(words: "Sequence[str]") -> dict[str, float]:
    """Numbers by name, of words such as `rank=8`.

    Raises:
        UsageError: a word has another form.
    """
    found = {}
    for word in words:
        name, _, value = word.partition("=")
        try:
            found[name] = float(value)
        except ValueError as error:
            raise UsageError(f"--set {word[:80]} must be a name and a number, such as --set rank=8") from error
    return found


def split_words(text: str) -> list[str]:
    """The words of a list that commas separate."""
    return [word.strip() for word in text.split(",") if word.strip()]


@contextmanager
def _training(where: SourceOptions) -> "Iterator[TrainingSite]":
    with open_training(load_settings(), where) as site:
        yield site


def _found(site: "TrainingSite", named: str) -> "TrainingJob":
    """A job by its id, by the beginning of it, or the newest as `last`.

    Raises:
        NotFoundError, AmbiguousIdError: no job, or several.
    """
    if named == LAST:
        if newest := site.jobs(1):
            return newest[0]
        raise NotFoundError(NONE_YET)
    matching = [job for job in site.jobs(MAX_LOOKED_THROUGH) if job.id.startswith(named)] if named else []
    if len(matching) > 1:
        raise AmbiguousIdError(f"{len(matching)} training jobs begin with {named[:64]!r}: name more of the id")
    return matching[0] if matching else site.get(named or " ")


def _tell(terminal: Terminal, job: "TrainingJob", sentence: str) -> None:
    if terminal.as_json:
        terminal.emit(job.model_dump(mode="json"))
    else:
        terminal.show(sentence)


def _step(job: "TrainingJob") -> str:
    return "" if job.progress is None else f"{job.progress.step}/{job.progress.steps}"
