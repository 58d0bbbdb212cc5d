"""Top-k: the fittest, whatever they are like."""

from evolve.archives.archive import Insertion, Status
from evolve.archives.population import Population, fitness_of
from evolve.proposal import Individual


class TopArchive:
    """The k fittest. Among equals the newest stays, so that a search drifts over plateaus."""

    def __init__(self, width: int, size: int) -> None:
        self.members = Population(width)
        self._size = size

    def offer(self, individual: Individual) -> Insertion:
        """Keep it while there is room, else in place of the worst member unless that is fitter."""
        if individual.candidate_id in self.members:
            return Insertion(status=Status.DUPLICATE)
        if len(self.members) < self._size:
            return Insertion(status=Status.ADDED)
        worst = self.members.worst()
        if fitness_of(individual) < fitness_of(worst):
            return Insertion(status=Status.FULL)
        return Insertion(status=Status.IMPROVED, displaced=(worst.candidate_id,))

    def apply(self, individual: Individual, insertion: Insertion) -> None:
        """Do as decided."""
        self.members.exchange(individual, kept=insertion.kept, displaced=insertion.displaced)

    def remove(self, candidate_id: str) -> None:
        """Remove a member."""
        self.members.remove(candidate_id)
