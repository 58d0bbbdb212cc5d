"""The command that starts a worker of a service, on whatever machine."""

from dataclasses import dataclass

# Exit codes of `evolve worker` that another try does not mend: a wrong word, a refused key, too little isolation.
HOPELESS_EXIT_CODES = (2, 4)


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerCommand:
    """A worker as every launcher starts it.

    Attributes:
        server: the address of the service, as the worker's machine reaches it.
        slots: evaluations at once, and so the cores that the worker asks for.
        pool: whose tasks it takes.
    """

    server: str
    slots: int
    pool: str

    def words(self, key_file: str) -> list[str]:
        """What follows `evolve`.

        Args:
            key_file: the file on the worker's machine that holds its key.
        """
        place = ["--server", self.server, "--api-key-file", key_file]
        return ["worker", *place, "--pool", self.pool, "--slots", str(self.slots)]
