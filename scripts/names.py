"""Hold the names of the code to the rules of CONTRIBUTING.md: `python -m scripts.names` fails on each breach.

Exceptions stand in pyproject.toml under [tool.names]: a table for each rule, from the name to the reason.
"""

import ast
import re
import sys
import tomllib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

TOP = Path(__file__).parents[1]
PACKAGES = ("evolve", "service", "training")
SMALL_MODULE = 30
SUPERLATIVES = ("most", "least", "longest", "shortest", "largest", "smallest", "lowest", "fewest")
SUPERLATIVE = re.compile(rf"_*({'|'.join(SUPERLATIVES)})_[a-z0-9_]+", re.IGNORECASE)
SUPERLATIVE_CLASS = re.compile(rf"_*({'|'.join(word.title() for word in SUPERLATIVES)})[A-Z]\w*")
BARE_NOUNS = frozenset(
    {"Line", "Place", "View", "Form", "Way", "Word", "Kept", "Told", "Once", "Only", "Where", "Wanted", "Step"}
)
PARTICIPLES = frozenset(
    {
        "Asked",
        "Begun",
        "Drawn",
        "Done",
        "Found",
        "Given",
        "Gone",
        "Held",
        "Known",
        "Made",
        "Read",
        "Said",
        "Seen",
        "Sent",
    }
)
SCHEMAS = "service.schemas."


@dataclass(frozen=True, slots=True)
class Module:
    """A module as the rules see it."""

    name: str
    lines: int
    tree: ast.Module
    package: bool


@dataclass(frozen=True, slots=True)
class Breach:
    """A name that breaks a rule.

    Attributes:
        key: what an exception calls it.
    """

    rule: str
    key: str
    message: str


def modules(top: Path) -> list[Module]:
    """Every module of the packages below a folder."""
    found = []
    for path in sorted(path for package in PACKAGES for path in (top / package).rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        name = ".".join(path.relative_to(top).with_suffix("").parts).removesuffix(".__init__")
        found.append(Module(name, len(text.splitlines()), ast.parse(text), path.name == "__init__.py"))
    return found


def given_names(tree: ast.AST) -> Iterator[str]:
    """Every name that a module defines: classes, functions, arguments, variables and attributes."""
    for node in ast.walk(tree):
        match node:
            case ast.ClassDef(name=name) | ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield name
            case ast.arg(arg=name) | ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
                yield name


def superlatives(tree: Iterable[Module]) -> Iterator[Breach]:
    """Names that begin with MOST, LEAST and the like."""
    found = {(name, module.name) for module in tree for name in given_names(module.tree)}
    for name, module in sorted(found):
        if SUPERLATIVE.fullmatch(name) or SUPERLATIVE_CLASS.fullmatch(name):
            yield Breach("superlatives", name, f"{module}: {name} begins with a superlative: use max_ or min_")


def classes(tree: Iterable[Module]) -> dict[str, list[str]]:
    """The modules that define each class."""
    homes: defaultdict[str, list[str]] = defaultdict(list)
    for module in tree:
        for node in ast.walk(module.tree):
            if isinstance(node, ast.ClassDef):
                homes[node.name].append(module.name)
    return homes


def repeated_classes(tree: Iterable[Module]) -> Iterator[Breach]:
    """Class names that stand for two things; a schema may repeat the name of the value that it shows."""
    for name, homes in sorted(classes(tree).items()):
        values = [home for home in homes if not home.startswith(SCHEMAS)]
        if not name.startswith("_") and max(len(values), len(homes) - len(values)) > 1:
            yield Breach("repeated_classes", name, f"{', '.join(homes)}: class {name}: give one of them its layer")


def vague_classes(tree: Iterable[Module]) -> Iterator[Breach]:
    """Class names that are a past participle, or a noun that may mean anything."""
    for name, homes in sorted(classes(tree).items()):
        bare = name.lstrip("_")
        participle = re.fullmatch(r"[A-Z][a-z]+[^e\W]ed", bare) or bare in PARTICIPLES
        if bare in BARE_NOUNS or participle:
            yield Breach("vague_classes", name, f"{', '.join(homes)}: class {name}: name it for what it holds")


def imported_modules(module: Module, known: frozenset[str]) -> Iterator[str]:
    """The modules among the known ones that a module imports."""
    package = module.name if module.package else module.name.rpartition(".")[0]
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in known)
        elif isinstance(node, ast.ImportFrom):
            above = ".".join(package.split(".")[: len(package.split(".")) - node.level + 1]) if node.level else ""
            base = ".".join(part for part in (above, node.module) if part)
            for alias in node.names:
                yield f"{base}.{alias.name}" if f"{base}.{alias.name}" in known else base


def small_modules(tree: Iterable[Module]) -> Iterator[Breach]:
    """Modules of a few lines that one other module imports; a package's own names are no importer."""
    tree = list(tree)
    known = frozenset(module.name for module in tree)
    importers: defaultdict[str, set[str]] = defaultdict(set)
    for module in tree:
        for name in imported_modules(module, known):
            if not (module.package and name.startswith(f"{module.name}.")):
                importers[name].add(module.name)
    for module in tree:
        if module.lines < SMALL_MODULE and not module.package and len(importers[module.name]) == 1:
            [importer] = importers[module.name]
            yield Breach("small_modules", module.name, f"{module.name}: {module.lines} lines for {importer}: join them")


RULES: tuple[Callable[[Iterable[Module]], Iterator[Breach]], ...] = (
    superlatives, repeated_classes, vague_classes, small_modules,
)  # fmt: skip


def complaints(tree: list[Module], exceptions: Mapping[str, Mapping[str, str]]) -> Iterator[str]:
    """A sentence for each breach without an exception, and for each exception that is stale or has no reason."""
    known = {rule.__name__ for rule in RULES}
    yield from (f"[tool.names.{table}]: there is no such rule" for table in exceptions if table not in known)
    for rule in RULES:
        allowed = exceptions.get(rule.__name__, {})
        found = list(rule(tree))
        yield from (breach.message for breach in found if breach.key not in allowed)
        broken = {breach.key for breach in found}
        yield from (f"[tool.names.{rule.__name__}]: {key} is stale: remove it" for key in allowed if key not in broken)
        yield from (
            f"[tool.names.{rule.__name__}]: {key} has no reason" for key, why in allowed.items() if not why.strip()
        )


def main() -> int:
    """Print every complaint; 1 if there is one."""
    settings = tomllib.loads((TOP / "pyproject.toml").read_text(encoding="utf-8"))["tool"].get("names", {})
    found = list(complaints(modules(TOP), settings))
    print("\n".join(found) or "names: all rules hold")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
