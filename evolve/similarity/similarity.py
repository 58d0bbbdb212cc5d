"""Nearness: whether a new program is too near to a member of an archive to be worth its evaluation."""

import hashlib
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from heapq import nsmallest

import numpy as np
from numpy.typing import NDArray

from evolve.answers.edit import TOO_NEAR
from evolve.answers.python_source import is_python
from evolve.configuration import NoveltyConfig
from evolve.program import Program
from evolve.proposal import Individual
from evolve.similarity.fingerprint import syntax_words
from evolve.similarity.novelty import tokens_of
from evolve.similarity.vectors import Vectors
from evolve.similarity.vectors import distance as cosine_distance

Runs = NDArray[np.uint64]

SKETCH = 128
LOOKED_AT = 16
_WIDTH = 3
_KEPT_RUNS = 2_000_000
_AT_ONCE = 4096
_ODD = np.uint64(0x9E3779B97F4A7C15)
_DRAWN = np.random.default_rng(20260101).integers(2**32, size=(2, SKETCH), dtype=np.uint32)
_FACTORS, _SUMMANDS = _DRAWN[0] | np.uint32(1), _DRAWN[1]


def runs(program: Program, kind: str, language: str) -> Runs:
    """The runs of three words in the files of a program, each as 64 bits of a hash, sorted, none twice.

    Args:
        kind: `syntax`: the words are those of the syntax tree where a file is Python, else its tokens, as in `tokens`.
    """
    found = [np.zeros(0, dtype=np.uint64)]
    for path, text in program.files:
        words = syntax_words(text) if kind == "syntax" and is_python(path, program, language) else None
        found.append(join_runs(codes_of(tokens_of(text) if words is None else words)))
    return np.unique(np.concatenate(found))


def distance(a: Runs, b: Runs) -> float:
    """Jaccard distance: 0 for the same runs, 1 for none in common."""
    common = len(np.intersect1d(a, b, assume_unique=True))
    union = len(a) + len(b) - common
    return 1.0 - common / union if union else 0.0


def sketch(program_runs: Runs) -> NDArray[np.uint32]:
    """MinHash (Broder, 1997): of two programs, as many of these numbers agree as the runs of both are alike."""
    minimum = np.full(SKETCH, np.iinfo(np.uint32).max, dtype=np.uint32)
    upper = (program_runs >> np.uint64(32)).astype(np.uint32)
    for start in range(0, len(upper), _AT_ONCE):
        part = upper[start : start + _AT_ONCE, None]
        minimum = np.minimum(minimum, (part * _FACTORS + _SUMMANDS).min(axis=0))
    return minimum


@dataclass(frozen=True, slots=True, kw_only=True)
class NearestProgram:
    """The member that a program is nearest to, as far as was looked."""

    candidate_id: str
    distance: float


