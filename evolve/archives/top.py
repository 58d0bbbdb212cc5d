"""Top-k: the fittest, whatever they are like."""

from evolve.archives.archive import Insertion, Status
from evolve.archives.population import Population, fitness_of
from evolve.proposal import Individual


class TopArchive:
    """The k fittest. Among equals the newest stays, so that a search drifts over plateaus."""

    def __init__(self, width: int, size: int) -> None:
        self.members = Population(width)
        self._size = size

    def add(self, individual: Individual) -> Insertion:
        """Keep it while there is room, else in place of the worst member unless that is fitter."""
        if individual.candidate_id in self.members:
            return Insertion(status=Status.DUPLICATE)
        displaced: tuple[str, ...] = ()
        if len(self.members) >= self._size:
            worst = self.members.worst()
            if fitness_of(individual) < fitness_of(worst):
                return Insertion(status=Status.FULL)
            displaced = (self.members.remove(worst.candidate_id).candidate_id,)
        self.members.add(individual)
        return Insertion(status=Status.IMPROVED if displaced else Status.ADDED, displaced=displaced)
