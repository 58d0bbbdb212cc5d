"""`evolve.run` names each key of the configuration as a keyword, for editors, type checkers and `help`."""

import inspect
from dataclasses import fields

import pytest

import evolve
from evolve.configuration import RunConfig
from evolve.errors import ConfigurationError
from service.notebook.keywords import RunKeywords
from service.problems.configuration import SHORT, known_keys


def test_the_keywords_are_the_keys_of_the_configuration() -> None:
    named = set(RunKeywords.__annotations__)
    assert named == {one.name for one in fields(RunConfig)} | set(SHORT)
    assert named - set(SHORT) == {key.partition(".")[0] for key in known_keys()}


def test_the_signature_lists_every_keyword() -> None:
    parameters = inspect.signature(evolve.run).parameters
    assert {"problem", "evaluate", "track", "budget", "evaluations", "selection"} <= set(parameters)
    assert all(one.kind is not inspect.Parameter.VAR_KEYWORD for one in parameters.values())
    assert parameters["islands"].annotation is int


@pytest.mark.parametrize("word", ["evaluates", "polici", "traks"])
def test_a_slip_in_a_keyword_is_told_with_the_nearest(word: str) -> None:
    with pytest.raises(ConfigurationError, match=f"unknown key '{word}'"):
        evolve.run("x = 7\n", evaluate=len, **{word: 3})  # type: ignore[arg-type] # a slip is what is tested


def test_the_package_lists_what_it_offers() -> None:
    assert {"run", "open_run"} <= set(dir(evolve))
