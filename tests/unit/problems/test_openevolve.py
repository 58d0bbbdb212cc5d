import json
import re
from pathlib import Path
from typing import Any

import pytest

from evolve.evaluation import fitness, read_result
from evolve.problem import EvaluatorSpec, Integrity, Measure
from service.errors import InvalidProblemError
from service.problems.bundle import open_bundle
from service.problems.configuration import read_config
from service.problems.formats.openevolve_keys import HONOURED, KNOWN, MODEL_HONOURED, MODEL_NOT_HONOURED, NOT_HONOURED
from service.problems.load import LoadedProblem, load_bundle, load_problem
from tests.unit.problems.folders import EVALUATE, SEED, project, write

STAGED = "def evaluate_stage1(p): ...\ndef evaluate_stage2(p): ...\ndef evaluate(p): ...\n"


def load(root: Path, config: str, **more: str) -> LoadedProblem:
    return load_problem(project(root, config, **more))


def complaints(root: Path) -> tuple[str, ...]:
    with pytest.raises(InvalidProblemError) as caught:
        load_problem(root)
    return caught.value.complaints


def test_project_without_configuration_has_openevolves_defaults(tmp_path: Path) -> None:
    loaded = load_problem(project(tmp_path / "sorter", None, evaluator__py=STAGED))
    problem, config = loaded.problem, read_config([("project", loaded.search)])
    assert problem.name == "sorter"
    assert problem.scalar
    assert problem.evaluator == EvaluatorSpec(
        integrity=Integrity.SHARED, lenient=True, stage_thresholds=({"combined_score": 0.5}, {"combined_score": 0.75})
    )
    assert problem.limits.wall_seconds == 300
    assert problem.measures == (Measure(name="complexity", bins=10), Measure(name="novelty", bins=10))
    assert (config.islands, config.migration_interval, config.migration_rate, config.seed) == (5, 50, 0.1, 42)
    assert (config.inspirations.top, config.inspirations.diverse, config.prompt.feedback_kb) == (3, 2, 20)
    assert (config.archive.size, config.budget.evaluations, config.budget.patience) == (200, 10_001, None)
    assert loaded.policies == ()
    assert any("there is none" in warning for warning in loaded.warnings)
    assert any("max_iterations" in warning for warning in loaded.warnings)


def test_a_marker_behind_code_which_openevolve_reads_is_a_warning(tmp_path: Path) -> None:
    seed = "x = 1  # EVOLVE-BLOCK-START\ny = 2\nz = 3  # EVOLVE-BLOCK-END\n"
    loaded = load(tmp_path, "max_iterations: 5\n", initial_program__py=seed)
    assert [warning.partition(" is after code")[0] for warning in loaded.warnings if "EVOLVE-BLOCK" in warning] == [
        "initial_program.py: EVOLVE-BLOCK-START in line 1", "initial_program.py: EVOLVE-BLOCK-END in line 3"
    ]  # fmt: skip


def test_every_honoured_key_says_what_it_says_there(tmp_path: Path) -> None:
    loaded = load(
        tmp_path,
        """
max_iterations: 99
random_seed: 7
language: klingon
early_stopping_patience: 12
prompt: {system_message: Be bold., num_top_programs: 4, num_diverse_programs: 5, max_artifact_bytes: 1024}
database: {population_size: 90, num_islands: 3, feature_dimensions: [diversity, speed], feature_bins: {speed: 4},
           migration_interval: 8, migration_rate: 2e-1}
evaluator: {timeout: 30, parallel_evaluations: 6, cascade_evaluation: false, memory_limit_mb: 77}
""",
        evaluator__py=STAGED,
    )
    problem, config = loaded.problem, read_config([("project", loaded.search)])
    assert loaded.warnings == ()
    assert problem.language == "klingon"
    assert problem.measures == (Measure(name="novelty", bins=10), Measure(name="speed", bins=4))
    assert (problem.limits.wall_seconds, problem.limits.memory_mb) == (30, 77)
    assert problem.limits.cpu_seconds >= 30
    assert problem.evaluator.stage_thresholds == ()
    assert (config.budget.evaluations, config.budget.patience, config.seed) == (100, 12, 7)
    assert (config.islands, config.archive.size, config.migration_interval) == (3, 30, 8)
    assert config.migration_rate == pytest.approx(0.2)
    assert (config.inspirations.top, config.inspirations.diverse) == (4, 5)
    assert (config.prompt.system, config.prompt.feedback_kb) == ("Be bold.", 1)
    assert config.concurrency.evaluations == 6


