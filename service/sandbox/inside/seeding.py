"""Seeds of the random numbers that a child draws by the modules' own streams."""

import importlib.abc
import importlib.machinery
import random
import sys
from collections.abc import Sequence
from types import ModuleType

NUMPY = "numpy.random"


def seed_everything(seed: int) -> None:
    """Seed `random`, and `numpy.random` now or as soon as it is imported.

    Children of one warm process do not share their luck, and the same program always has the same.
    """
    random.seed(seed)
    module = sys.modules.get(NUMPY)
    if module is None:
        sys.meta_path.insert(0, _NumpyFinder(seed))
    else:
        _seed_numpy(module, seed)


class _NumpyFinder(importlib.abc.MetaPathFinder):
    """Finds `numpy.random` as the path finder does, and has it seeded after its import."""

    def __init__(self, seed: int) -> None:
        self._seed = seed

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != NUMPY:
            return None
        spec = importlib.machinery.PathFinder.find_spec(fullname, path, target)
        if spec is not None and spec.loader is not None:
            spec.loader = _SeedingLoader(spec.loader, self._seed)
        return spec


class _SeedingLoader(importlib.abc.Loader):
    """Loads a module by its own loader, which the module names as its loader afterwards, and seeds it."""

    def __init__(self, loader: importlib.abc.Loader, seed: int) -> None:
        self._loader, self._seed = loader, seed

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        module.__loader__ = self._loader
        self._loader.exec_module(module)
        _seed_numpy(module, self._seed)


def _seed_numpy(module: ModuleType, seed: int) -> None:
    module.seed(seed % (1 << 32))
