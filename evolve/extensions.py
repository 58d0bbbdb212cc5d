"""The registry of names: what a configuration may name, built in or brought by a user, and how a name is resolved.

A name is one of three things:

* a built-in, such as `tournament`
* the name of an entry point of an installed package, in the group `evolve.selections` and the like
* a reference, such as `my_package.selections:Greedy`, to something that Python can import

Built-ins are written down as references too: all three are loaded in one way, when a search needs them.
"""

import inspect
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from types import MappingProxyType
from typing import Any, Self

from evolve.errors import ExtensionError, MissingExtensionError

PACKAGE = "evolve-search"
_REFERENCE = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*(\.[A-Za-z_]\w*)*", re.ASCII)
_MAX_REASON = 300  # characters of what an extension raised


class ExtensionKind(StrEnum):
    """What can be extended; the value is the word for one of them."""

    SELECTION = "selection"
    ARCHIVE = "archive"
    STRATEGY = "strategy"
    OPERATOR = "operator"
    STOPPING_RULE = "stopping rule"
    POLICY = "policy kind"
    RUNTIME = "runtime"
    PROBLEM_FORMAT = "problem format"
    DOMAIN = "domain"
    TRACKER = "tracker"
    TRAINING_BACKEND = "training back end"

    @property
    def group(self) -> str:
        """The group of entry points in which packages offer theirs."""
        return _GROUPS[self]


_GROUPS: Mapping[ExtensionKind, str] = {
    ExtensionKind.SELECTION: "evolve.selections",
    ExtensionKind.ARCHIVE: "evolve.archives",
    ExtensionKind.STRATEGY: "evolve.strategies",
    ExtensionKind.OPERATOR: "evolve.operators",
    ExtensionKind.STOPPING_RULE: "evolve.stopping_rules",
    ExtensionKind.POLICY: "evolve.policies",
    ExtensionKind.RUNTIME: "evolve.runtimes",
    ExtensionKind.PROBLEM_FORMAT: "evolve.problem_formats",
    ExtensionKind.DOMAIN: "evolve.domains",
    ExtensionKind.TRACKER: "evolve.trackers",
    ExtensionKind.TRAINING_BACKEND: "evolve.training_backends",
}

