"""Small problems in the layouts of other projects: scored in the sandbox, refused in a sentence, and imported."""

import json
from pathlib import Path

import pytest

from evolve.evaluation import Evaluation
from service.bootstrap.runs import check_folder
from service.config import DatabaseSettings, PoliciesSettings, Settings
from service.errors import InvalidProblemError
from service.problems.bundle import open_bundle, unpack
from service.problems.check import CheckReport
from service.problems.load import load_problem
from service.problems.project import Project
from tests.unit.problems.folders import write

Files = dict[str, str | bytes]

SHINKA = """
import argparse, json, os
parser = argparse.ArgumentParser()
parser.add_argument("--program_path")
parser.add_argument("--results_dir")
given = parser.parse_args()
space = {}
exec(open(given.program_path).read(), space)
metrics, correct = space["results"]()
for name, value in (("metrics.json", metrics), ("correct.json", correct)):
    if value is not None:
        with open(os.path.join(given.results_dir, name), "w") as file:
            file.write(value if isinstance(value, str) else json.dumps(value))
"""
CODEEVOLVE = """
import json, sys
space = {}
exec(open(sys.argv[1]).read(), space)
results = space["results"]()
if results is not None:
    with open(sys.argv[2], "w") as file:
        file.write(results if isinstance(results, str) else json.dumps(results))
"""
GIGAEVO = """
from helper import SCALE
def validate(context, output):
    return {"fitness": SCALE * output + context["offset"], "is_valid": output < 100, "secret": 7, "size": 3}
"""
METRICS = """
specs:
  fitness: {description: how far, is_primary: true, higher_is_better: false, lower_bound: 0, upper_bound: 9}
  is_valid: {description: whether it is valid, lower_bound: 0.0, upper_bound: 1.0}
  secret: {description: nobody's business, include_in_prompts: false}
"""


def returning(results: str) -> str:
    return f"def results():\n    return {results}\n"


def shinka(results: str) -> Files:
    return {"initial.py": returning(results), "evaluate.py": SHINKA}


def codeevolve(results: str, config: str = "EVOLVE_CONFIG: {fitness_key: gain}\n") -> Files:
    return {
        "input/src/init_program.py": returning(results),
        "input/evaluate.py": CODEEVOLVE,
        "configs/config.yaml": config,
    }


def gigaevo(output: str) -> Files:
    return {
        "initial_programs/a.py": f"from helper import SCALE\ndef entrypoint(context):\n    return {output}\n",
        "initial_programs/b.py": "def entrypoint(context):\n    return 2\n",
        "validate.py": GIGAEVO,
        "helper.py": "SCALE = 2\n",
        "context.py": "def build_context():\n    return {'offset': 1}\n",
        "metrics.yaml": METRICS,
        "task_description.txt": "Make it small.\n",
    }


async def checked(place: Path, files: Files) -> CheckReport:
    settings = Settings(
        database=DatabaseSettings(url=f"sqlite:///{place}/runs.db"),
        policies=PoliciesSettings(file=place / "policies.toml"),
    )
    return await check_folder(settings, write(place / "problem", files))


async def scored(place: Path, files: Files) -> Evaluation:
    return (await checked(place, files)).seeds[0].evaluation


async def test_shinkas_results_are_scores_feedback_and_artifacts(tmp_path: Path) -> None:
    metrics = {
        "combined_score": 0.5,
        "public": {"a": 1, "inner": {"b": 2.5}, "words": "told"},
        "private": {"secret": 42},
        "text_feedback": "larger is better",
    }
    found = await scored(tmp_path, shinka(f"{metrics!r}, {{'correct': True}}"))
    assert found.scores == {"combined_score": 0.5, "a": 1.0, "inner.b": 2.5}
    assert found.feedback.splitlines() == ["words: told", "larger is better"]


async def test_codeevolves_results_are_scores(tmp_path: Path) -> None:
    report = await checked(tmp_path, codeevolve("{'gain': 3.5, 'eval_time': 0.1, 'why': 'short'}"))
    found = report.seeds[0].evaluation
    assert (found.scores, found.feedback) == ({"gain": 3.5, "eval_time": 0.1}, "why: short")
    assert report.taken[0].startswith("form: a CodeEvolve problem (input/evaluate.py")
    assert report.taken[3] == "objectives: gain, maximised"


