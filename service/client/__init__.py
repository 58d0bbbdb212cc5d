"""The client of a service: calls are values, a client sends them.

from service.client import Client, calls

with Client("https://evolve.example", key) as client:
    run = client.send(calls.create_run(RunCreate(problem="packing")))
    for event in client.stream(run.id):
        ...
"""

from importlib import import_module
from typing import TYPE_CHECKING

__all__ = ["AsyncClient", "Call", "Client", "calls"]

if TYPE_CHECKING:
    from service.client import calls
    from service.client.asynchronous import AsyncClient
    from service.client.call import Call
    from service.client.client import Client
else:
    # Imported at first use: commands that only look for a service must start fast, and httpx is slow to import.
    _MODULES = {"AsyncClient": "asynchronous", "Call": "call", "Client": "client"}

    def __getattr__(name: str) -> object:
        if name == "calls":
            return import_module(f"{__name__}.calls")
        if name not in _MODULES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
