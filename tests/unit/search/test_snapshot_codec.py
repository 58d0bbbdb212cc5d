"""The codec of snapshots knows every attribute of the state, and makes no class but those that it lists."""

from typing import Any

import pytest

from evolve.archives import TopArchive
from evolve.archives.guarded import GuardedArchive
from evolve.configuration import ARCHIVES, ArchiveConfig, BudgetConfig, RunConfig
from evolve.errors import SnapshotError
from evolve.extensions import Extension, ExtensionKind
from evolve.search.search import Search
from evolve.search.snapshot import draft, encode, restore
from evolve.search.snapshot_codec import FILLED, Packer, Unpacker
from tests.fakes.world import ASKING, World, toy_problem


def played(kind: str = "top") -> Search:
    config = RunConfig(archive=ArchiveConfig(kind=kind, size=8), budget=BudgetConfig(evaluations=30), islands=2)
    search = Search("run_toy", toy_problem(), config, ASKING)
    World(toy_problem()).play(search, search.start())
    return search


def held(value: Any) -> list[Any]:
    """Everything that is filled within a value."""
    if isinstance(value, list | tuple):
        return [one for part in value for one in held(part)]
    if type(value) not in FILLED:
        return []
    return [value, *(one for part in vars(value).values() for one in held(part))]


@pytest.mark.parametrize("kind", ARCHIVES)
def test_each_attribute_of_the_state_is_in_a_snapshot_or_made_anew(kind: str) -> None:
    found = held(played(kind).state)
    assert len({type(one) for one in found}) > 10
    for one in found:
        told, made = FILLED[type(one)]
        assert not set(told) & set(made)
        assert set(told) <= set(vars(one)) <= set(told) | set(made), type(one).__name__


def test_every_class_that_is_filled_is_met() -> None:
    found = {type(one) for kind in ARCHIVES for one in held(played(kind).state)}
    assert set(FILLED) - found == set()


def test_a_snapshot_makes_no_class_that_is_not_listed() -> None:
    with pytest.raises(SnapshotError, match="holds no Popen"):
        Unpacker([], []).unpack({"is": "Popen", "of": {"args": ["true"]}})


def test_a_value_of_a_class_that_is_not_listed_is_refused() -> None:
    with pytest.raises(SnapshotError, match="type complex"):
        Packer().pack({"a": [1j]})


def test_a_run_whose_archive_is_an_extension_has_no_snapshot() -> None:
    search = played()
    extension = Extension(kind=ExtensionKind.ARCHIVE, name="mine:Archive", package="mine", version="1")
    search.state.islands[0].archive = GuardedArchive(extension, TopArchive(1, 4))
    with pytest.raises(SnapshotError, match="GuardedArchive"):
        draft(search)


def test_a_snapshot_fits_no_search_that_has_begun_and_none_of_other_archives_or_islands() -> None:
    content = encode(draft(played()))
    with pytest.raises(SnapshotError, match="not begun"):
        restore(played(), content)
    for config in (RunConfig(archive=ArchiveConfig(kind="pareto"), islands=2), RunConfig(islands=3)):
        with pytest.raises(SnapshotError):
            restore(Search("run_toy", toy_problem(), config, ASKING), content)


@pytest.mark.parametrize("place", [0, 10, 200, -1])
def test_a_snapshot_that_is_cut_or_spoilt_is_refused(place: int) -> None:
    content = encode(draft(played()))
    spoilt = bytearray(content)
    spoilt[place] ^= 0x55
    for wrong in (bytes(spoilt), content[:place]):
        search = Search(
            "run_toy", toy_problem(), RunConfig(archive=ArchiveConfig(kind="top", size=8), islands=2), ASKING
        )
        with pytest.raises(SnapshotError):
            restore(search, wrong)
