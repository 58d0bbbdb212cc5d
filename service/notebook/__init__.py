"""The Python front door: `evolve.run`."""