# The one place where the names of built-ins stand, in the order in which messages list them.
_BUILT_IN: Mapping[ExtensionKind, Mapping[str, str]] = {
    ExtensionKind.SELECTION: {
        "boltzmann": "evolve.selection.scalar:select_boltzmann",
        "dirichlet": "evolve.selection.scalar:select_dirichlet",
        "downsampled_lexicase": "evolve.selection.lexicase:select_downsampled_lexicase",
        "hypervolume": "evolve.selection.fronts:select_hypervolume",
        "lexicase": "evolve.selection.lexicase:select_lexicase",
        "nsga2": "evolve.selection.fronts:select_nsga2",
        "nsga3": "evolve.selection.fronts:select_nsga3",
        "offspring": "evolve.selection.scalar:select_offspring",
        "power_law": "evolve.selection.scalar:select_power_law",
        "puct": "evolve.selection.tree:select_puct",
        "tournament": "evolve.selection.scalar:select_tournament",
        "ucb": "evolve.selection.tree:select_ucb",
        "uniform": "evolve.selection.scalar:select_uniform",
    },
    ExtensionKind.ARCHIVE: {
        "auto": "evolve.archives.factory:open_fitting",
        "grid": "evolve.archives.factory:open_grid",
        "cvt": "evolve.archives.factory:open_tessellation",
        "dominated_novelty": "evolve.archives.factory:open_dominated_novelty",
        "pareto": "evolve.archives.factory:open_pareto",
        "top": "evolve.archives.factory:open_top",
    },
    ExtensionKind.STRATEGY: {
        "islands": "evolve.search.strategies:open_islands",
        "best_of_n": "evolve.search.strategies:open_best_of_n",
        "sequential": "evolve.search.strategies:open_sequential",
    },
    ExtensionKind.OPERATOR: {
        "mutate": "evolve.credit.operators:MUTATION",
        "crossover": "evolve.credit.operators:RECOMBINATION",
        "repair": "evolve.credit.operators:MUTATION",
        "simplify": "evolve.credit.operators:MUTATION",
    },
    ExtensionKind.STOPPING_RULE: {},  # the limits of the budget are not rules of their own
    ExtensionKind.POLICY: {
        "openai": "service.policy.kinds:OPENAI",
        "litellm": "service.policy.kinds:LITELLM",
        "syntax": "service.policy.kinds:SYNTAX",
        "tuner": "service.policy.kinds:TUNER",
        "bundled": "service.policy.kinds:BUNDLED",
        "agent": "service.agents.kind:AGENT",
    },
    ExtensionKind.RUNTIME: {
        "bash": "evolve.runtimes:run_bash",
        "c": "evolve.runtimes:run_c",
        "cpp": "evolve.runtimes:run_cpp",
        "javascript": "evolve.runtimes:run_javascript",
        "python": "evolve.runtimes:run_python",
        "rust": "evolve.runtimes:run_rust",
    },
    ExtensionKind.PROBLEM_FORMAT: {
        "native": "service.problems.formats.native:NativeFormat",
        "openevolve": "service.problems.formats.openevolve:OpenEvolveFormat",
        "codeevolve": "service.problems.formats.codeevolve:CodeEvolveFormat",
        "gigaevo": "service.problems.formats.gigaevo:GigaEvoFormat",
        "shinka": "service.problems.formats.shinka:ShinkaFormat",
        "skydiscover": "service.problems.formats.skydiscover:SkyDiscoverFormat",
        "eoh": "service.problems.formats.eoh:EoHFormat",
        "llm4ad": "service.problems.formats.llm4ad:LLM4ADFormat",
        "funsearch": "service.problems.formats.funsearch:FunSearchFormat",
        "algotune": "service.problems.formats.algotune:AlgoTuneFormat",
        "gepa": "service.problems.formats.gepa:GepaFormat",
        "alphaevolve": "service.problems.formats.alphaevolve:AlphaEvolveFormat",
    },
    ExtensionKind.DOMAIN: {
        "maze": "evolve.domains.maze.domain:MazeDomain",
        "musique": "evolve.domains.musique:Musique",
        "eureqa": "evolve.domains.eureqa:Eureqa",
        "toolrl": "evolve.domains.toolrl:ToolRL",
    },
    ExtensionKind.TRACKER: {
        "mlflow": "service.trackers.mlflow:MlflowTracker",
        "tensorboard": "service.trackers.tensorboard:TensorBoardTracker",
        "wandb": "service.trackers.wandb:WandbTracker",
    },
    ExtensionKind.TRAINING_BACKEND: {
        "maze": "service.trainer.maze:MazeBackend",
        "trl": "service.trainer.trl:TrlBackend",
    },
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Extension:
    """Something that a name stands for.

    Attributes:
        reference: where Python finds it; empty: it is an object of the caller's.
        package: the distribution that offers it; empty: none does.
        version: of the package; that of the product is left out.
    """

    kind: ExtensionKind
    name: str
    reference: str = ""
    package: str = ""
    version: str = ""

    @property
    def built_in(self) -> bool:
        """Whether it comes with the product."""
        return self.package == PACKAGE

    def __str__(self) -> str:
        """As a sentence names it."""
        package = f" of {self.package} {self.version}".rstrip() if self.package and not self.built_in else ""
        return f"the {self.kind} {self.name}{package}"

    def as_json(self) -> dict[str, str]:
        """As the record of a run names it."""
        return {
            "kind": str(self.kind),
            "name": self.name,
            "reference": self.reference,
            "package": self.package,
            "version": self.version,
        }

    @classmethod
    def read(cls, entry: Mapping[str, str]) -> Self:
        """That of a record."""
        return cls(
            kind=ExtensionKind(entry["kind"]),
            name=entry["name"],
            reference=entry["reference"],
            package=entry["package"],
            version=entry["version"],
        )


def built_in_names(kind: ExtensionKind) -> tuple[str, ...]:
    """The names that come with the product."""
    return tuple(_BUILT_IN[kind])


def is_reference(name: str) -> bool:
    """Whether a name has the form `module:attribute`."""
    return _REFERENCE.fullmatch(name) is not None


def is_known(kind: ExtensionKind, name: str) -> bool:
    """Whether a name may stand in a configuration; nothing is imported to find out."""
    return name in _BUILT_IN[kind] or is_reference(name) or any(one.name == name for one in installed(kind))


def known_names(kind: ExtensionKind) -> tuple[str, ...]:
    """The names of built-ins, then those of installed packages."""
    return tuple(dict.fromkeys([*_BUILT_IN[kind], *(one.name for one in installed(kind))]))


def installed(kind: ExtensionKind) -> tuple[Extension, ...]:
    """What installed packages offer; nothing of it is imported."""
    return _installed(kind, tuple(sys.path))


def find_extension(kind: ExtensionKind, name: str) -> Extension:
    """What a name stands for; nothing is imported. A built-in wins over a package with the same name.

    Raises:
        MissingExtensionError: it stands for nothing, or for several things.
    """
    if reference := _BUILT_IN[kind].get(name):
        return Extension(kind=kind, name=name, reference=reference, package=PACKAGE)
    found = [one for one in installed(kind) if one.name == name]
    if len(found) > 1:
        offers = " and ".join(sorted(f"{one.package} ({one.reference})" for one in found))
        raise MissingExtensionError(f"several packages offer the {kind} {name}, {offers}: name one as module:attribute")
    if found:
        return found[0]
    if not is_reference(name):
        raise MissingExtensionError(f"the {kind} {name[:80]!r} is not installed: install the package that offers it")
    return Extension(kind=kind, name=name, reference=name)


def load_extension(extension: Extension) -> Any:
    """Import what an extension refers to.

    Raises:
        MissingExtensionError: there is no such module, or it lacks the attribute.
        ExtensionError: the module cannot be imported.
    """
    module, _, attribute = extension.reference.partition(":")
    try:
        with guarded(extension, "could not be imported"):
            found: Any = import_module(module)
    except ExtensionError as error:
        cause = error.__cause__
        if isinstance(cause, ModuleNotFoundError) and f"{module}.".startswith(f"{cause.name}."):
            raise MissingExtensionError(
                f"{extension} is not there: Python finds no module {cause.name}; install its package, or put its"
                " folder on PYTHONPATH"
            ) from error
        raise
    for word in attribute.split("."):
        try:
            found = getattr(found, word)
        except AttributeError as error:
            raise MissingExtensionError(f"{extension} is not there: the module {module} has no {attribute}") from error
    return found


@contextmanager
def guarded(extension: Extension, what: str = "failed") -> Iterator[None]:
    """Run code of an extension: whatever it raises becomes one sentence with its name.

    Raises:
        ExtensionError: the code raised something.
    """
    try:
        yield
    except ExtensionError:
        raise
    except Exception as error:
        raise ExtensionError(f"{extension} {what}: {_shown(error)}") from error


def own_name(value: object) -> str:
    """The name under which an object of the caller's is recorded: that of its class, or of the function."""
    named = value if inspect.isclass(value) or inspect.isroutine(value) else type(value)
    words = f"{named.__qualname__}".replace("<locals>", "").replace("<lambda>", "function")
    return f"{named.__module__}:{'.'.join(filter(None, words.split('.')))}"


class Extensions:
    """Resolves the names of one run.

    Args:
        own: objects of the caller's, by kind and name.
    """

    def __init__(self, own: Mapping[tuple[ExtensionKind, str], object] = MappingProxyType({})) -> None:
        self._own = dict(own)
        self._loaded: dict[tuple[ExtensionKind, str], tuple[Extension, Any]] = {}

    def resolve(self, kind: ExtensionKind, name: str) -> tuple[Extension, Any]:
        """What a name stands for, and the object itself.

        Raises:
            MissingExtensionError, ExtensionError: as for `find_extension` and `load_extension`.
        """
        key = kind, name
        if key not in self._loaded:
            if key in self._own:
                self._loaded[key] = Extension(kind=kind, name=name), self._own[key]
            else:
                extension = find_extension(kind, name)
                self._loaded[key] = extension, load_extension(extension)
        return self._loaded[key]

    def describe(self, names: Iterable[tuple[ExtensionKind, str]]) -> list[Extension]:
        """What those of these names stand for that are not built in; for the record of a run.

        Raises:
            MissingExtensionError: as for `find_extension`.
        """
        wanted = [(kind, name) for kind, name in dict.fromkeys(names) if name not in _BUILT_IN[kind]]
        return [
            Extension(kind=kind, name=name) if (kind, name) in self._own else find_extension(kind, name)
            for kind, name in wanted
        ]


@lru_cache(maxsize=64)
def _installed(kind: ExtensionKind, path: tuple[str, ...]) -> tuple[Extension, ...]:
    del path  # what is installed is looked up anew where Python looks elsewhere
    found = sorted(entry_points(group=kind.group), key=lambda entry: (entry.name, entry.value))
    return tuple(_of_entry(kind, entry) for entry in found)


def _of_entry(kind: ExtensionKind, entry: EntryPoint) -> Extension:
    package, version = (entry.dist.name, entry.dist.version) if entry.dist else ("", "")
    reference = entry.value.partition("[")[0].strip()
    return Extension(kind=kind, name=entry.name, reference=reference, package=package, version=version)


def _shown(error: Exception) -> str:
    text = " ".join(f"{type(error).__name__}: {error}".split()).removesuffix(":")
    return text if len(text) <= _MAX_REASON else f"{text[:_MAX_REASON]}..."
