"""Problems of the catalogue scored in this process: as fast as their scorers are."""

import importlib.util
import json
import sys
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from service.problems.catalogue import find_problem, init_from_catalogue


@dataclass(frozen=True)
class ScoredCatalogueProblem:
    """The functions of a problem of the catalogue, in a folder as its user has it."""

    name: str
    folder: Path

    def score(self, *values: object, seconds: float = 0.0, file: str = "evaluator.py") -> dict[str, Any]:
        """What the scorer says of returned values, one for each input."""
        outputs = [{"value": value, "seconds": seconds, "error": None} for value in values]
        with self._modules():
            result = self._module(file).score(json.loads(json.dumps(outputs)), {})
        assert isinstance(result, dict)
        return result

    def objective(self, *values: object, seconds: float = 0.0, file: str = "evaluator.py") -> float:
        """The score of the objective; a complaint fails the test."""
        result = self.score(*values, seconds=seconds, file=file)
        assert "error" not in result, result["error"]
        found = result[find_problem(self.name).objective]
        assert isinstance(found, int | float)
        return found

    def function(self, name: str) -> Any:
        """A function of the scorer's file."""
        with self._modules():
            return getattr(self._module("evaluator.py"), name)

    def seed(self) -> Sequence[object]:
        """What the seed returns for each input of the problem."""
        entry = tomllib.loads((self.folder / "problem.toml").read_text())["evaluator"]["entry"]
        with self._modules():
            scorer, program = self._module("evaluator.py"), self._module("initial_program.py")
            asked = scorer.inputs() if hasattr(scorer, "inputs") else [[]]
        called = [value if isinstance(value, list) else [value] for value in asked]
        return [getattr(program, entry)(*json.loads(json.dumps(arguments))) for arguments in called]

    def _module(self, file: str) -> Any:
        spec = importlib.util.spec_from_file_location(f"catalogue_{Path(file).stem}", self.folder / file)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    @contextmanager
    def _modules(self) -> Iterator[None]:
        """The modules of its family can be imported, and are forgotten afterwards."""
        before = dict(sys.modules)
        sys.path.insert(0, str(self.folder / "evolve_imports"))
        try:
            yield
        finally:
            sys.path.remove(str(self.folder / "evolve_imports"))
            for name in sys.modules.keys() - before.keys():
                if str(self.folder) in str(getattr(sys.modules[name], "__file__", "")):
                    del sys.modules[name]


def open_problem(name: str, folder: Path) -> ScoredCatalogueProblem:
    """Write a problem of the catalogue into a folder, and read it from there."""
    init_from_catalogue(folder, name)
    return ScoredCatalogueProblem(name, folder)
