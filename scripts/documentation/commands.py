"""The reference of the command line, from the help that every command has."""

from collections.abc import Iterator
from typing import Any

HEAD = """# Every command and option

You read the same texts with `evolve COMMAND --help`. [Command line](command-line.md) explains exit codes, JSON output
and how commands find a service.
"""


def command_reference(root: Any) -> str:
    """A page with a section for every command; `root` is the command of the program."""
    return "\n".join([HEAD, *_parameters(root), *_sections(root, ("evolve",))]) + "\n"


def _sections(group: Any, words: tuple[str, ...]) -> Iterator[str]:
    for name, command in sorted(group.commands.items()):
        if command.hidden:
            continue
        path = (*words, name)
        yield from ("", f"{'#' * len(path)} {' '.join(path)}", "", command.help or "", "")
        if getattr(command, "commands", None):
            yield from _sections(command, path)
            continue
        usage = " ".join((*path, *(_argument(one) for one in command.params if one.param_type_name == "argument")))
        yield from ("```text", f"{usage} [OPTIONS]" if _options(command) else usage, "```", "")
        yield from _parameters(command)
        if command.epilog:
            example = command.epilog.removeprefix("Example: ").replace(", or: ", "\n")
            yield from ("", "```sh", example, "```")


def _name(argument: Any) -> str:
    return str(argument.metavar or argument.name.rstrip("_").upper())


def _argument(argument: Any) -> str:
    name = _name(argument) + ("..." if argument.nargs == -1 else "")
    return name if argument.required else f"[{name}]"


def _options(command: Any) -> list[Any]:
    return [one for one in command.params if one.param_type_name == "option" and not one.hidden]


def _parameters(command: Any) -> Iterator[str]:
    arguments = [one for one in command.params if one.param_type_name == "argument"]
    if not arguments and not _options(command):
        return
    yield from ("| argument or option | |", "|---|---|")
    for one in arguments:
        yield f"| `{_name(one)}` | {_cell(one.help)} |"
    for one in _options(command):
        value = f" {one.metavar}" if one.metavar else ""
        names = ", ".join(f"`{name}{value}`" for name in (*one.opts, *one.secondary_opts))
        yield f"| {names} | {_cell(one.help)}{_default(one)} |"


def _default(option: Any) -> str:
    shown = option.default
    if shown is None or callable(shown) or shown in ("", False, ()) or isinstance(shown, list | tuple):
        return ""
    return f" Default: `{shown}`."


def _cell(text: str | None) -> str:
    return " ".join((text or "").split()).replace("|", "\\|").replace("<", "&lt;").replace("*", "\\*")
