"""Runs the evaluator of a converted problem, as the sandbox does: in a folder with the problem's files."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from service.problems.bundle import unpack
from service.problems.load import LoadedProblem

_CALL = "import json, sys, evolve_evaluator as e; print('\\n' + json.dumps(getattr(e, sys.argv[1])(sys.argv[2])))"


def bridged(loaded: LoadedProblem, target: Path, program: str = "", function: str = "evaluate") -> dict[str, Any]:
    """The result of a program; of the first seed where none is given.

    Raises:
        AssertionError: the evaluator failed; the text is what it wrote.
    """
    unpack(loaded.bundle, target / "problem")
    seed = loaded.problem.seeds[0]
    path = target / (seed.files[0][0] if seed.single else "program")
    for name, text in [(path.name, program)] if program else seed.files:
        place = path if seed.single else path / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")
    words = [sys.executable, "-c", _CALL, function, str(path)]
    done = subprocess.run(words, cwd=target / "problem", capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found
