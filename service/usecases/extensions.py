"""Extensions of this installation: those that a run uses, whether it may, and all that are installed."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from evolve.configuration import RunConfig
from evolve.errors import ExtensionError, MissingExtensionError
from evolve.event_types import RunStarted
from evolve.extensions import Extension, ExtensionKind, Extensions, built_in_names, installed, is_known
from evolve.problem import Problem
from evolve.runtimes import with_runtime
from service.config import ExtensionsSettings
from service.errors import InvalidProblemError, RefusedError
from service.policy_settings.settings import PolicySettings
from service.ports import RunLog, RunRecord
from service.problems.configuration import VARIANTS, Layer, invalid_values

Named = tuple[ExtensionKind, str]
_FIRST_EVENTS = 20  # among them the start of a run, which tells its extensions
_KEYS = {
    ExtensionKind.ARCHIVE: "archive.kind",
    ExtensionKind.OPERATOR: "operators",
    ExtensionKind.STOPPING_RULE: "stopping_rule",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class InstalledExtension:
    """An extension, and what this installation makes of it.

    Attributes:
        usable: whether its name leads to it: not where it is that of a built-in, or of another package too.
        allowed: whether runs submitted over the API may name it.
    """

    extension: Extension
    usable: bool
    allowed: bool


def named_beside(policies: Sequence[PolicySettings], problem: Problem) -> list[Named]:
    """Kind and name of what the policies and the evaluator of a run name, built-ins among them; each once."""
    found = [(ExtensionKind.POLICY, policy.kind) for policy in policies]
    found += [(ExtensionKind.RUNTIME, problem.evaluator.runtime)] if problem.evaluator.runtime else []
    return list(dict.fromkeys(found))


def load_all(config: RunConfig, extensions: Extensions | None = None, *, beside: Sequence[Named] = ()) -> None:
    """Load every extension that a run uses, so that what is missing is found before it starts.

    Args:
        config: of the run.
        extensions: resolves the names.
        beside: what `named_beside` found.

    Raises:
        MissingExtensionError, ExtensionError: one is not there, or cannot be imported.
    """
    resolver = extensions or Extensions()
    for kind, name in (*config.extensions, *beside):
        resolver.resolve(kind, name)


def refuse_request(config: RunConfig, layers: Sequence[Layer], settings: ExtensionsSettings) -> None:
    """Refuse a requested run that names what the operator did not allow; nothing is imported.

    Args:
        config: of the run.
        layers: that led to it.
        settings: what is allowed.

    Raises:
        InvalidConfigurationError: it names one; the complaint has the key.
        MissingExtensionError: several packages offer one.
    """
    found = [(_key(config, kind, name), _unallowed(kind, name)) for kind, name in _not_allowed(config, settings)]
    if found:
        raise invalid_values(layers, found)
    Extensions().describe(config.extensions)


def refuse_run(config: RunConfig, settings: ExtensionsSettings) -> None:
    """Refuse to drive a submitted run that uses what the operator does not allow, or no longer.

    Raises:
        RefusedError: it does.
    """
    for kind, name in _not_allowed(config, settings):
        raise RefusedError(_unallowed(kind, name))


def refuse_kinds(policies: Sequence[PolicySettings], settings: ExtensionsSettings) -> None:
    """Refuse a submitted run with a policy of a kind that the operator does not allow; nothing is imported.

    Raises:
        RefusedError: it has one.
        MissingExtensionError: several packages offer the kind, or none does.
    """
    kinds = dict.fromkeys((ExtensionKind.POLICY, policy.kind) for policy in policies)
    for kind, name in _foreign(kinds, settings.allow):
        raise RefusedError(_unallowed(kind, name))
    Extensions().describe(kinds)


def refuse_runtime(problem: Problem, allow: Sequence[str]) -> None:
    """Refuse a problem of others whose runtime the operator does not allow; nothing is imported.

    Raises:
        RefusedError: it has one.
    """
    name = problem.evaluator.runtime
    for kind, foreign in _foreign([(ExtensionKind.RUNTIME, name)] if name else [], allow):
        raise RefusedError(_unallowed(kind, foreign))


def with_commands(problem: Problem, allow: Sequence[str] | None) -> Problem:
    """A problem with the commands of its runtime.

    Args:
        problem: as it was read.
        allow: runtimes that may be imported. None means all of them.

    Raises:
        RefusedError: the problem names another.
        InvalidProblemError: the runtime is missing, or fails.
    """
    if allow is not None:
        refuse_runtime(problem, allow)
    try:
        return with_runtime(problem, Extensions())
    except (ExtensionError, MissingExtensionError) as error:
        raise InvalidProblemError([f"evaluator.runtime: {error}"]) from error


def refuse_missing(record: RunRecord, log: RunLog) -> None:
    """Refuse to go on with a run that began with a package which is not installed here.

    Raises:
        MissingExtensionError: it names extension, package and version.
    """
    for logged in islice(log.events(record.id, limit=_FIRST_EVENTS), _FIRST_EVENTS):
        if not isinstance(logged.event.data, RunStarted):
            continue
        for used in logged.event.data.extensions:
            if not is_known(used.kind, used.name):
                raise MissingExtensionError(
                    f"{record.id} uses {used}, which is not installed here: install {used.package} and resume it again"
                )


def installed_extensions(settings: ExtensionsSettings) -> Sequence[InstalledExtension]:
    """All that packages offer, by kind and name."""
    found = [one for kind in ExtensionKind for one in installed(kind)]
    return [
        InstalledExtension(extension=one, usable=_usable(one, found), allowed=one.name in settings.allow)
        for one in found
    ]


def _usable(extension: Extension, all_found: Sequence[Extension]) -> bool:
    same = [one for one in all_found if (one.kind, one.name) == (extension.kind, extension.name)]
    return len(same) == 1 and extension.name not in built_in_names(extension.kind)


def _key(config: RunConfig, kind: ExtensionKind, name: str) -> str:
    """The key that names an extension."""
    if (kind, name) in replace(config, variants=()).extensions:
        return _KEYS.get(kind, str(kind))
    return VARIANTS


def _not_allowed(config: RunConfig, settings: ExtensionsSettings) -> list[Named]:
    return _foreign(config.extensions, settings.allow)


def _foreign(named: Iterable[Named], allow: Sequence[str]) -> list[Named]:
    return [(kind, name) for kind, name in named if name not in built_in_names(kind) and name not in allow]


def _unallowed(kind: ExtensionKind, name: str) -> str:
    return f"the {kind} {name[:80]!r} is not allowed: ask the operator to add it to the setting extensions.allow"
