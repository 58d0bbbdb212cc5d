"""No module needs itself by way of others, with imports inside functions and for types alone counted too."""

import ast
import graphlib
from collections.abc import Iterator, Mapping
from importlib.util import resolve_name

import pytest

from tests.structure.test_tree import trees

PACKAGES = ("evolve", "service", "training", "migrations")


def modules() -> Mapping[str, ast.Module]:
    return {".".join(path.with_suffix("").parts): tree for path, tree in trees(*PACKAGES)}


def imported(name: str, tree: ast.Module) -> Iterator[tuple[str, str]]:
    """A module, or a package and what of it may be a module."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.rpartition(".")[::2] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            package = resolve_name("." * node.level + (node.module or ""), name.rpartition(".")[0])
            yield from ((package, alias.name) for alias in node.names)


def graph(found: Mapping[str, ast.Module]) -> dict[str, set[str]]:
    """The modules that each one imports."""
    needed: dict[str, set[str]] = {}
    for name, tree in found.items():
        needed[name] = set()
        for package, part in imported(name, tree):
            below, whole = f"{package}.{part}".lstrip("."), f"{package}.__init__"
            candidates = (below, f"{below}.__init__", package, whole)
            needed[name] |= {next((one for one in candidates if one in found), name)} - {name}
    return needed


def test_no_module_needs_itself_by_way_of_others() -> None:
    needed = graph(modules())
    assert sum(map(len, needed.values())) > 3 * len(needed)  # it was read
    try:
        graphlib.TopologicalSorter(needed).prepare()
    except graphlib.CycleError as error:
        pytest.fail(" <- ".join(error.args[1]))


def test_a_circle_is_found_whatever_way_it_is_closed() -> None:
    texts = {
        "a": "import b",
        "b": "def f():\n    from c import g",
        "c": "if TYPE_CHECKING:\n    from a import T",
        "d": "",
    }
    with pytest.raises(graphlib.CycleError):
        graphlib.TopologicalSorter(graph({name: ast.parse(text) for name, text in texts.items()})).prepare()
