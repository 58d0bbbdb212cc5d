"""A program that is laid over the files of its commit."""

import json
import py_compile
from pathlib import Path

from service.problems.command.command_scorer.tree import MANIFEST, SETTINGS, TREE, evaluate


def test_bytecode_of_the_commit_is_not_run_in_place_of_a_changed_module(tmp_path: Path) -> None:
    tree, program = tmp_path / "base" / TREE, tmp_path / "program"
    tree.mkdir(parents=True)
    (program / MANIFEST).parent.mkdir(parents=True)
    (program / MANIFEST).write_text("commit 0123\n")
    (tree / "bench.py").write_text("import other\nimport step\n\nprint('size:', step.STEP + other.STEP)\n")
    (tree / "step.py").write_text("STEP = 1\n")
    (tree / "other.py").write_text("STEP = 10\n")
    (program / "step.py").write_text("STEP = 2\n")
    # Python does not compare it with its source, as if both were of one second and one size.
    for name in ("step.py", "other.py"):
        py_compile.compile(str(tree / name), invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)
    settings = {"locked": ["bench.py"], "evaluate": ["python", "bench.py"], "metrics": ["size"]}
    (tree.parent / SETTINGS).write_text(json.dumps(settings))
    found = evaluate(str(program), tree.parent)
    assert found == {"size": 12}, found
    assert [path.name.partition(".")[0] for path in (tree / "__pycache__").iterdir()] == ["other"]
