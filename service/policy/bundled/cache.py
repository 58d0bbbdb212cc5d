"""The cache of texts that are being written: keys and values of their prompts, and of their own tokens."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from service.policy.bundled.weights import Floats

Ints = npt.NDArray[np.int64]
_FIRST_ROOM = 32


class LayerCache:
    """Keys and values of a layer.

    Attributes:
        prompt_keys, prompt_values: (prompts, kv heads, longest prompt, head size), shared by all samples of a prompt.
    """

    def __init__(self, keys: Floats, values: Floats, rows: int) -> None:
        self.prompt_keys, self.prompt_values = keys, values
        self._keys = np.empty((rows, keys.shape[1], _FIRST_ROOM, keys.shape[3]), dtype=np.float32)
        self._values = np.empty_like(self._keys)

    def append(self, key: Floats, value: Floats, length: int) -> tuple[Floats, Floats]:
        """Add a token to every row, (rows, kv heads, head size). Returns the rows' own `length` keys and values."""
        if length > self._keys.shape[2]:
            self._keys, self._values = _doubled(self._keys), _doubled(self._values)
        self._keys[:, :, length - 1] = key
        self._values[:, :, length - 1] = value
        return self._keys[:, :, :length], self._values[:, :, :length]

    def keep(self, prompts: Ints, rows: Ints) -> None:
        """Forget all but some prompts and rows."""
        if len(prompts) < len(self.prompt_keys):
            self.prompt_keys, self.prompt_values = self.prompt_keys[prompts], self.prompt_values[prompts]
        self._keys, self._values = self._keys[rows], self._values[rows]


class Cache:
    """The cache of prompts with equal numbers of rows. Row `prompt * samples + sample`.

    Args:
        layers: keys and values of the prompts, layer by layer.
        lengths: of the prompts, (prompts,).
        samples: rows of each prompt.
        mask: added to scores over the prompts, broadcast to (prompts, kv heads, rows, longest prompt). None: no mask.

    Attributes:
        length: own tokens of every row.
    """

    def __init__(
        self, layers: Sequence[tuple[Floats, Floats]], *, lengths: Ints, samples: int, mask: Floats | None
    ) -> None:
        self.layers = [LayerCache(keys, values, len(lengths) * samples) for keys, values in layers]
        self.lengths, self.samples, self.mask = lengths, samples, mask
        self.length = 0

    @property
    def prompts(self) -> int:
        """Prompts that are remembered."""
        return len(self.lengths)

    def advance(self) -> Ints:
        """Make room for another token of every row. Returns its position in each."""
        self.length += 1
        return np.repeat(self.lengths + (self.length - 1), self.samples)

    def keep(self, prompts: Ints, rows: Ints) -> None:
        """Forget all but some prompts, and of them all but some rows.

        Args:
            prompts: numbers of those that stay, (prompts,).
            rows: numbers of the rows that stay, (prompts, samples).
        """
        for layer in self.layers:
            layer.keep(prompts, rows.ravel())
        self.lengths, self.samples = self.lengths[prompts], rows.shape[1]
        self.mask = None if self.mask is None else self.mask[prompts]


def _doubled(array: Floats) -> Floats:
    rows, heads, room, size = array.shape
    larger = np.empty((rows, heads, 2 * room, size), dtype=np.float32)
    larger[:, :, :room] = array
    return larger
