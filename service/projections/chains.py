"""The chains that policies were asked for: how many of each proposal, and how many answers one may hold."""

from array import array
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evolve.event_types import ProposalCreated

_NO_END = 1 << 30  # of a proposal that does not tell how long its chains are: it is one
_NOT_YET = 0


class ChainCounts:
    """What proposals were asked for, each as it was put: a budget that ends asks the last ones for less."""

    def __init__(self) -> None:
        self._lengths, self._asked = array("i"), array("i")  # by the number of the proposal
        self._open: dict[int, int] = {}

    @property
    def size(self) -> int:
        """Bytes that they take, about."""
        return len(self._lengths) * (self._lengths.itemsize + self._asked.itemsize)

    @property
    def asked(self) -> NDArray[np.intp]:
        """Of each proposal that came back, whole or in part; 0 of the others. By number."""
        return np.array(self._asked, dtype=np.intp)

    def state(self) -> dict[str, Any]:
        """What `restore` takes."""
        return {"lengths": self._lengths, "asked": self._asked, "open": list(self._open.items())}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Become what another was."""
        self._lengths, self._asked, self._open = state["lengths"], state["asked"], dict(state["open"])

    def lengths(self, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """Most answers of one chain of each of some proposals."""
        known = np.array(self._lengths, dtype=np.int64)
        found = np.full(len(numbers), _NO_END, dtype=np.int64)
        told = numbers < len(known)
        found[told] = known[numbers[told]]
        return found

    def begin(self, created: ProposalCreated) -> None:
        """Take in a proposal that was put."""
        number = created.proposal_number
        more = number + 1 - len(self._lengths)
        self._lengths.extend([_NO_END] * more)
        self._asked.extend([_NOT_YET] * more)
        self._lengths[number] = created.answers or _NO_END
        if not created.change:  # a person writes no chain
            self._open[number] = created.samples

    def end(self, number: int, *, written: bool) -> None:
        """Take in that a proposal ended; where nothing was written, none of its chains was begun."""
        asked = self._open.pop(number, None)
        if asked is not None and written:
            self._asked[number] = asked

    def settle(self, number: int, completions: int) -> None:
        """Take in how many completions came back: without temperature a policy asks for one, whatever the run says."""
        if completions and number < len(self._asked):
            self._asked[number] = completions
