"""Leave out the options of commands that a call does not name: building all of them slows every command down."""

from collections.abc import Callable, Collection
from copy import copy

from typer import Typer
from typer.main import get_command_name
from typer.models import CommandInfo, TyperInfo


def with_options_of(app: Typer, words: Collection[str]) -> Typer:
    """A copy of an app in which only the commands that are among the words have options.

    The others keep their name and help, which lists of commands and suggestions show.
    """
    kept = copy(app)
    kept.registered_commands = [_command(command, words) for command in app.registered_commands]
    kept.registered_groups = [_group(group, words) for group in app.registered_groups]
    return kept


def _group(group: TyperInfo, words: Collection[str]) -> TyperInfo:
    kept = copy(group)
    if group.typer_instance is not None:
        kept.typer_instance = with_options_of(group.typer_instance, words)
    return kept


def _command(command: CommandInfo, words: Collection[str]) -> CommandInfo:
    callback = command.callback
    if callback is None or (command.name or get_command_name(callback.__name__)) in words:
        return command
    kept = copy(command)
    kept.callback = _without_options(callback)
    return kept


def _without_options(callback: Callable[..., object]) -> Callable[[], None]:
    def described() -> None:
        raise AssertionError(f"{callback.__name__} is called although no word names it")

    described.__name__, described.__doc__ = callback.__name__, callback.__doc__
    return described