def test_artifacts_can_be_kept_out_of_prompts(tmp_path: Path) -> None:
    loaded = load(tmp_path, "prompt: {include_artifacts: false}")
    assert read_config([("p", loaded.search)]).prompt.feedback_kb == 0


def test_fitness_is_the_combined_score_or_the_mean_without_feature_dimensions(tmp_path: Path) -> None:
    problem = load(tmp_path, "database: {feature_dimensions: [size]}").problem
    assert fitness(problem, read_result({"a": 1.0, "b": 2.0, "size": 99.0}, problem)) == 1.5
    assert fitness(problem, read_result({"a": 1.0, "combined_score": 7.0, "size": 99.0}, problem)) == 7.0


def test_each_known_key_is_honoured_or_explained() -> None:
    assert not HONOURED & set(NOT_HONOURED)
    assert not MODEL_HONOURED & set(MODEL_NOT_HONOURED)
    for key, sentence in {**NOT_HONOURED, **MODEL_NOT_HONOURED}.items():
        assert sentence.startswith(("is not honoured: ", "is not needed: ")), key


def nested(key: str, value: Any) -> str:
    section, _, name = key.rpartition(".")
    return f"{section}: {{{name}: {value}}}" if section else f"{name}: {value}"


@pytest.mark.parametrize("key", sorted(NOT_HONOURED))
def test_key_that_is_not_honoured_is_named_with_a_sentence(tmp_path: Path, key: str) -> None:
    loaded = load(tmp_path, nested(key, 1))
    assert f"config.yaml: {key} {NOT_HONOURED[key]}" in loaded.warnings


@pytest.mark.parametrize("key", sorted(HONOURED - {"max_iterations"}))
def test_honoured_key_of_a_wrong_type_is_a_complaint(tmp_path: Path, key: str) -> None:
    section, _, name = key.rpartition(".")
    config: dict[str, Any] = {"random_seed": None, "llm": {"primary_model": "m", "secondary_model": "n"}}
    load_problem(project(tmp_path, json.dumps(config)))
    (config.setdefault(section, {}) if section else config)[name] = [[{"a": 1}]]
    project(tmp_path, json.dumps(config))  # JSON is YAML too
    assert any(key in sentence for sentence in complaints(tmp_path))


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ("max_iteration: 3", "unknown key 'max_iteration' is ignored: did you mean 'max_iterations'?"),
        ("timeout: 3", "unknown key 'timeout' is ignored: did you mean"),
        ("evaluator: {time_out: 3}", "'evaluator.time_out' is ignored: did you mean 'evaluator.timeout'?"),
        ("databse: {num_islands: 3}", "unknown key 'databse' is ignored"),
        ("llm: {models: [{name: m, temprature: 1}]}", "models[1].temprature' is ignored: did you mean 'temperature'?"),
        ("llm: {models: [{name: m, retries: 1}]}", "llm.models[1].retries is not honoured"),
        ("llm: {models: [{name: m, provider: claude_code}]}", "llm.models[1].provider is not honoured"),
        ("prompt: {programs_as_changes_description: true}", "prompt.programs_as_changes_description is not honoured"),
        ("prompt: {system_message_changes_description: x}", "system_message_changes_description is not honoured: "),
        ("database: {programs_as_changes_description: 1}", "did you mean 'prompt.programs_as_changes_description'?"),
        ("llm: {temperature: 1}", "llm names no model"),
    ],
)  # fmt: skip
def test_unknown_key_is_a_warning_with_the_nearest_known_one(tmp_path: Path, config: str, said: str) -> None:
    assert any(said in warning for warning in load(tmp_path, config).warnings), load(tmp_path, config).warnings


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ("max_iterations: many", "max_iterations should be a number of at least 1, not 'many'"),
        ("max_iterations: 2.5", "max_iterations should be a whole number, not 2.5"),
        ("max_iterations: 0", "max_iterations should be a number of at least 1"),
        ("max_iterations: .inf", "max_iterations should be a number"),
        ("max_iterations: .nan", "max_iterations should be a number"),
        ("max_iterations: true", "max_iterations should be a number"),
        ("random_seed: -1", "random_seed should be a number of at least 0"),
        ("database: {migration_rate: 7}", "migration_rate must lie between 0 and 1"),
        ("database: 7", "database is a section with keys below it, not int"),
        ("database: {feature_dimensions: complexity}", "feature_dimensions should be a list of names"),
        ("database: {feature_bins: 0}", "database.feature_bins should be a number of at least 1"),
        ("database: {feature_dimensions: [diversity, novelty]}", "two measures are called novelty"),
        ("evaluator: {cascade_thresholds: 3}", "cascade_thresholds should be a list of numbers"),
        ("evaluator: {cascade_thresholds: [x]}", "cascade_thresholds[1] should be a number"),
        ("llm: {models: [{weight: 3}]}", "llm.models[1] needs a name"),
        ("llm: {models: [m]}", "llm.models[1] needs a name"),
        ("llm: {primary_model: m, api_base: 'localhost:8000'}", "llm.api_base should be an address"),
        ("llm: {primary_model: m, api_base: 'http://u:secret@h/v1'}", "llm.api_base should be an address"),
        ("llm: {primary_model: m, api_base: 'http://[::1/v1'}", "llm.api_base should be an address"),
        ("a: 1\nb: [1", "config.yaml is broken (line 2, column 6)"),
    ],
)  # fmt: skip
def test_value_that_cannot_be_honoured_is_a_complaint(tmp_path: Path, config: str, said: str) -> None:
    found = complaints(project(tmp_path, config))
    assert any(said in sentence for sentence in found), found
    assert not any("secret" in sentence for sentence in found)


