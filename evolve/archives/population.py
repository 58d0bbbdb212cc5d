"""The members of an archive in contiguous arrays, so that choosing among 100,000 costs no more than among 300."""

from bisect import bisect_left, insort
from collections.abc import Container, Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from evolve.proposal import Individual


class Population:
    """A set of individuals that selections read: rewards, scores, fitness and ranks, up to date by `add` and `remove`.

    Adding and removing cost a constant number of array writes and one insertion into a sorted list.

    Attributes:
        version: how often it was changed.
    """

    def __init__(self, width: int) -> None:
        self._members: list[Individual] = []
        self._places: dict[str, int] = {}
        self._ranking: list[tuple[float, int, str]] = []
        self._clock = 0
        self.version = 0
        self._written = np.zeros(16, dtype=np.int64)
        self._rewards = np.zeros((16, width))
        self._signed_scores = np.zeros((16, width))
        self._fitness = np.zeros(16)
        self._arrivals = np.zeros(16, dtype=np.int64)

    def __len__(self) -> int:
        return len(self._members)

    def __iter__(self) -> Iterator[Individual]:
        return iter(self._members)

    def __contains__(self, candidate_id: object) -> bool:
        return candidate_id in self._places

    def __getitem__(self, place: int) -> Individual:
        return self._members[place]

    @property
    def rewards(self) -> NDArray[np.float64]:
        """Matrix, n x k, of what scalarisation weighs, one row a member."""
        return self._rewards[: len(self._members)]

    @property
    def signed_scores(self) -> NDArray[np.float64]:
        """Matrix, n x k, of what dominance is decided by, more is better, one row a member."""
        return self._signed_scores[: len(self._members)]

    @property
    def fitness(self) -> NDArray[np.float64]:
        """Fitness of the n members, more is better."""
        return self._fitness[: len(self._members)]

    @property
    def ages(self) -> NDArray[np.int64]:
        """When each of the n members came: the lower, the older."""
        return self._arrivals[: len(self._members)]

    @property
    def arrivals(self) -> int:
        """How many members ever came."""
        return self._clock

    def get(self, candidate_id: str) -> Individual:
        """The member of this id."""
        return self._members[self._places[candidate_id]]

    def place(self, candidate_id: str) -> int:
        """Where the member of this id stands."""
        return self._places[candidate_id]

    def changed_since(self, version: int) -> NDArray[np.intp]:
        """Places that hold another member, or another value of it, than at a version."""
        return np.flatnonzero(self._written[: len(self._members)] > version)

    def ranked(self, rank: int) -> int:
        """Place of the member of a rank; 0 is the fittest, the older first among equals."""
        return self._places[self._ranking[rank][2]]

    def best(self, count: int = 1, *, excluding: Container[str] = ()) -> list[Individual]:
        """Of the `count` fittest members those whose ids are not excluded, best first."""
        return [self.get(name) for _, _, name in self._ranking[:count] if name not in excluding]

    def worst(self) -> Individual:
        """The least fit member, the oldest among equals."""
        fitness = self._ranking[-1][0]
        return self.get(self._ranking[bisect_left(self._ranking, (fitness, -1, ""))][2])

    def add(self, individual: Individual) -> None:
        """Add a member that is not one yet."""
        place = len(self._members)
        if place == len(self._fitness):
            self._grow()
        self._members.append(individual)
        self._places[individual.candidate_id] = place
        self._clock += 1
        self._write(place, individual, self._clock)
        insort(self._ranking, self._entry(place))

    def remove(self, candidate_id: str) -> Individual:
        """Remove a member; the last one takes its place."""
        self.version += 1
        place = self._places.pop(candidate_id)
        gone = self._members[place]
        del self._ranking[bisect_left(self._ranking, self._entry(place))]
        last = self._members.pop()
        if last is not gone:
            self._members[place] = last
            self._places[last.candidate_id] = place
            self._write(place, last, int(self._arrivals[len(self._members)]))
        return gone

    def exchange(self, individual: Individual, *, kept: bool, displaced: Iterable[str]) -> None:
        """Remove members, then add one if it is kept."""
        for candidate_id in displaced:
            self.remove(candidate_id)
        if kept:
            self.add(individual)

    def replace(self, individual: Individual) -> None:
        """Put a member of the same id and scores in the place of the one there."""
        place = self._places[individual.candidate_id]
        self._members[place] = individual
        self._write(place, individual, int(self._arrivals[place]))

    def exchange_texts(self, individual: Individual) -> None:
        """Put a member that differs in its program and texts alone in the place of the one there: no value changes."""
        self._members[self._places[individual.candidate_id]] = individual

    def refill(self, members: Sequence[Individual], ages: Sequence[int], arrivals: int) -> None:
        """Hold these members and no others, as a snapshot has them.

        Args:
            members: in the order of their places.
            ages: when each of them came.
            arrivals: how many ever came.
        """
        self._members, self._clock = list(members), arrivals
        self._places = {member.candidate_id: place for place, member in enumerate(members)}
        while len(self._fitness) < len(members):
            self._grow()
        for place, (member, age) in enumerate(zip(members, ages, strict=True)):
            self._write(place, member, age)
        self._ranking = sorted(map(self._entry, range(len(members))))

    def _entry(self, place: int) -> tuple[float, int, str]:
        individual = self._members[place]
        return (-fitness_of(individual), int(self._arrivals[place]), individual.candidate_id)

    def _write(self, place: int, individual: Individual, arrival: int) -> None:
        self._rewards[place] = individual.rewards
        self._signed_scores[place] = individual.signed_scores
        self._fitness[place] = fitness_of(individual)
        self._arrivals[place] = arrival
        self.version += 1
        self._written[place] = self.version

    def _grow(self) -> None:
        self._rewards = np.concatenate([self._rewards, np.zeros_like(self._rewards)])
        self._signed_scores = np.concatenate([self._signed_scores, np.zeros_like(self._signed_scores)])
        self._fitness = np.concatenate([self._fitness, np.zeros_like(self._fitness)])
        self._arrivals = np.concatenate([self._arrivals, np.zeros_like(self._arrivals)])
        self._written = np.concatenate([self._written, np.zeros_like(self._written)])


def fitness_of(individual: Individual) -> float:
    """The fitness of an individual that was scored: no other becomes a member."""
    assert individual.fitness is not None, "a failed individual is no member of a population"
    return individual.fitness
