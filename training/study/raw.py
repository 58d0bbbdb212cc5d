"""The measurements of a study in files, so that an interrupted study continues: a complete file for each task."""

import hashlib
import json
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from training.errors import StudyError

Arrays = Mapping[str, NDArray[Any]]
_KEY = "key"


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasurementKey:
    """The name of a measurement, with all conditions that decide its result.

    Attributes:
        title: readable start of the file's name.
        values: JSON values.
    """

    title: str
    values: Mapping[str, Any]

    @property
    def text(self) -> str:
        """The values, always written alike."""
        return json.dumps(self.values, sort_keys=True)

    @property
    def file(self) -> str:
        """Name of the file."""
        return f"{self.title}.{hashlib.sha256(self.text.encode()).hexdigest()[:12]}.npz"


@dataclass(frozen=True, slots=True, kw_only=True)
class Store:
    """A folder of measurements."""

    folder: Path

    def has(self, key: MeasurementKey) -> bool:
        """Whether it was measured."""
        return (self.folder / key.file).is_file()

    def write(self, key: MeasurementKey, arrays: Arrays) -> None:
        """Keep a measurement."""
        self.folder.mkdir(parents=True, exist_ok=True)
        started = self.folder / f".{key.file}.part"
        with started.open("wb") as file:
            kept: dict[str, Any] = {_KEY: np.array(key.text), **arrays}
            np.savez_compressed(file, **kept)
        started.replace(self.folder / key.file)

    def read(self, key: MeasurementKey, shapes: Mapping[str, tuple[int, ...]]) -> dict[str, NDArray[Any]]:
        """A measurement, checked against the shapes of its arrays.

        Raises:
            StudyError: its file is cut off or damaged, or is of something else.
        """
        arrays = self.read_any(key, tuple(shapes))
        if {name: array.shape for name, array in arrays.items()} != dict(shapes):
            raise StudyError(f"{self.folder / key.file} holds another measurement than its name says: remove it")
        return arrays

    def read_any(self, key: MeasurementKey, names: Sequence[str]) -> dict[str, NDArray[Any]]:
        """A measurement's arrays of any shape, with the errors of `read`."""
        path = self.folder / key.file
        try:
            with path.open("rb") as file, np.load(file, allow_pickle=False) as found:
                text, arrays = str(found[_KEY]), {name: np.asarray(found[name]) for name in names}
        except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile, zlib.error) as error:
            raise StudyError(f"{path} is cut off or damaged: remove it, and it is measured again") from error
        if text != key.text:
            raise StudyError(f"{path} holds another measurement than its name says: remove it")
        return arrays