async def test_gigaevos_problem_has_context_helpers_seeds_and_hidden_metrics(tmp_path: Path) -> None:
    report = await checked(tmp_path, gigaevo("SCALE + 2"))
    assert [seed.fitness for seed in report.seeds] == [-9.0, -5.0]  # minimised
    found = report.seeds[0].evaluation
    assert "secret" not in found.scores
    assert "secret" not in found.feedback
    assert found.trace is not None
    assert "private: {'secret': 7}" in str(found.trace.printed)
    description = load_problem(tmp_path / "problem").problem.description
    assert description.startswith("Make it small.\n\nMetrics:\n- fitness: how far, from 0 to 9\n")
    assert "business" not in description


# The call that is validated and six warm-ups are slow; each call is the first of its module, with a new context.
TIMED = """
import time
calls = 0
def entrypoint(context):
    global calls
    calls += 1
    assert (calls, context) == (1, {"offset": 1})
    context["seen"] = True
    with open("calls.txt", "a+") as file:
        file.write(".")
    time.sleep(0.1 if len(open("calls.txt").read()) <= 7 else 0.02)
    return 2
"""


def timed(runtime: str) -> Files:
    specs = "specs: {fitness: {is_primary: true}, execution_time_sec: {include_in_prompts: false}}\n"
    return {
        "initial_programs/a.py": TIMED,
        "context.py": "def build_context():\n    return {'offset': 1}\n",
        "validate.py": "def validate(context, output):\n    return {'is_valid': output == 2}\n",
        "metrics.yaml": f"runtime_evaluation: {runtime}\n{specs}",
    }


async def test_gigaevos_time_is_the_median_over_runs_of_a_new_program(tmp_path: Path) -> None:
    found = await scored(tmp_path, timed("{warmup_repetitions: 6, timing_repetitions: 5}"))
    assert found.ok, found.reason
    assert (found.scores["timing_repetitions"], found.scores["warmup_repetitions"]) == (5, 6)
    assert 10 < found.scores["fitness"] < 50
    assert "execution_time_sec" not in found.scores
    assert found.trace is not None
    assert "private: {'execution_time_sec': 0.0" in str(found.trace.printed)


async def test_a_program_of_gigaevo_that_is_not_valid_is_not_timed(tmp_path: Path) -> None:
    files = timed("{timing_repetitions: 5}") | {"validate.py": "def validate(*given):\n    return {'is_valid': 0}\n"}
    assert "the program is not valid" in (await scored(tmp_path, files)).reason


TOO_LARGE = "'[' + ' ' * (17 * 2**20) + ']'"


@pytest.mark.parametrize(
    ("files", "reason"),
    [
        (shinka("None, None"), "evaluate.py writes no metrics.json: write it into the folder of --results_dir"),
        (shinka("'{', {'correct': True}"), "evaluate.py wrote a metrics.json that is not JSON"),
        (shinka("[1], {'correct': True}"), "evaluate.py wrote a metrics.json that is not a JSON object"),
        (shinka(f"{TOO_LARGE}, {{'correct': True}}"), "evaluate.py wrote a metrics.json of 17 MB, and at most 16 MB"),
        (shinka("{'combined_score': 1}, {'correct': False, 'error': 'too long'}"), "the evaluator says: too long"),
        (shinka("'{\"combined_score\": NaN}', {'correct': True}"), "the score combined_score is nan, not a finite"),
        (codeevolve("None"), "evaluate.py writes no results: write them as JSON into the file of its second argument"),
        (codeevolve("'{'"), "evaluate.py wrote results that are not JSON"),
        (codeevolve("[1]"), "evaluate.py wrote results that are not a JSON object"),
        (codeevolve(TOO_LARGE), "evaluate.py wrote results of 17 MB, and at most 16 MB are read"),
        (codeevolve("{'loss': 1}"), "the evaluator returned no number for the objective gain: it is missing"),
        (codeevolve("{'gain': float('inf')}"), "the score gain is inf, not a finite number"),
        (
            {**gigaevo("1"), "validate.py": "def validate(*given):\n    pass\n"},
            "validate.py returned NoneType, not a dict",
        ),
        (
            {**gigaevo("1"), "validate.py": "def validate(*given):\n    return {'fitness': float('nan')}\n"},
            "the evaluator returned no number for the objective fitness: it is the number nan",
        ),
        (gigaevo("100"), "validate.py says that the program is not valid"),
    ],
)
async def test_a_result_that_cannot_be_read_is_one_sentence(tmp_path: Path, files: Files, reason: str) -> None:
    assert reason in (await scored(tmp_path, files)).reason