class SimilarityCheck:
    """Compares new programs with the members of the archives of one run.

    Nothing here is state of the search: what it keeps it finds again from the programs, or is handed again.

    Args:
        configs: how each island compares, by its number.
        language: of the problem.

    Attributes:
        vectors: embeddings of programs, for the kind `embedding`; who has none is not compared.
    """

    def __init__(self, configs: Sequence[NoveltyConfig], language: str) -> None:
        self._configs = configs
        self._language = language
        self._known: OrderedDict[tuple[str, str], Runs] = OrderedDict()
        self._held = 0
        self._sketches: dict[int, _Sketches] = {}
        self.vectors = Vectors()

    def objection(self, program: Program, island: int, members: Iterable[Individual]) -> str:
        """Why a program is not worth its evaluation, in a sentence; empty when it is."""
        config = self._configs[island]
        if config.kind == "none" or not config.min_distance:
            return ""
        near = self.nearest(program, island, members)
        if near is None or near.distance >= config.min_distance:
            return ""
        return (
            f"{TOO_NEAR}: its distance in {config.kind} from"
            f" {near.candidate_id} is {near.distance:.3f}, and novelty.min_distance asks for {config.min_distance:g}"
        )

    def nearest(self, program: Program, island: int, members: Iterable[Individual]) -> NearestProgram | None:
        """The nearest member; None where there are none.

        By runs of words it is the nearest of the `LOOKED_AT` that look nearest by their sketches.
        """
        present = {member.candidate_id: member.program for member in members}
        by_vectors = self._configs[island].kind == "embedding"
        distances = self._by_vectors(program, present) if by_vectors else self._by_runs(program, island, present)
        if not distances:
            return None
        nearest = min(distances, key=lambda name: (distances[name], name))
        return NearestProgram(candidate_id=nearest, distance=distances[nearest])

    def _by_vectors(self, program: Program, present: Mapping[str, Program]) -> dict[str, float]:
        own = self.vectors.get(program.id)
        if own is None:
            return {}
        vectors = {name: self.vectors.get(other.id) for name, other in present.items()}
        return {name: cosine_distance(own, vector) for name, vector in vectors.items() if vector is not None}

    def _by_runs(self, program: Program, island: int, present: Mapping[str, Program]) -> dict[str, float]:
        own = self._runs(program, island)
        looked_at: Iterable[str] = present
        if len(present) > LOOKED_AT:
            known = self._sketches.setdefault(island, _Sketches())
            known.keep(present)
            known.add({name: sketch(self._runs(present[name], island)) for name in present if name not in known})
            looked_at = known.alike(sketch(own), LOOKED_AT)
        return {name: distance(own, self._runs(present[name], island)) for name in looked_at}

    def _runs(self, program: Program, island: int) -> Runs:
        key = self._configs[island].kind, program.id
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = runs(program, key[0], self._language)
            self._held += len(known)
            while self._held > _KEPT_RUNS and len(self._known) > 1:
                self._held -= len(self._known.popitem(last=False)[1])
        self._known.move_to_end(key)
        return known


class _Sketches:
    """Sketches of the members of one archive, in one array."""

    def __init__(self) -> None:
        self._names: list[str] = []
        self._places: dict[str, int] = {}
        self._rows = np.zeros((16, SKETCH), dtype=np.uint32)

    def __contains__(self, name: str) -> bool:
        return name in self._places

    def add(self, sketches: dict[str, NDArray[np.uint32]]) -> None:
        for name, row in sketches.items():
            place = len(self._names)
            if place == len(self._rows):
                self._rows = np.concatenate([self._rows, np.zeros_like(self._rows)])
            self._names.append(name)
            self._places[name] = place
            self._rows[place] = row

    def keep(self, names: Iterable[str]) -> None:
        """Forget all but these; the last one takes the place of one that goes."""
        for name in [*self._places.keys() - set(names)]:
            place = self._places.pop(name)
            last = self._names.pop()
            if last != name:
                self._names[place], self._places[last] = last, place
                self._rows[place] = self._rows[len(self._names)]

    def alike(self, row: NDArray[np.uint32], count: int) -> list[str]:
        """The names of those that agree with a sketch in most numbers."""
        agreed = np.count_nonzero(self._rows[: len(self._names)] == row, axis=1)
        last = np.partition(agreed, -count)[-count]
        better = [self._names[place] for place in np.flatnonzero(agreed > last)]
        # Among equals by name: a search that was resumed has them in another order.
        equal = [self._names[place] for place in np.flatnonzero(agreed == last)]
        return [*better, *nsmallest(count - len(better), equal)]


def codes_of(words: Sequence[str]) -> Runs:
    """64 bits of a hash for each word."""
    codes = {word: int.from_bytes(hashlib.blake2b(_bytes(word), digest_size=8).digest()) for word in set(words)}
    return np.array([codes[word] for word in words], dtype=np.uint64)


def join_runs(codes: Runs) -> Runs:
    """The runs of three words by the codes of the words, in their order; of fewer words, all of them as one run."""
    if not len(codes):
        return codes
    row = np.concatenate([codes, np.zeros(max(0, _WIDTH - len(codes)), dtype=np.uint64)])
    hashed = _mixed(row)
    for _ in range(_WIDTH - 1):
        row = row[1:]
        hashed = _mixed(hashed[:-1] * _ODD + row)
    return hashed


def _mixed(numbers: Runs) -> Runs:
    """Each bit of a result depends on every bit of a number (splitmix64)."""
    numbers = (numbers ^ (numbers >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    numbers = (numbers ^ (numbers >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return numbers ^ (numbers >> np.uint64(31))


def _bytes(word: str) -> bytes:
    return word.encode("utf-8", "surrogatepass")
