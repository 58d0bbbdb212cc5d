"""The commands of registered policies, on a database and with a service."""

from pathlib import Path

import pytest

from tests.e2e.evolving import Evolve, EvolveHere
from tests.fakes.tiny_llama import write_model


@pytest.fixture
def evolve(tmp_path: Path) -> Evolve:
    return EvolveHere(tmp_path)


@pytest.fixture
def walker(evolve: Evolve, tmp_path: Path) -> str:
    for seed in (1, 2):
        base = ("--base", "walker@1") if seed == 2 else ()
        evolve.said("policy", "add", "walker", str(write_model(tmp_path / str(seed), seed=seed)), *base)
    return "walker"


def test_versions_are_added_listed_and_shown(evolve: Evolve, walker: str) -> None:
    (policy,) = evolve.lines("policy", "list", "--json")
    assert (policy["name"], policy["promoted"], policy["versions"]) == ("walker", None, 2)
    second, first = evolve.lines("policy", "show", walker, "--json")
    assert (first["name"], second["name"], second["base"]) == ("walker@1", "walker@2", "walker@1")
    assert evolve.lines("policy", "show", "walker@1", "--json") == [first]
    assert "walker@2" in evolve.said("policy", "show", walker).out
    assert first["bundle_hash"] in evolve.said("policy", "show", "walker@1").out


def test_a_version_is_promoted_by_the_gate_or_by_force(evolve: Evolve, walker: str) -> None:
    assert evolve.said("policy", "promote", "walker@1").code == 0
    refused = evolve.said("policy", "promote", "walker@2")
    assert (refused.code, "was not evaluated against walker@1" in refused.err) == (5, True)
    assert evolve.said("policy", "promote", "walker@2", "--force", "a test").code == 0
    assert "promoted by force: a test" in evolve.said("policy", "show", "walker@2").out
    assert evolve.said("policy", "archive", "walker@1").code == 0
    assert evolve.said("policy", "archive", "walker@2").code == 5


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("show", "absent"), 3, "there is no policy 'absent'"),
        (("show", "walker@9"), 3, "there is no version 9"),
        (("promote", "walker"), 2, "name a version, such as walker@1"),
        (("promote", "walker@x"), 2, "names no version"),
        (("add", "walker", "absent"), 3, "there is no folder absent"),
        (("add", "Walker", "."), 2, "small letters"),
    ],
)
def test_mistakes_are_said_in_a_sentence(
    evolve: Evolve, walker: str, words: tuple[str, ...], code: int, said: str
) -> None:
    result = evolve.said("policy", *words)
    assert (result.code, said in result.err, "Traceback" in result.err) == (code, True, False), result.err
