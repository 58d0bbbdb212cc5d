"""The commands of registered policies: `evolve policy list`, `show`, `add`, `promote` and `archive`."""

import base64
import re
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from service.bootstrap.sites import open_policies
from service.cli.listing import plain_table
from service.cli.terminal import Terminal, plain
from service.client.service_choice import SourceOptions
from service.config import load_settings
from service.errors import NotFoundError, UsageError
from service.policy_settings.shipped import ADAPTER_DEFAULTS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from service.schemas.policy_registry import PolicyVersion, VersionEvaluation
    from service.usecases.policy_site import PolicySite

MAX_LIST_CHARACTERS = 60
NONE_YET = "there is no policy in the registry yet: add a model with evolve policy add NAME FOLDER"


def list_policies(terminal: Terminal, where: SourceOptions) -> None:
    """Print the policies of the registry."""
    with _registry(where) as site:
        policies = site.policies()
    if terminal.as_json:
        for policy in policies:
            terminal.emit(policy.model_dump(mode="json"))
        return
    if not policies:
        terminal.note(NONE_YET)
        return
    table = plain_table("policy", "promoted>", "versions>", "shared", "description~")
    for policy in policies:
        promoted = "none" if policy.promoted is None else str(policy.promoted)
        shared = "yes" if policy.shared else "no"
        table.add_row(policy.name, promoted, str(policy.versions), shared, plain(policy.description))
    terminal.show(table)


def show_policy(terminal: Terminal, where: SourceOptions, named: str) -> None:
    """Print the versions of a policy, or one of them whole."""
    name, version = split_version(named)
    with _registry(where) as site:
        site.get(name)
        versions = site.versions(name)
    if version:
        versions = [found for found in versions if found.version == version]
        if not versions:
            raise NotFoundError(f"there is no version {version} of the policy {name}")
    if terminal.as_json:
        for found in versions:
            terminal.emit(found.model_dump(mode="json"))
    elif version:
        _show_version(terminal, versions[0])
    elif versions:
        _show_versions(terminal, versions)
    else:
        terminal.note(f"the policy {name} has no version yet: add one with evolve policy add {name} FOLDER")


def add_version(
    terminal: Terminal,
    where: SourceOptions,
    name: str,
    folder: Path,
    *,
    base: str,
    served: str,
    description: str,
    shared: bool,
) -> None:
    """Store a folder as the next version of a policy. A policy that is not there is registered.

    With `served`, the folder is an adapter's, and this the address of its vLLM.
    """
    from service.schemas.policy_registry import PolicyCreate, VersionCreate

    files = read_files(folder)
    if not re.fullmatch(r"[a-z0-9][a-z0-9._-]{0,47}", name):
        raise UsageError(f"the policy name {name[:64]!r} may hold small letters, digits and ._- only, at most 48")
    with _registry(where) as site:
        try:
            site.get(name)
        except NotFoundError:
            site.create(PolicyCreate(name=name, description=description, shared=shared))
        found = site.add(name, VersionCreate(binary_files=files, base=base, served=served))
    _tell(terminal, found, f"{found.name} is a candidate")
    terminal.note(f"Search with it: {terminal.command(f'run PROBLEM --policy {found.name}')}")


def promote(terminal: Terminal, where: SourceOptions, named: str, force: str) -> None:
    """Let a policy's name stand for a version."""
    name, version = _one_version(named)
    with _registry(where) as site:
        found = site.promote(name, version, force)
    _tell(terminal, found, f"{name} stands for {found.name} now")


def archive(terminal: Terminal, where: SourceOptions, named: str) -> None:
    """Take a version from new runs."""
    name, version = _one_version(named)
    with _registry(where) as site:
        found = site.archive(name, version)
    _tell(terminal, found, f"{found.name} is archived")


def split_version(named: str) -> tuple[str, int]:
    """Name and version that a word names; version 0: none.

    Raises:
        UsageError: what follows the @ is not a version.
    """
    name, at, number = named.partition("@")
    if at and not re.fullmatch(r"[1-9][0-9]{0,8}", number):
        raise UsageError(f"{named[:64]!r} names no version: write {name[:48]}@1, for example")
    return name, int(number or 0)


def _one_version(named: str) -> tuple[str, int]:
    name, version = split_version(named)
    if not version:
        raise UsageError(f"name a version, such as {name[:48]}@1: 'evolve policy show {name[:48]}' lists them")
    return name, version


def read_files(folder: Path) -> dict[str, str]:
    """The files of a model's folder, base64, by path.

    Raises:
        NotFoundError: it is not a folder.
        UsageError: it cannot be read, or holds no files.
    """
    if not folder.is_dir():
        raise NotFoundError(f"there is no folder {folder}: name the folder of a model")
    try:
        files = {
            str(path.relative_to(folder)): base64.b64encode(path.read_bytes()).decode()
            for path in sorted(folder.rglob("*"))
            if path.is_file() and not any(part.startswith(".") for part in path.relative_to(folder).parts)
        }
    except OSError as error:
        raise UsageError(f"the folder {folder} cannot be read: {error.strerror}") from error
    if not files:
        raise UsageError(f"the folder {folder} holds no files: name the folder of a model")
    return files


@contextmanager
def _registry(where: SourceOptions) -> "Iterator[PolicySite]":
    with open_policies(load_settings(), where) as site:
        yield site


def _tell(terminal: Terminal, found: "PolicyVersion", sentence: str) -> None:
    if terminal.as_json:
        terminal.emit(found.model_dump(mode="json"))
    else:
        terminal.show(sentence)


def _show_versions(terminal: Terminal, versions: "list[PolicyVersion]") -> None:
    table = plain_table("version", "state", "base~", "method", "runs>", "evaluated", "created")
    for found in versions:
        newest = found.evaluations[-1] if found.evaluations else None
        table.add_row(
            found.name,
            found.state,
            plain(found.base),
            plain(str(found.training.get("method", ""))),
            str(len(found.training.get("runs", ()))),
            "" if newest is None else _difference(newest),
            f"{found.created_at.astimezone():%Y-%m-%d}",
        )
    terminal.show(table)


def _show_version(terminal: Terminal, found: "PolicyVersion") -> None:
    lines = [f"{found.name}: {found.state}", f"sha256 {found.bundle_hash}"]
    lines += [f"base {plain(found.base)}"] if found.base else []
    asked = [f"{name} {found.settings[name]}" for name in ADAPTER_DEFAULTS if name in found.settings]
    lines += [plain(f"asked with {', '.join(asked)}")] if asked else []
    lines += [plain(f"{name} {_words(value)}") for name, value in sorted(found.training.items())]
    lines += [f"{one.metric} on {len(one.problems)} problems: {_difference(one)}" for one in found.evaluations]
    if found.promotion is not None and found.promotion.forced:
        lines.append(f"promoted by force: {plain(found.promotion.reason)}. The gate: {found.promotion.refusal}")
    terminal.show("\n".join(lines), *([plain(found.card)] if found.card else []))


def _words(value: object) -> str:
    """A value in a line. Of a long list, how many it has."""
    if not isinstance(value, list):
        return str(value)
    told = ", ".join(map(str, value))
    return told if value and len(told) <= MAX_LIST_CHARACTERS else str(len(value))


def _difference(one: "VersionEvaluation") -> str:
    other = f"@{one.against}" if one.against else "its base"
    return f"{one.difference:+.3f} [{one.low:+.3f}, {one.high:+.3f}] over {other}"
