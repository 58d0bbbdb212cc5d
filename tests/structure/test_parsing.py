"""Threads of a process share a counter of Python's parser before 3.11.9: everything parses by `syntax_tree`."""

import re
from pathlib import Path

TOP = Path(__file__).parents[2]
# They run in a process of their own, without our packages and with a single thread.
ALONE = ("service/sandbox/inside/", "service/problems/formats/bridges/", "service/problems/command/command_scorer/")
ITSELF = "evolve/answers/syntax_trees.py"


def test_no_module_of_the_product_parses_past_the_lock() -> None:
    modules = [path for folder in ("evolve", "service") for path in (TOP / folder).rglob("*.py")]
    names = {path.relative_to(TOP).as_posix(): path.read_text(encoding="utf-8") for path in modules}
    assert ITSELF in names
    past = [
        name
        for name, text in names.items()
        if name != ITSELF and not name.startswith(ALONE) and re.search(r"ast\.parse\(|PyCF_ONLY_AST", text)
    ]
    assert past == []
