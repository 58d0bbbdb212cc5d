"""The extensions that packages of this installation offer."""

from typing import TYPE_CHECKING, Any

from evolve.extensions import is_reference
from service.cli.exit_codes import OK
from service.cli.terminal import Terminal, plain
from service.config import load_settings
from service.usecases.extensions import InstalledExtension, installed_extensions

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.table import Table

NONE = "no installed package has extensions"


def list_plugins(terminal: Terminal) -> int:
    """Print name, kind, package and version of each, and whether runs over the API may use it."""
    allow = load_settings().extensions.allow
    found = installed_extensions(load_settings().extensions)
    offered = {one.extension.name for one in found}
    missing = [name for name in allow if name not in offered and not is_reference(name)]
    if terminal.as_json:
        terminal.emit({"extensions": [_as_json(one) for one in found], "not_installed": missing})
        return OK
    terminal.show(_table(found) if found else NONE)
    for name in missing:
        terminal.note(f"extensions.allow names {plain(name[:80])}, but no installed package has it", style="yellow")
    return OK


def _as_json(one: InstalledExtension) -> dict[str, Any]:
    return {**one.extension.as_json(), "usable": one.usable, "allowed": one.allowed}


def _table(found: "Sequence[InstalledExtension]") -> "Table":
    from rich.table import Table

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for title in ("name", "kind", "package", "version", "over the API"):
        table.add_column(title, no_wrap=True)
    for one in found:
        named = one.extension
        state = "allowed" if one.allowed else "not allowed"
        words = (named.name, str(named.kind), named.package, named.version)
        shadowed = "" if one.usable else f" (several packages use the name: write {named.reference})"
        table.add_row(*(plain(word[:80]) for word in words), f"{state}{shadowed}")
    return table
