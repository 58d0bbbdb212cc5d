"""Programs on demand: what a proposal of a resumed run shows is read from the log when it is put to its policy."""

from collections import OrderedDict
from collections.abc import Sequence
from functools import partial

from evolve.proposal import Individual
from service.errors import StorageError
from service.ports import RunLog
from service.runner.storage_retry import StorageRetry

# The best programs of a run are shown again and again. All that is kept of them is a few megabytes.
MAX_KEPT = 256
_KEPT_CHARACTERS = 16 * 1024  # of a program; a longer one is read again


class ProgramLoader:
    """Reads individuals of one run with their programs, and keeps those that were shown last.

    Args:
        log: of the run.
        run_id: the run.
        retry: reads in a thread, and again while the database is away.
    """

    def __init__(self, log: RunLog, run_id: str, retry: StorageRetry) -> None:
        self._log, self._run_id, self._retry = log, run_id, retry
        self._kept: OrderedDict[str, Individual] = OrderedDict()

    async def load(self, candidate_ids: Sequence[str]) -> list[Individual]:
        """Individuals by their ids.

        Raises:
            NotFoundError: the run has no such candidate.
            StorageError: one has no program: a policy must not be shown an empty text in its place.
            StorageAwayError: the database was away for longer than patience lasts.
        """
        found = {one: self._kept[one] for one in candidate_ids if one in self._kept}
        if absent := [one for one in candidate_ids if one not in found]:
            read = await self._retry.call(partial(self._log.individuals, self._run_id, absent))
            found |= {individual.candidate_id: individual for individual in read}
        for name in candidate_ids:
            if name not in found:
                raise StorageError(f"the program of candidate {name} is not in the database: restore it from a backup")
        for name, individual in found.items():
            if individual.program.size <= _KEPT_CHARACTERS:
                self._kept[name] = individual
                self._kept.move_to_end(name)
        while len(self._kept) > MAX_KEPT:
            self._kept.popitem(last=False)
        return list(found.values())
