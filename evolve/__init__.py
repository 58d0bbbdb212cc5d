"""Evolutionary search over programs as a pure library: it asks for proposals and is told evaluations.

`evolve.run` is the front door of the whole product in Python. It needs what touches the world, so its home is
`service.bootstrap.notebook`, and it is looked up there when somebody asks for it: importing the library brings in
nothing above it.
"""

from typing import TYPE_CHECKING

__version__ = "0.1.0"

if TYPE_CHECKING:
    from service.bootstrap.notebook import run as run
else:

    def __getattr__(name: str) -> object:
        if name != "run":
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from service.bootstrap.notebook import run

        return run
