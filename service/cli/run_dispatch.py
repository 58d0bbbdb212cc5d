"""`evolve run` in this process or through a service, whichever the options and the settings choose."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from service.cli.run_options import RunOptions
from service.cli.terminal import Terminal
from service.client.service_choice import ServiceChoice, SourceOptions, choose_service
from service.config import load_settings
from service.errors import UsageError


def run_named(terminal: Terminal, options: RunOptions, where: SourceOptions, words: Mapping[str, Any]) -> int:
    """Run the search on a problem, or on the command that the words of `evolve run` name, and return the exit code."""
    from service.cli.command_run import command_project, read_command_options
    from service.cli.seeds_from import run_with_population

    options = _with_insights(terminal, options, where, words["insights_from"])
    asked = read_command_options(words)
    if asked.named:
        with command_project(terminal, options, asked) as made:
            return run_anywhere(terminal, run_with_population(terminal, made, where, words["seeds_from"]), where)
    if asked.idle:
        raise UsageError(f"{', '.join(asked.idle)}: this goes with a script or with --command, not with a problem")
    return run_anywhere(terminal, run_with_population(terminal, options, where, words["seeds_from"]), where)


def _with_insights(terminal: Terminal, options: RunOptions, where: SourceOptions, run_id: str | None) -> RunOptions:
    """The words of a run that begins with the insights of an earlier one."""
    if run_id is None:
        return options
    if options.resume is not None:
        raise UsageError("--insights-from is for a new run: a resumed run keeps its insights, edit them instead")
    from service.cli.insights import INSIGHTS_TEXT, earlier_insights
    from service.cli.options import site_of

    with site_of(where) as site:
        text = earlier_insights(terminal, site, run_id)
    return replace(options, flags={**options.flags, INSIGHTS_TEXT: text})


def run_anywhere(terminal: Terminal, options: RunOptions, where: SourceOptions) -> int:
    """Run the search here, or have a service run it, and return the exit code."""
    service = choose_service(load_settings(), where)
    if service is not None and not (
        service.found and options.resume and _begun_here(terminal, service, options.resume)
    ):
        from service.cli.submit import run_there

        return run_there(terminal, options, service)
    if options.detach:
        raise UsageError("--detach needs a service, since a run of this process ends with it: name one with --server")
    from service.cli.run import run_search

    return run_search(terminal, options)


def _begun_here(terminal: Terminal, service: ServiceChoice, run_id: str) -> bool:
    """Whether a run was begun by a command, whose rights a service lacks: a command goes on with it, and says so."""
    from service.cli.records import find_run
    from service.client.reader import RemoteRunReader
    from service.policy_settings.choice import submitted

    with service.client() as client:
        run = find_run(RemoteRunReader(client), run_id)
    if submitted(run.source):
        return False
    terminal.note("this run was started without the service, so it continues without it", style="dim")
    return True