def test_language_model_section_is_policies(tmp_path: Path) -> None:
    loaded = load(
        tmp_path,
        """
diff_based_evolution: false
llm:
  api_base: https://example.org/v1
  api_key: ${MY_KEY}
  temperature: 0.9
  top_p: 0.5
  max_tokens: 100
  timeout: 9
  models:
    - {name: small, weight: 0.2}
    - {name: large, weight: 0.8, temperature: 0.1, api_base: "http://localhost:1/v1", api_key: "${OTHER_KEY}"}
""",
    )
    small, large = loaded.policies
    assert (small["name"], small["base_url"], small["api_key_env"], small["weight"], small["temperature"]) == (
        "small", "https://example.org/v1", "MY_KEY", 0.2, 0.9,
    )  # fmt: skip
    assert large == {
        "name": "large",
        "kind": "openai",
        "base_url": "http://localhost:1/v1",
        "model": "large",
        "api_key_env": "OTHER_KEY",
        "temperature": 0.1,
        "top_p": 0.5,
        "max_tokens": 100,
        "timeout_seconds": 9.0,
        "edits": "rewrite",
        "format": "single",
        "weight": 0.8,
    }


def test_primary_model_has_openevolves_defaults(tmp_path: Path) -> None:
    policy, second = load(tmp_path, "llm: {primary_model: a, secondary_model: b, secondary_model_weight: 0.2}").policies
    assert (policy["weight"], second["model"], second["weight"]) == (1.0, "b", 0.2)
    assert (policy["model"], policy["api_key_env"], policy["edits"]) == ("a", "OPENAI_API_KEY", "diff")
    assert (policy["temperature"], policy["max_tokens"], policy["timeout_seconds"]) == (0.7, 4096, 60)
    assert policy["base_url"] == "https://api.openai.com/v1"


@pytest.mark.parametrize(
    ("address", "variable"),
    [("http://localhost:8000/v1", ""), ("http://127.0.0.1:1/v1", ""), ("https://example.org/v1", "OPENAI_API_KEY")],
)
def test_local_server_needs_no_key_unless_one_is_named(tmp_path: Path, address: str, variable: str) -> None:
    (policy,) = load(tmp_path, f"llm: {{primary_model: 'a b', api_base: '{address}'}}").policies
    assert (policy["api_key_env"], policy["name"], policy["model"]) == (variable, "a-b", "a b")


