r"""Improve a program by evolutionary search: `evolve.run(seed, evaluate=score)` returns the best one that was found.

    import evolve

    def score(source):
        space = {}
        exec(source, space)
        return -abs(space["x"] - 42)

    result = evolve.run("x = 7\n", evaluate=score, evaluations=100)
    print(result.fitness, result.source)

`help(evolve.run)` lists every argument; a problem's folder takes the place of the seed, a model that of the built-in
mutator. `evolve.open_run` reads a run that was stored. `evolve.problem` has the values that describe problems.
The other modules are the search itself, a pure library that asks for proposals and is told evaluations.
"""

import sys
from typing import TYPE_CHECKING

from evolve.errors import shadowed
from evolve.version import __version__

__all__ = ["__version__", "open_run", "run"]

if TYPE_CHECKING:
    from service.notebook.run import open_run as open_run
    from service.notebook.run import run as run
else:

    def __getattr__(name: str) -> object:
        # The library brings in nothing above it: who asks for `run` or `open_run` does.
        if name not in ("open_run", "run"):
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        try:
            from service.notebook.run import open_run, run
        except ModuleNotFoundError as error:
            if error.name != "service.notebook":
                raise
            raise shadowed(sys.modules.get("service")) from error
        return run if name == "run" else open_run


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
