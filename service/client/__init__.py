"""The client of a service: calls are values, a client sends them.

from service.client import Client, calls

with Client("https://evolve.example", key) as client:
    run = client.send(calls.create_run(RunCreate(problem="packing")))
    for event in client.stream(run.id):
        ...
"""

from service.client import calls
from service.client.asynchronous import AsyncClient
from service.client.call import Call
from service.client.client import Client

__all__ = ["AsyncClient", "Call", "Client", "calls"]
