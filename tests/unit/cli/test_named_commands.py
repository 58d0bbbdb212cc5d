"""Only the commands that a call names have options."""

from collections.abc import Iterator
from typing import Any

import pytest
import typer

from service.cli.app import app
from service.cli.named_commands import with_options_of


def commands(group: Any) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Each command of a group and of its groups, with the words that name it."""
    for name, command in group.commands.items():
        yield (name,), command
        if hasattr(command, "commands"):
            yield from (((name, *path), each) for path, each in commands(command))


EVERY = dict(commands(typer.main.get_command(app)))


def options(command: Any) -> list[list[str]]:
    return [parameter.opts for parameter in command.params]


@pytest.mark.parametrize("path", EVERY, ids=" ".join)
def test_a_named_command_has_all_its_options(path: tuple[str, ...]) -> None:
    named = dict(commands(typer.main.get_command(with_options_of(app, path))))
    assert options(named[path]) == options(EVERY[path])


def test_other_commands_keep_only_what_lists_show() -> None:
    unnamed = dict(commands(typer.main.get_command(with_options_of(app, ["runs"]))))

    def shown(command: Any) -> tuple[object, ...]:
        return command.name, command.help, command.epilog, command.hidden, command.rich_help_panel

    assert {path: shown(command) for path, command in unnamed.items()} == {
        path: shown(command) for path, command in EVERY.items()
    }
    assert {path for path, command in unnamed.items() if command.params and not hasattr(command, "commands")} == {
        ("runs",)
    }
