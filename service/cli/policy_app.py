"""The commands `evolve policy`; what a command does is imported when it is called."""

from pathlib import Path
from typing import Annotated

import typer

from service.cli.options import (
    HELP,
    Db,
    Json,
    KeyFile,
    Model,
    Params,
    PolicyNames,
    Server,
    named_folder,
    place_of,
    terminal_of,
)

policy_app = typer.Typer(
    help="Check a policy before a run, and manage policies with versions.", context_settings=HELP, no_args_is_help=True
)

AdapterServer = Annotated[
    str, typer.Option(metavar="URL", help="Address of the vLLM, or a policy file with a single policy.")
]
Versioned = Annotated[str, typer.Argument(metavar="NAME@VERSION", help="Version of a policy, such as walker@2.")]


@policy_app.command(epilog="Example: evolve policy check --policy http://localhost:8000/v1 -o policy.toml")
def check(
    ctx: typer.Context,
    problem: Annotated[
        Path | None,
        typer.Argument(
            metavar="[PROBLEM]",
            parser=named_folder,
            help="Problem to try the policy on. Without it: a small built-in problem.",
        ),
    ] = None,
    *,
    policy: PolicyNames = None,
    model: Model = None,
    param: Params = None,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="FILE", readable=False, help="Write the recommended policy file."),
    ] = None,
    json: Json = False,
) -> None:
    """Ask a model for a few answers. Show which parameters its server accepts and how many answers a run could use."""
    terminal = terminal_of(ctx, json)
    with terminal.doing("starting"):
        from service.cli.policy_check import PolicyCheckOptions, check_policy

    options = PolicyCheckOptions(
        problem=problem, policies=tuple(policy or ()), model=model, params=tuple(param or ()), output=output
    )
    raise typer.Exit(check_policy(terminal, options))


@policy_app.command("list", epilog="Example: evolve policy list")
def list_(
    ctx: typer.Context, db: Db = None, server: Server = None, api_key_file: KeyFile = None, json: Json = False
) -> None:
    """List the policies of the registry."""
    from service.cli.policies import list_policies

    where = place_of(ctx, json, db, server, api_key_file)
    list_policies(terminal_of(ctx, json, db, where), where)


@policy_app.command(epilog="Example: evolve policy show walker@2")
def show(
    ctx: typer.Context,
    policy: Annotated[
        str, typer.Argument(metavar="NAME[@VERSION]", help="Policy of the registry, or a version of it.")
    ],
    db: Db = None,
    server: Server = None,
    api_key_file: KeyFile = None,
    json: Json = False,
) -> None:
    """Show the versions of a policy, or how a single version was trained and measured."""
    from service.cli.policies import show_policy

    where = place_of(ctx, json, db, server, api_key_file)
    show_policy(terminal_of(ctx, json, db, where), where, policy)


@policy_app.command(epilog="Example: evolve policy add walker trained/vpo --base walker@1")
def add(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(metavar="NAME", help="Policy. A new name registers it.")],
    folder: Annotated[
        Path,
        typer.Argument(
            metavar="FOLDER", parser=named_folder, help="Folder of a model that Evolve runs, or of an adapter."
        ),
    ],
    *,
    base: Annotated[str, typer.Option(metavar="BASE", help="Its base: NAME@VERSION, or the name of a model.")] = "",
    served: Annotated[
        str, typer.Option(metavar="URL", help="vLLM that loads FOLDER, a LoRA adapter, when it is promoted.")
    ] = "",
    description: Annotated[str, typer.Option(metavar="TEXT", help="Purpose of a new policy.")] = "",
    shared: Annotated[bool, typer.Option("--shared", help="Let all tenants use a new policy.")] = False,
    db: Db = None,
    server: Server = None,
    api_key_file: KeyFile = None,
    json: Json = False,
) -> None:
    """Store a model or a LoRA adapter as the next version of a policy."""
    from service.cli.policies import add_version

    where = place_of(ctx, json, db, server, api_key_file)
    terminal = terminal_of(ctx, json, db, where)
    add_version(terminal, where, name, folder, base=base, served=served, description=description, shared=shared)


@policy_app.command(epilog="Example: evolve policy promote walker@2")
def promote(
    ctx: typer.Context,
    version: Versioned,
    *,
    force: Annotated[
        str, typer.Option(metavar="REASON", help="Promote it against the evaluation gate. The reason is recorded.")
    ] = "",
    db: Db = None,
    server: Server = None,
    api_key_file: KeyFile = None,
    json: Json = False,
) -> None:
    """Let the name of a policy stand for a version, if it was found better than the promoted version."""
    from service.cli.policies import promote

    where = place_of(ctx, json, db, server, api_key_file)
    promote(terminal_of(ctx, json, db, where), where, version, force)


@policy_app.command(epilog="Example: evolve policy archive walker@1")
def archive(
    ctx: typer.Context,
    version: Versioned,
    db: Db = None,
    server: Server = None,
    api_key_file: KeyFile = None,
    json: Json = False,
) -> None:
    """Take a version from new runs. Runs that have it keep it."""
    from service.cli.policies import archive

    where = place_of(ctx, json, db, server, api_key_file)
    archive(terminal_of(ctx, json, db, where), where, version)


@policy_app.command(epilog="Example: evolve policy load first trained/first/adapter --policy http://localhost:8000/v1")
def load(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name to ask for it, as for a model.")],
    folder: Annotated[str, typer.Argument(metavar="FOLDER", help="Folder of a LoRA adapter, as the server finds it.")],
    *,
    policy: AdapterServer,
    json: Json = False,
) -> None:
    """Load a LoRA adapter into a running vLLM, and check that it answers differently from its base."""
    from service.cli.adapters import load_adapter

    load_adapter(terminal_of(ctx, json), policy, name, folder)


@policy_app.command(epilog="Example: evolve policy unload first --policy http://localhost:8000/v1")
def unload(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of a loaded adapter.")],
    *,
    policy: AdapterServer,
    json: Json = False,
) -> None:
    """Unload a LoRA adapter from a running vLLM. Runs that ask for it fail."""
    from service.cli.adapters import unload_adapter

    unload_adapter(terminal_of(ctx, json), policy, name)