async def test_an_error_beside_a_score_of_0_is_an_evaluation(tmp_path: Path) -> None:
    report = await checked(tmp_path, codeevolve("{'gain': 0.0, 'error': 'no convergence'}"))
    assert report.ok
    assert report.seeds[0].fitness == 0.0
    assert report.errors == ("no convergence",)


TWO_FORMS: Files = {
    **shinka("1"),
    "initial_program.py": "x = 1\n",
    "evaluator.py": "def evaluate(program_path):\n    return 1\n",
}
BAD: list[tuple[Files, str]] = [
    ({"metrics.yaml": METRICS, "validate.py": GIGAEVO}, "initial_programs/*.py is missing: put a first program"),
    ({**gigaevo("1"), "metrics.yaml": "specs: [1]\n"}, "metrics.yaml: specs should be a table of metrics"),
    ({**gigaevo("1"), "metrics.yaml": "specs: {a: {}}\n"}, "metrics.yaml: one metric should have is_primary: true"),
    ({**gigaevo("1"), "metrics.yaml": "specs: {a: [\n"}, "metrics.yaml"),
    (timed("{timing_repetitions: 0}"), "runtime_evaluation.timing_repetitions should be a whole number of at least 1"),
    (timed("{warmup_repetitions: few}"), "runtime_evaluation.warmup_repetitions should be a whole number of at least"),
    (timed("[5]"), "metrics.yaml: runtime_evaluation.timing_repetitions should be a whole number of at least 1"),
    (codeevolve("1", "EVOLVE_CONFIG: {}\n"), "configs/config.yaml: EVOLVE_CONFIG.fitness_key should name the score"),
    (codeevolve("1", "EVAL_FILE_NAME: other.py\n"), "input/other.py is missing: configs/config.yaml names it"),
    ({"input/src/init_program.py": "", "input/evaluate.py": ""}, "configs/*.yaml is missing: a CodeEvolve problem"),
    ({"input/src/init_program.py": "", "configs/a.yaml": "a: 1"}, "input/evaluate.py is missing: configs/a.yaml"),
    (
        {"initial_program.py": "x = 1\n", "evaluator/Dockerfile": "FROM a\n", "evaluator/evaluate.sh": "exit 1\n"},
        "evaluator/Dockerfile: the evaluator is a container, which Evolve does not start: write evaluator/evaluator.py",
    ),
    (
        TWO_FORMS,
        "choose one with --format openevolve or --format shinka",
    ),
]


@pytest.mark.parametrize(("files", "sentence"), BAD)
def test_half_a_form_is_one_sentence_with_the_cure(tmp_path: Path, files: Files, sentence: str) -> None:
    with pytest.raises(InvalidProblemError) as caught:
        load_problem(write(tmp_path, files))
    (complaint,) = caught.value.complaints
    assert sentence in complaint


def test_a_named_format_decides_between_two(tmp_path: Path) -> None:
    folder = write(tmp_path, TWO_FORMS)
    assert load_problem(Project(folder=folder, form="shinka")).form.startswith("a ShinkaEvolve task")
    assert load_problem(Project(folder=folder, form="openevolve")).form.startswith("an OpenEvolve project")
    with pytest.raises(InvalidProblemError, match="the problem format 'klingon' is not known: name one of native, op"):
        load_problem(Project(folder=folder, form="klingon"))


def test_skydiscovers_fitness_key_is_the_objective(tmp_path: Path) -> None:
    config = "max_iterations: 3\nsearch: {database: {fitness_key: latency, higher_is_better: {latency: false}}}\n"
    evaluator = "def evaluate(program_path):\n    return {'latency': 1}\n"
    files: Files = {"initial_program.py": "x = 1\n", "evaluator.py": evaluator, "config.yaml": config}
    (objective,) = load_problem(write(tmp_path, files)).problem.objectives
    assert (objective.name, str(objective.direction)) == ("latency", "minimize")


