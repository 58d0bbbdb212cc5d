"""Embeddings from a server, read with care, because a server may send anything."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from evolve.errors import PolicyUnavailable
from evolve.proposal import Usage
from evolve.similarity.vectors import Vector
from service.policy.openai_protocol import read_usage

MAX_VECTOR = 16_384
_NO_LIST = "it does not send a list of embeddings"


@dataclass(frozen=True, slots=True, kw_only=True)
class Embeddings:
    """A server's embeddings of texts.

    Attributes:
        vectors: for each text, in their order, of norm 1. None: the vector has no direction.
        usage: None if it does not report.
    """

    vectors: tuple[Vector | None, ...]
    usage: Usage | None

    @property
    def length(self) -> int:
        """The length of each vector. 0 if there is none."""
        return next((len(vector) for vector in self.vectors if vector is not None), 0)


def read_embeddings(value: object, count: int) -> Embeddings:
    """The embeddings of texts, in the order of the texts.

    Args:
        value: the server's JSON.
        count: of the texts.

    Raises:
        PolicyUnavailable: it is not a list of that many vectors of equal length.
    """
    entries = value.get("data") if isinstance(value, Mapping) else None
    if not isinstance(value, Mapping) or not isinstance(entries, list):
        raise PolicyUnavailable(_NO_LIST, 0.0)
    if len(entries) != count:
        raise PolicyUnavailable(f"it sends {len(entries)} embeddings for {count} texts", 0.0)
    placed: dict[int, Vector | None] = {}
    lengths = set()
    for place, entry in enumerate(entries):
        index = entry.get("index", place) if isinstance(entry, Mapping) else None
        if type(index) is not int or not 0 <= index < count or index in placed:
            raise PolicyUnavailable(_NO_LIST, 0.0)
        placed[index] = _direction(entry.get("embedding"))
        lengths.add(len(entry["embedding"]))
    if len(lengths) > 1:
        raise PolicyUnavailable("it sends embeddings of different lengths", 0.0)
    return Embeddings(vectors=tuple(placed[index] for index in range(count)), usage=read_usage(value.get("usage")))


def _direction(numbers: object) -> Vector | None:
    """The vector of norm 1 in the direction of the numbers. None: they are all zero, or not all finite."""
    if not isinstance(numbers, list) or not 0 < len(numbers) <= MAX_VECTOR:
        raise PolicyUnavailable(_NO_LIST, 0.0)
    if not all(type(number) in (int, float) for number in numbers):
        raise PolicyUnavailable("it sends an embedding that is not numbers", 0.0)
    try:
        row = np.array(numbers, dtype=np.float64)
    except OverflowError:  # a whole number beyond every float
        return None
    largest = float(np.abs(row).max())
    if not 0.0 < largest < np.inf:
        return None
    row /= largest  # the squares of what is left can be summed
    return (row / np.linalg.norm(row)).astype(np.float32)
