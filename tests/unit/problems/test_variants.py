"""Islands that differ, as configurations say it: in TOML, on a command line and in a run's record."""

import json
import tomllib

import pytest

from evolve.configuration import ArchiveConfig, InspirationsConfig, NoveltyConfig, PromptConfig, SelectionOptions
from evolve.errors import ConfigurationError
from service.problems.configuration import check_layer, config_as_json, config_from_json, parse_set, read_config

PROBLEM = """
[search]
islands = 4
archive = { kind = "grid", front = 3 }
inspirations.diverse = 5
novelty.min_distance = 0.3
prompt = { failures = 7, template_dir = "texts" }

[[search.variants]]
islands = [2, 3]
archive = { kind = "dominated_novelty", size = 100 }
selection = { tournament = 1.0 }
inspirations.top = 0
novelty.kind = "tokens"
prompt.system = "Dare more."

[[search.variants]]
islands = [1]
selection_options = { power_law_exponent = 1.0, exploration = 3.0 }
operators = { crossover = 0.5, mutate = 0.5 }
"""


def test_tables_say_what_some_islands_have_of_their_own() -> None:
    config = read_config([("problem.toml", tomllib.loads(PROBLEM)["search"])])
    plain, second, third = (config.on_island(number) for number in (0, 1, 2))
    assert plain is config
    assert second.operators == {"crossover": 0.5, "mutate": 0.5}
    assert second.selection_options == SelectionOptions(power_law_exponent=1.0, exploration=3.0)
    assert third.selection_options == SelectionOptions()
    assert second.archive == ArchiveConfig(kind="grid", front=3)
    assert third.archive == ArchiveConfig(kind="dominated_novelty", front=3, size=100)
    assert third.inspirations == InspirationsConfig(top=0, diverse=5)
    assert third.selection == {"tournament": 1.0}
    assert third.novelty == NoveltyConfig(kind="tokens", min_distance=0.3)
    assert third.prompt == PromptConfig(system="Dare more.", failures=7, template_dir="texts")
    assert (second.novelty.kind, second.prompt.system) == ("none", "")
    assert config.on_island(3) == third
    assert third.variants == ()


def test_a_record_and_a_flag_say_the_same() -> None:
    config = read_config([("problem.toml", tomllib.loads(PROBLEM)["search"])])
    assert config_from_json(json.loads(json.dumps(config_as_json(config)))) == config
    flag = parse_set('variants=[{islands=[1], archive={kind="top"}, inspirations.top=1}]')
    other = read_config([("problem.toml", tomllib.loads(PROBLEM)["search"]), ("--set", flag)])
    assert [variant.islands for variant in other.variants] == [(1,)]
    assert other.on_island(1).archive == ArchiveConfig(kind="top", front=3)


def test_islands_that_nobody_counted_are_as_many_as_variants_name() -> None:
    variants = [{"islands": [2], "selection_options": {"exploration": 3.0}}]
    assert read_config([("there", {"variants": variants})]).islands == 3
    with pytest.raises(ConfigurationError, match="there is no island 2: they are 0 to 1"):
        read_config([("there", {"islands": 2, "variants": variants})])


def test_a_later_layer_changes_what_variants_stand_on() -> None:
    config = read_config([("problem.toml", tomllib.loads(PROBLEM)["search"]), ("--set", {"archive.neighbours": 9})])
    assert config.on_island(2).archive.neighbours == 9


@pytest.mark.parametrize(
    ("variants", "words"),
    [
        (
            [{"islands": [1000], "selection": {"ucb": 1.0}}],
            "there: variants: there is no island 1000: they are 0 to 999",
        ),
        ([{"islands": [-1, 2]}], "there: variants: there is no island -1: they are 0 to 2"),
        ([{"islands": [1]}, {"islands": [0, 1]}], "there: variants: island 1 is named twice"),
        ([{"islands": []}], "there: variants: each needs islands = [numbers]"),
        (
            [{"islands": [1], "archive": {"kind": "box"}}],
            "there: variants: archive.kind = 'box' is unknown: choose one of auto, grid",
        ),
        ([{"islands": [1], "archive": {"kidn": "top"}}], "there: variants: unknown key 'archive.kidn'"),
        ([{"islands": [1], "seed": 3}], "there: variants: islands may differ in archive, selection, selection_options"),
        (
            [{"islands": [1], "novelty.kind": "looks"}],
            "there: variants: novelty.kind = 'looks' is unknown: choose one of",
        ),
        ([{"islands": [1], "prompt": {"failures": -1}}], "there: variants: prompt.failures must be at least 0"),
        (
            [{"islands": [1], "prompt.template_dir": "texts"}],
            "there: variants: prompt.template_dir is one folder for all islands: name it beside variants, not in one",
        ),
        (
            [{"islands": [1], "selection_options.cases": "big"}],
            "there: variants: selection_options.cases must be a number, not 'big'",
        ),
        ([{"islands": [1], "selection": {"tournament": -1.0}}], "selection.tournament must lie between 0"),
        ([{"selection": {"ucb": 1.0}}], "there: variants must be a list of tables, each with islands = [0, 1]"),
        ({"islands": [1]}, "there: variants must be a list of tables"),
        ([3], "there: variants must be a list of tables"),
    ],
)
def test_what_is_wrong_with_a_variant_is_said_in_one_sentence(variants: object, words: str) -> None:
    with pytest.raises(ConfigurationError) as raised:
        read_config([("there", {"variants": variants})])
    assert check_layer("there", {"variants": variants}) == [str(raised.value)]
    assert words in str(raised.value)
    assert "; " not in str(raised.value)
