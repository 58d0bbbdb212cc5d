"""Measurements in files: whole or not there, and never taken for others."""

from pathlib import Path

import numpy as np
import pytest

from training.errors import StudyError
from training.study.raw import MeasurementKey, Store

KEY = MeasurementKey(title="sampling.vpo-s0", values={"temperature": 1.0, "mazes": 3})
SHAPES = {"rewards": (3, 2)}


@pytest.fixture
def store(tmp_path: Path) -> Store:
    store = Store(folder=tmp_path / "raw")
    store.write(KEY, {"rewards": np.arange(6.0).reshape(3, 2) / 3})
    return store


def path_of(store: Store) -> Path:
    (path,) = store.folder.iterdir()
    return path


def test_a_measurement_comes_back_as_it_was(store: Store) -> None:
    assert store.has(KEY)
    assert np.array_equal(store.read(KEY, SHAPES)["rewards"], np.arange(6.0).reshape(3, 2) / 3)


def test_other_conditions_are_another_measurement(store: Store) -> None:
    assert not store.has(MeasurementKey(title=KEY.title, values={"temperature": 1.3, "mazes": 3}))


@pytest.mark.parametrize("share", [0.0, 0.3, 0.9])
def test_a_file_cut_off_is_named(store: Store, share: float) -> None:
    path = path_of(store)
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * share)])
    with pytest.raises(StudyError, match=r"sampling\.vpo-s0.*cut off or damaged"):
        store.read(KEY, SHAPES)


def test_a_damaged_file_is_named(store: Store) -> None:
    path = path_of(store)
    content = bytearray(path.read_bytes())
    middle = content.index(b"rewards.npy") + 40
    content[middle : middle + 20] = bytes(20)
    path.write_bytes(content)
    with pytest.raises(StudyError, match="cut off or damaged"):
        store.read(KEY, SHAPES)


def test_a_file_under_another_name_is_refused(store: Store) -> None:
    other = MeasurementKey(title="sampling.grpo-s0", values={"temperature": 1.0, "mazes": 4})
    path_of(store).rename(store.folder / other.file)
    with pytest.raises(StudyError, match="another measurement"):
        store.read(other, SHAPES)


def test_arrays_of_other_shapes_are_refused(store: Store) -> None:
    with pytest.raises(StudyError, match="another measurement"):
        store.read(KEY, {"rewards": (2, 3)})
