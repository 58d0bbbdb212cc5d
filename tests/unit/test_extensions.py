"""A name is a built-in, an entry point of a package, or a reference; whatever is off has one sentence."""

from pathlib import Path

import pytest

from evolve.configuration import ArchiveConfig, RunConfig, VariantConfig
from evolve.errors import ConfigurationError, ExtensionError, MissingExtensionError
from evolve.extensions import (
    ExtensionKind,
    Extensions,
    built_in_names,
    find_extension,
    installed,
    is_known,
    is_reference,
    known_names,
    load_extension,
    own_name,
)
from evolve.search.result import FoundCandidates
from evolve.search.search import Search
from evolve.testing import ARCHIVE_RULES, OPERATOR_RULES, SELECTION_RULES, STOPPING_RULES, STRATEGY_RULES
from tests.fakes.plugin import MODULE, NAME, VERSION, install, uninstall
from tests.fakes.world import ASKING, score, toy_problem

SELECTION, ARCHIVE, STRATEGY = ExtensionKind.SELECTION, ExtensionKind.ARCHIVE, ExtensionKind.STRATEGY


@pytest.mark.parametrize("kind", list(ExtensionKind))
def test_every_built_in_is_there(kind: ExtensionKind) -> None:
    assert bool(built_in_names(kind)) is (kind is not ExtensionKind.STOPPING_RULE)
    for name in built_in_names(kind):
        assert Extensions().resolve(kind, name)[1] is not None
        assert find_extension(kind, name).built_in


def test_a_package_offers_its_extensions_by_entry_points(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not is_known(SELECTION, "greedy")
    install(tmp_path, monkeypatch)
    assert is_known(SELECTION, "greedy")
    assert known_names(SELECTION) == (*built_in_names(SELECTION), "greedy")
    (found,) = installed(SELECTION)
    assert (found.name, found.package, found.version) == ("greedy", NAME, VERSION)
    assert [one.name for kind in ExtensionKind for one in installed(kind)] == [
        "greedy", "newest", "hill_climber", "speed_up", "soon", "doubler", "awk",
    ]  # fmt: skip
    assert str(found) == f"the selection greedy of {NAME} {VERSION}"
    assert load_extension(found).__name__ == "Greedy"
    uninstall(monkeypatch)
    assert not is_known(SELECTION, "greedy")


def test_extensions_of_a_package_keep_the_rules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path, monkeypatch)
    resolver = Extensions()
    for kind, name, rules in (
        (SELECTION, "greedy", SELECTION_RULES),
        (ARCHIVE, "newest", ARCHIVE_RULES),
        (STRATEGY, "hill_climber", STRATEGY_RULES),
        (ExtensionKind.OPERATOR, "speed_up", OPERATOR_RULES),
        (ExtensionKind.STOPPING_RULE, "soon", STOPPING_RULES),
    ):
        for rule in rules:
            rule(resolver.resolve(kind, name)[1])


def test_a_built_in_wins_over_a_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path, monkeypatch, entry_points={"evolve.selections": {"uniform": f"{MODULE}:Greedy"}})
    assert find_extension(SELECTION, "uniform").built_in


def test_a_name_of_two_packages_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path, monkeypatch)
    install(
        tmp_path,
        monkeypatch,
        name="evolve-second",
        entry_points={"evolve.selections": {"greedy": "evolve_second:Greedy"}},
    )
    with pytest.raises(MissingExtensionError, match="several packages offer the selection greedy, evolve-greedy"):
        find_extension(SELECTION, "greedy")


@pytest.mark.parametrize("name", ["a:b", "my_package.search:Greedy", "__main__:Outer.Inner"])
def test_references(name: str) -> None:
    assert is_reference(name)
    assert is_known(ARCHIVE, name)


@pytest.mark.parametrize(
    "name", ["", "greedy", "a:", ":b", "a:b:c", "a b:c", "a.:b", "a:b()", "../a:b", "a:b\n", "é:b"]
)
def test_what_is_no_reference(name: str) -> None:
    assert not is_reference(name)