@pytest.mark.parametrize("key", ["", "none", "EMPTY"])
def test_server_without_a_key_needs_none(tmp_path: Path, key: str) -> None:
    (policy,) = load(tmp_path, f"llm: {{primary_model: a, api_key: '{key}'}}").policies
    assert policy["api_key_env"] == ""


@pytest.mark.parametrize(
    "config",
    [
        "llm: {primary_model: a, api_key: sk-12345}",
        "llm: {api_key: sk-12345}",
        "llm: {models: [{name: a, weight: 2}, {name: b, api_key: sk-12345}]}",
        "llm: {primary_model: a, api_key: 'sk-12345${X}'}",
    ],
)
def test_key_written_out_is_not_read_and_neither_repeated_nor_stored(tmp_path: Path, config: str) -> None:
    loaded = load(tmp_path, config)
    (found,) = [warning for warning in loaded.warnings if "api_key" in warning]
    assert "is not read, since keys stay out of files: export it as OPENAI_API_KEY" in found
    assert "12345" not in found + repr(loaded.policies)
    assert b"12345" not in open_bundle(loaded.bundle).files["config.yaml"]
    assert all(policy["api_key_env"] == "OPENAI_API_KEY" for policy in loaded.policies)
    again = load_bundle(loaded.bundle, "again")
    assert (again.policies, again.bundle) == (loaded.policies, loaded.bundle)


def test_key_that_cannot_be_taken_out_of_the_text_is_refused(tmp_path: Path) -> None:
    (found,) = complaints(project(tmp_path, 'llm: {primary_model: a, api_key: "sk-\\u0031234567"}'))
    assert "llm.api_key" in found
    assert "234567" not in found


@pytest.mark.parametrize(
    ("shared", "own"), [("sk-12345", "sk-12345"), ("sk-12345", "sk-1234567"), ("x-sk-12345", "sk-12345")]
)
def test_keys_that_repeat_or_hold_each_other_are_taken_out_at_every_place(
    tmp_path: Path, shared: str, own: str
) -> None:
    config = f"llm: {{api_key: {shared}, models: [{{name: a, api_key: {own}}}, {{name: b, api_key: {shared}}}]}}"
    loaded = load(tmp_path, config)
    stored = open_bundle(loaded.bundle).files["config.yaml"]
    assert (stored.count(b"not-stored"), b"sk-" in stored, b"67" in stored) == (3, False, False)
    assert "sk-" not in "".join(loaded.warnings) + repr(loaded.policies)


@pytest.mark.parametrize(
    "config",
    [
        "llm: {api_key: sk-first-1, api_key: sk-second-2, primary_model: a}",
        "llm: {api_key: &one sk-first-1, models: [{name: a, api_key: *one}]}",
        "base: &base {api_key: sk-first-1}\nllm: {<<: *base, primary_model: a}",
        "llm: {api_key: 1234567890, primary_model: a}",
    ],
)
def test_key_is_not_stored_however_yaml_has_it(tmp_path: Path, config: str) -> None:
    stored = open_bundle(load(tmp_path, config).bundle).files["config.yaml"]
    assert b"not-stored" in stored
    assert not re.search(rb"sk-|12345", stored)


def test_key_that_stands_a_second_time_in_another_spelling_is_refused(tmp_path: Path) -> None:
    config = 'llm: {api_key: sk-1234567, models: [{name: a, api_key: "sk-\\u0031234567"}]}'
    (found,) = complaints(project(tmp_path, config))
    assert "llm.models[1].api_key holds a key itself" in found
    assert "234567" not in found


@pytest.mark.parametrize("key", ["ollama", "YOUR_API_KEY"])
def test_placeholder_of_a_key_is_no_complaint(tmp_path: Path, key: str) -> None:
    (policy,) = load(tmp_path, f"llm: {{primary_model: a, api_base: 'http://localhost:1/v1', api_key: {key}}}").policies
    assert policy["api_key_env"] == ""


