"""The commands `evolve keys`; what a command does is imported when it is called."""

from pathlib import Path
from typing import Annotated

import typer

from service.cli.options import HELP, Db, Json, terminal_of

keys_app = typer.Typer(help="Manage API keys.", context_settings=HELP, no_args_is_help=True)

Tenant = Annotated[
    str, typer.Option(metavar="NAME", help="Tenant of the key. A new tenant is made with its first key.")
]


@keys_app.command(epilog="Example: evolve keys create ci --scope runs:write --scope runs:read --expires-days 90")
def create(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of the key.")] = "key",
    tenant: Tenant = "default",
    scope: Annotated[
        list[str] | None,
        typer.Option(metavar="SCOPE", help="Scope of the key. May be repeated. Without it: all scopes."),
    ] = None,
    expires_days: Annotated[
        int | None, typer.Option(min=1, max=36500, metavar="N", help="Days until the key expires.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="FILE", readable=False, help="Write the key to a new file.")
    ] = None,
    if_none: Annotated[bool, typer.Option("--if-none", help="Only if the tenant has no key yet.")] = False,
    db: Db = None,
    json: Json = False,
) -> None:
    """Make an API key and show it once."""
    from service.cli.keys import create

    create(
        terminal_of(ctx, json, db),
        db,
        tenant=tenant,
        name=name,
        scopes=scope or (),
        expires_days=expires_days,
        output=output,
        if_none=if_none,
    )


@keys_app.command("list", epilog="Example: evolve keys list")
def list_(ctx: typer.Context, tenant: Tenant = "default", db: Db = None, json: Json = False) -> None:
    """List the keys of a tenant, without the secret text."""
    from service.cli.keys import list_keys

    list_keys(terminal_of(ctx, json, db), db, tenant)


@keys_app.command(epilog="Example: evolve keys revoke key_0199...")
def revoke(
    ctx: typer.Context,
    key_id: Annotated[str, typer.Argument(metavar="KEY", help="Id of the key, as evolve keys list shows it.")],
    tenant: Tenant = "default",
    db: Db = None,
    json: Json = False,
) -> None:
    """Revoke a key permanently."""
    from service.cli.keys import revoke

    revoke(terminal_of(ctx, json, db), db, tenant, key_id)