@pytest.mark.parametrize(
    ("source", "name", "sentence"),
    [
        (
            None,
            "nowhere_at_all:X",
            "the selection nowhere_at_all:X is not there: Python finds no module nowhere_at_all",
        ),
        ("", f"{MODULE}:X", f"the selection {MODULE}:X is not there: the module {MODULE} has no X"),
        (
            "1 / 0",
            f"{MODULE}:X",
            f"the selection {MODULE}:X could not be imported: ZeroDivisionError: division by zero",
        ),
        (
            "import lost_module",
            f"{MODULE}:X",
            "could not be imported: ModuleNotFoundError: No module named 'lost_module'",
        ),
    ],
)
def test_what_cannot_be_loaded_has_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str | None, name: str, sentence: str
) -> None:
    if source is not None:
        install(tmp_path, monkeypatch, source=source)
    with pytest.raises((MissingExtensionError, ExtensionError)) as caught:
        Extensions().resolve(SELECTION, name)
    assert sentence in str(caught.value)


def test_a_configuration_takes_the_three_forms(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigurationError, match=r"selection = 'greedy' is unknown: choose one of .*, or your own as"):
        RunConfig(selection={"greedy": 1.0})
    with pytest.raises(ConfigurationError, match="stopping_rule = 'soon' is unknown: name your own as module:Class"):
        RunConfig(stopping_rule="soon")
    install(tmp_path, monkeypatch)
    config = RunConfig(
        strategy="hill_climber",
        selection={"greedy": 1.0, "uniform": 1.0},
        archive=ArchiveConfig(kind="a:B"),
        stopping_rule="soon",
        operators={"mutate": 1.0, "speed_up": 1.0},
        islands=2,
        variants=(VariantConfig(islands=(1,), selection={"c:D": 1.0}, archive=ArchiveConfig(kind="newest")),),
    )
    assert set(config.extensions) == {
        (STRATEGY, "hill_climber"), (SELECTION, "greedy"), (SELECTION, "uniform"), (SELECTION, "c:D"), (ARCHIVE, "a:B"),
        (ARCHIVE, "newest"), (ExtensionKind.STOPPING_RULE, "soon"),
        (ExtensionKind.OPERATOR, "mutate"), (ExtensionKind.OPERATOR, "speed_up"),
    }  # fmt: skip
    described = Extensions({(ARCHIVE, "a:B"): object}).describe(config.extensions)
    assert {(one.name, one.package, one.reference) for one in described} == {
        ("hill_climber", NAME, f"{MODULE}:HillClimber"), ("greedy", NAME, f"{MODULE}:Greedy"), ("c:D", "", "c:D"),
        ("a:B", "", ""), ("newest", NAME, f"{MODULE}:Newest"), ("soon", NAME, f"{MODULE}:soon"),
        ("speed_up", NAME, f"{MODULE}:SPEED_UP"),
    }  # fmt: skip


def test_a_replay_asks_in_the_words_of_the_operator_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path, monkeypatch)
    problem = toy_problem(seeds=(0.0, 1.0, 2.0))
    config = RunConfig(operators={"speed_up": 1.0}, islands=1)
    search, again = (Search("run_toy", problem, config, ASKING) for _ in range(2))
    steps = [search.start()]
    steps += [search.tell(one.id, score(problem, one.program)) for one in steps[0].candidates]
    steps.append(search.ask())
    (proposal,) = steps[-1].proposals
    assert proposal.request == "Write $count, each faster than the parent."
    assert proposal.second_parent is not None
    events = [event for step in steps for event in step.events]
    found = FoundCandidates.of(events)
    assert again.replay(events, found.individuals, found.candidates).proposals == (proposal,)


def test_an_object_is_recorded_by_its_class() -> None:
    class Inner:
        pass

    assert own_name(Extensions()) == own_name(Extensions) == "evolve.extensions:Extensions"
    assert own_name(own_name) == "evolve.extensions:own_name"
    assert own_name(Inner()) == f"{__name__}:test_an_object_is_recorded_by_its_class.Inner"