def test_reasoning_effort_is_that_of_the_policy(tmp_path: Path) -> None:
    models = "models: [{name: a}, {name: b, reasoning_effort: high}]"
    one, other = load(tmp_path, f"llm: {{reasoning_effort: low, {models}}}").policies
    assert (one["reasoning_effort"], other["reasoning_effort"]) == ("low", "high")


@pytest.mark.parametrize(("value", "patience"), [("-1", None), ("0", None), ("7", 7), ("null", None)])
def test_patience_below_one_never_ends_a_run(tmp_path: Path, value: str, patience: int | None) -> None:
    found = load(tmp_path, f"early_stopping_patience: {value}")
    assert read_config([("project", found.search)]).budget.patience == patience


def test_any_language_and_the_suffix_that_is_named(tmp_path: Path) -> None:
    root = write(tmp_path, {"initial_program.rs": "fn main() {}", "evaluator.py": EVALUATE})
    assert load_problem(root).problem.language == "rust"
    write(root, {"initial_program.cpp": "int x;", "config.yml": "file_suffix: .cpp"})
    loaded = load_problem(root)
    assert loaded.problem.seeds[0].files == (("initial_program.cpp", "int x;"),)
    assert any("initial_program.cpp is taken of" in warning for warning in loaded.warnings)


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"initial_program.py": SEED}, "the evaluator 'evaluator.py' is missing"),
        ({"evaluator.py": EVALUATE, "config.yaml": ""}, "initial_program.py is missing"),
        ({"evaluator.py": EVALUATE}, "initial_program.* for an OpenEvolve project"),
        ({"evaluator.py": "def score(outputs, program): ..."}, "add problem.toml"),
        ({"initial_program.py": SEED, "evaluator.py": "def x(): ..."}, "defines no evaluate()"),
        ({"initial_program.py": SEED, "evaluator.py": "def x("}, "not valid Python"),
        ({"initial_program.py": b"\xff", "evaluator.py": EVALUATE}, "not UTF-8"),
    ],
)
def test_missing_or_broken_file_is_said(tmp_path: Path, files: dict[str, str | bytes], said: str) -> None:
    assert any(said in sentence for sentence in complaints(write(tmp_path, files)))


def test_stages_alone_make_an_evaluator(tmp_path: Path) -> None:
    source = "def evaluate_stage1(p): ...\ndef evaluate_stage2(p): ...\n"
    loaded = load(tmp_path, "evaluator: {cascade_thresholds: [0.1, 0.2, 0.3]}", evaluator__py=source)
    assert loaded.problem.evaluator.stage_thresholds == ({"combined_score": 0.1}, {"combined_score": 0.2})


def test_another_configuration_is_taken_and_said(tmp_path: Path) -> None:
    root = project(tmp_path, None, config_phase_1__yaml="max_iterations: 3", config_phase_2__yaml="max_iterations: 4")
    loaded = load_problem(root)
    assert loaded.search["budget"]["evaluations"] == 4
    assert any("config_phase_1.yaml: is taken for the configuration" in warning for warning in loaded.warnings)


def test_problem_toml_wins_over_openevolves_files(tmp_path: Path) -> None:
    root = project(tmp_path, "max_iterations: 3", problem__toml="schema = 2")
    assert complaints(root)[0].startswith("problem.toml")


def test_known_keys_are_the_two_tables() -> None:
    assert HONOURED | set(NOT_HONOURED) == KNOWN


def test_modules_of_a_project_are_imported_once(tmp_path: Path) -> None:
    loaded = load_problem(project(tmp_path, "max_iterations: 1\nevaluator: {preload: [json, decimal, json]}\n"))
    assert loaded.problem.evaluator.preload == ("json", "decimal")
    assert loaded.warnings == ()


@pytest.mark.parametrize("wrong", ["numpy", "[1]", "{numpy: 1}"])
def test_modules_that_are_no_list_of_names_are_a_complaint(tmp_path: Path, wrong: str) -> None:
    with pytest.raises(InvalidProblemError) as caught:
        load_problem(project(tmp_path, f"evaluator: {{preload: {wrong}}}\n"))
    assert "config.yaml: evaluator.preload should be a list of names" in caught.value.complaints[0]
