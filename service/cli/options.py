"""Words that many commands share."""

import os
from dataclasses import replace
from functools import partial
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from service.cli.terminal import Terminal
    from service.client.service_choice import SourceOptions
    from service.problems.project import Project
    from service.projections.run_site import RunSite

MAX_ROWS = 1_000_000
HELP = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


def named_folder(text: str) -> Path:
    """A folder that somebody names; an empty word, which would be the current one, names none."""
    if not text.strip():
        raise typer.BadParameter("it is empty: name a folder, such as . for the current one")
    return Path(text)


def named_project(
    problem: Path,
    evaluator: Path | None,
    config: Path | None,
    python: str | None,
    form: str | None = None,
    root: Path | None = None,
) -> "Project":
    """The problem that the words of a command name."""
    from service.problems.project import Project

    interpreter = _interpreter(python or "")
    return Project(folder=problem, evaluator=evaluator, config=config, python=interpreter, form=form or "", root=root)


def _interpreter(python: str) -> str:
    """A path is meant from where the command is typed, and a link of an environment is kept; a name is looked up."""
    return str(Path(python).expanduser().absolute()) if os.sep in python else python


Json = Annotated[bool, typer.Option("--json", help="Print JSON on stdout.")]
Evaluations = Annotated[
    int | None,
    typer.Option(min=1, metavar="N", help="Budget: candidates evaluated.", show_default="the problem's, else 200"),
]
Tokens = Annotated[
    int | None, typer.Option(min=1, metavar="N", help="Budget: tokens of the policies.", show_default="no limit")
]
WallSeconds = Annotated[
    float | None,
    typer.Option(metavar="S", help="Budget: active seconds of the run.", show_default="the problem's, else no limit"),
]
Target = Annotated[
    float | None, typer.Option(metavar="F", help="End the run at this fitness.", show_default="no target")
]
Patience = Annotated[
    int | None,
    typer.Option(
        min=1, metavar="N", help="End the run after N evaluations without improvement.", show_default="no limit"
    ),
]
PolicyNames = Annotated[
    list[str] | None,
    typer.Option(
        "--policy",
        metavar="POLICY",
        help="Policy that writes programs: syntax, tuner, bundled:MODEL, a server URL or a policy file. May be"
        " repeated.",
    ),
]
Model = Annotated[
    str | None, typer.Option(metavar="M", help="Model to ask the server for.", show_default="the policy's")
]
Params = Annotated[
    list[str] | None,
    typer.Option(
        "--param", metavar="KEY=VALUE", help="Parameter of the policy, such as temperature=0.5. May be repeated."
    ),
]
RunName = Annotated[
    str | None,
    typer.Option("--name", metavar="NAME", help="Name of the run. Sets its label name.", show_default="none"),
]
RunLabels = Annotated[
    list[str] | None,
    typer.Option("--label", metavar="KEY=VALUE", help="Label of the run. May be repeated.", show_default="none"),
]
Money = Annotated[
    str | None,
    typer.Option(metavar="AMOUNT", help="Budget: cost of the policies, such as 2.50.", show_default="no limit"),
]
ConfigFile = Annotated[
    Path | None,
    typer.Option(metavar="FILE", readable=False, help="Run configuration, or that of another project."),
]
EvaluatorFile = Annotated[
    Path | None,
    typer.Argument(metavar="[EVALUATOR]", readable=False, help="OpenEvolve evaluator. PROBLEM is then the program."),
]
Python = Annotated[
    str | None,
    typer.Option(
        metavar="PATH",
        help="Python interpreter for program and evaluator.",
        show_default="the problem's, else the current one",
    ),
]
Format = Annotated[
    str | None,
    typer.Option(
        "--format",
        metavar="NAME",
        help="Problem format, such as openevolve or shinka.",
        show_default="the one that recognises the folder",
    ),
]
Root = Annotated[
    Path | None,
    typer.Option(
        "--root",
        metavar="DIR",
        readable=False,
        help="Folder around or within PROBLEM with modules that it imports.",
        show_default="the project of PROBLEM",
    ),
]
SeedsFrom = Annotated[
    list[str] | None,
    typer.Option(
        "--seeds-from",
        metavar="SOURCE[:K]",
        help="Start from the best K programs of a checkpoint or a run too. May be repeated.",
        show_default="none; K: 20",
    ),
]
InsightsFrom = Annotated[
    str | None,
    typer.Option(
        "--insights-from", metavar="RUN", help="Start with the insights of an earlier run.", show_default="none"
    ),
]
Db = Annotated[
    str | None,
    typer.Option("--db", metavar="URL", help="Database, such as sqlite:///evolve.db.", show_default="database.url"),
]
RunId = Annotated[str, typer.Argument(metavar="RUN", help="Run id, a prefix of it, or last (the newest).")]
Server = Annotated[
    str | None, typer.Option("--server", metavar="URL", help="URL of the service. Without it: EVOLVE_SERVER.")
]
KeyFile = Annotated[
    Path | None, typer.Option("--api-key-file", metavar="FILE", help="File with an API key of the service.")
]
Queue = Annotated[
    str | None,
    typer.Option(metavar="URL", help="Redis URL of the evaluation queue. Without it: the setting queue.url."),
]
Limit = Annotated[int, typer.Option(min=1, max=MAX_ROWS, metavar="N", help="Maximum number of rows.")]
Isolation = Annotated[
    str | None,
    typer.Option(metavar="LEVEL", help="Minimum isolation: weak, medium or strong.", show_default="sandbox.require"),
]
Unsandboxed = Annotated[bool, typer.Option("--allow-unsandboxed", help="Run even without isolation.")]
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")]


def terminal_of(
    ctx: typer.Context, as_json: bool, db: str | None = None, where: "SourceOptions | None" = None
) -> "Terminal":
    """The terminal that the program was called with, for a command with these words."""
    from service.cli.terminal import Terminal

    assert isinstance(ctx.obj, Terminal)
    place = ""
    if db is not None:
        from service.config import redacted

        place = f" --db {quote(redacted(db))}"
    if ctx.obj.local:
        place += " --local"
    elif where is not None and where.server is not None:
        place += f" --server {quote(where.server)}"
    if where is not None and where.key_file is not None:
        place += f" --api-key-file {quote(str(where.key_file))}"
    return replace(ctx.obj, as_json=as_json, place=place)


def required_isolation(level: str | None, unsandboxed: bool) -> str | None:
    """The weakest isolation that a command asks for; None: it asks for none."""
    return "none" if unsandboxed else level


def place_of(
    ctx: typer.Context, json: bool, db: str | None, server: str | None, key_file: Path | None
) -> "SourceOptions":
    """Where runs are, by the words of a command.

    Raises:
        UsageError: the words contradict each other.
    """
    from service.client.service_choice import SourceOptions
    from service.errors import UsageError

    terminal = ctx.obj
    if terminal.local and server:
        raise UsageError("--local and --server exclude each other: leave out one of them")

    notice = None if json else partial(terminal.note, style="dim")
    return SourceOptions(db=db, server="" if terminal.local else server, key_file=key_file, notice=notice)


def site_of(where: "SourceOptions") -> "AbstractContextManager[RunSite]":
    """The place, opened for reading."""
    from service.bootstrap.sites import open_site
    from service.config import load_settings

    return open_site(load_settings(), where)
