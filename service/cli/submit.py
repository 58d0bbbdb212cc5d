"""The command `evolve run` with a service: the problem goes there, and its events come back."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from service.cli import formatting
from service.cli.exit_codes import INTERRUPTED, OK
from service.cli.records import find_run, run_json
from service.cli.run_options import BUDGET, RunOptions, require_own_problem
from service.cli.terminal import Terminal
from service.client import calls
from service.client.reader import run_record
from service.client.run_site import remote_site
from service.client.service_choice import ServiceChoice, advising_local
from service.errors import UsageError
from service.policy_settings.roles import read_policies
from service.ports import ENDED, Bundle, RunRecord
from service.problems.configuration import merge, parse_sets, read_config_file
from service.problems.upload_request import upload_of
from service.projections.run_site import RunSite
from service.schemas.requests import checked
from service.schemas.runs import BudgetExtension, RunCreate
from service.usecases.track_run import RunTracking, read_choices

if TYPE_CHECKING:
    from service.client import Client

_KEYS = ("api_key_env", "api_key_file")


def run_there(terminal: Terminal, options: RunOptions, service: ServiceChoice) -> int:
    """Have a service run the search, follow it, and return the exit code."""
    from service.cli.watch import watch

    with advising_local(service):
        _refuse(options)
    trackers = read_choices(options.track)
    with service.client() as client:
        site = remote_site(client, notice=lambda error: terminal.note(f"{error}; trying again", style="yellow"))
        try:
            with advising_local(service), terminal.doing("submitting"):
                run = (
                    _resumed(terminal, client, site.reader, options) if options.resume else _submitted(client, options)
                )
        except KeyboardInterrupt:
            terminal.note("Interrupted before the service confirmed the run. Look for it with evolve runs")
            return INTERRUPTED
        if options.detach:
            terminal.emit(run_json(run)) if terminal.as_json else terminal.show(run.id)
            terminal.note(f"next: {terminal.command(f'watch {formatting.short(run.id)}')}", style="dim")
            return OK
        if not terminal.as_json:
            terminal.note(_opening(run, site.name), style="dim")
        tracking = RunTracking(trackers, partial(_site_of, service), partial(terminal.note, style="yellow"))
        with tracking.follow(run.id):
            code = watch(terminal, site, run.id, require_target=options.require_target)
        tracking.close()
        return code


@contextmanager
def _site_of(service: ServiceChoice) -> Iterator[RunSite]:
    """The runs of a service over a connection of one's own."""
    with service.client() as client:
        yield remote_site(client)


def _refuse(options: RunOptions) -> None:
    if options.require_isolation is not None:
        raise UsageError(
            "the service sets its own isolation (sandbox.require): leave out --require-isolation and"
            " --allow-unsandboxed"
        )
    if options.queue is not None:
        raise UsageError("the service sets its own queue (queue.url): leave out --queue")
    if options.detach and options.track:
        raise UsageError("--track sends the run from here: leave out --detach, or send it later with evolve track")
    options.require_sense(workers=False)


def _resumed(terminal: Terminal, client: "Client", reader: Any, options: RunOptions) -> RunRecord:
    """A run that goes on, with what of its budget is changed; one that has ended is continued."""
    run = find_run(reader, options.resume or "")
    require_own_problem(terminal, options, run, lambda: _stored(client, run))
    if budget := {key.removeprefix(BUDGET): value for key, value in options.given.items() if key.startswith(BUDGET)}:
        extended = run_record(client.send(calls.extend_run(run.id, checked(BudgetExtension, budget=budget))))
        if run.state in ENDED:
            return extended
    return run_record(client.send(calls.resume_run(run.id)))


def _stored(client: "Client", run: RunRecord) -> Bundle:
    """The problem of a run."""
    return Bundle(hash=run.bundle_hash, content=client.send(calls.download_problem(run.problem_id)))


def _submitted(client: "Client", options: RunOptions) -> RunRecord:
    assert options.problem is not None
    config, policy = _config(options), _policy(options)  # what is off here is said before anything is sent
    problem = client.send(calls.create_problem(upload_of(options.problem)))
    run = checked(RunCreate, problem=problem.id, config=config, labels=dict(options.labels), **policy)
    return run_record(client.send(calls.create_run(run)))


def _config(options: RunOptions) -> Mapping[str, Any]:
    layers = [read_config_file(options.config)] if options.config else []
    return merge([*layers, parse_sets(options.settings), ("the flags", options.given)])


def _policy(options: RunOptions) -> Mapping[str, Any]:
    """The policies of a request: names of the service's own, and descriptions without a key."""
    own = [word for word in options.asked.names if "://" not in word and not Path(word).is_file()]
    if options.asked.model is not None and not options.asked.names:
        raise UsageError("--model needs a policy: --policy URL --model NAME")
    if options.asked.model is not None and own:
        raise UsageError(f"the policy {own[0]} of the service has its own model: leave out --model")
    others = [word for word in options.asked.names if word not in own]
    if options.asked.params and not others:
        raise UsageError("--param needs a policy given by its URL or a file: --policy URL --param KEY=VALUE")
    policies = (
        read_policies(others, model=options.asked.model, params=options.asked.params, apart=bool(own)) if others else []
    )
    described = [policy.model_dump(mode="json", exclude_unset=True) for policy in policies]
    if any(policy.get(key) for policy in described for key in _KEYS):
        raise UsageError("the service holds the keys: leave the key out of the policy, or name a policy of the service")
    asked = [*own, *described]
    return {"policy": asked[0] if len(asked) == 1 else asked} if asked else {}


def _opening(run: RunRecord, server: str) -> str:
    return (
        f"searching {run.problem_name} at {server}; run {formatting.short(run.id)}."
        " Press Ctrl-C to stop watching. The run continues"
    )