@pytest.mark.parametrize("files", [shinka("{'combined_score': 2}, {'correct': True}"), gigaevo("3")], ids=["s", "g"])
async def test_an_imported_folder_is_the_same_problem(tmp_path: Path, files: Files) -> None:
    folder = write(tmp_path / "theirs", files)
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    loaded = load_problem(folder)
    unpack(loaded.bundle, tmp_path / "ours")
    again = load_problem(tmp_path / "ours")
    assert (again.problem, again.search, again.bundle.hash) == (loaded.problem, loaded.search, loaded.bundle.hash)
    assert again.form == "a problem of Evolve (problem.toml)"
    assert before == {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_codeevolves_settings_are_taken(tmp_path: Path) -> None:
    config = {
        "SYS_MSG": "Pack them.\n  # PROMPT-BLOCK-START\nTry hard.\n# PROMPT-BLOCK-END\n",
        "EVAL_TIMEOUT": 10000,
        "MAX_MEM_BYTES": 2**30,
        "EVOLVE_CONFIG": {"fitness_key": "gain", "num_epochs": 20, "num_islands": 5, "early_stopping_rounds": 9},
        "ENSEMBLE": [{"model_name": "m"}],
    }
    files = {**codeevolve("{'gain': 1}", json.dumps(config)), "configs/other.yaml": "a: 1\n"}
    loaded = load_problem(write(tmp_path, files))
    assert (loaded.problem.limits.wall_seconds, loaded.problem.limits.memory_mb) == (10000, 1024)
    assert loaded.search == {
        "budget": {"evaluations": 101, "patience": 45},  # a program of each island in an epoch, and the seed
        "islands": 5,
        "prompt": {"system": "Pack them.\nTry hard."},
    }
    assert len(loaded.warnings) == 2


def test_settings_of_codeevolve_that_are_not_honoured_are_named_in_one_warning(tmp_path: Path) -> None:
    evolution = {"fitness_key": "gain", "max_size": 40, "migration_interval": 30, "migration_rate": 0.2, "ckpt": 5}
    config = {"EVOLVE_CONFIG": {**evolution, "meta_prompting": True}, "SAMPLER_AUX_LM": {"model_name": "m"}}
    loaded = load_problem(write(tmp_path, codeevolve("{'gain': 1}", json.dumps(config))))
    assert loaded.search == {"migration_interval": 30, "migration_rate": 0.2}
    assert loaded.warnings == (
        "configs/config.yaml: max_size, meta_prompting, SAMPLER_AUX_LM are not honoured: the run configuration shapes"
        " the search (--config FILE, --set islands=2)",
    )


@pytest.mark.parametrize("files", [shinka("1"), codeevolve("1"), gigaevo("1")], ids=["shinka", "codeevolve", "gigaevo"])
def test_a_key_in_a_configuration_is_not_stored(tmp_path: Path, files: Files) -> None:
    loaded = load_problem(write(tmp_path, {**files, "models.yaml": "models: [{name: m, api_key: sk-0123456789abc}]\n"}))
    stored = open_bundle(loaded.bundle).files
    assert b"api_key" in stored["models.yaml"]
    assert not [path for path, content in stored.items() if b"sk-0123456789abc" in content]


async def test_checkpoints_beside_a_codeevolve_problem_are_neither_read_nor_counted(tmp_path: Path) -> None:
    folder = write(tmp_path / "problem", codeevolve("{'gain': 2.0}"))
    place = folder / "experiments" / "run" / "0" / "ckpt"
    place.mkdir(parents=True)
    for number in range(3):
        with (place / f"ckpt_{number}.pkl").open("wb") as file:
            file.truncate(40 << 20)
    for number in range(6000):
        (folder / "experiments" / f"{number}.log").touch()
    report = await checked(tmp_path, {})
    assert not report.complaints
    assert report.seeds[0].evaluation.scores == {"gain": 2.0}
    loaded = load_problem(folder)
    assert not [path for path in open_bundle(loaded.bundle).files if path.startswith("experiments")]
