"""A fork is the same problem with one program to start from, and can be forked again."""

import tomllib
from dataclasses import replace

from evolve.program import Program
from service.ports import Upload
from service.problems.bundle import open_bundle
from service.problems.forked_problem import fork_problem
from service.problems.load import LoadedProblem, load_bundle
from service.problems.upload import load_upload
from tests.unit.problems.folders import EVALUATE, NATIVE, SCORE, SEED

ODD = '''\
schema = 1
name = "odd"
description = """Say "hi" \\u007f \\U0001F600 \\t to
everybody # not a comment"""
seeds = ["a.py", "b.py"]
known_best = 1e-7
[evaluator]
entry = "solve"
stage_thresholds = [{ gain = 0.5, "a.b c" = -1e30 }]
preload = []
[limits]
memory_mb = 12345678901
wall_seconds = 1_0.25
[[objectives]]
name = "gain"
low = 0.0
high = 10.0
[[objectives]]
name = "naïve"
direction = "minimize"
low = -1.0
high = 1e16
[search]
"budget.evaluations" = 7
selection = { tournament = 1.0 }
budget = { target = 3.0 }
prompt.system = "x\\\\y"
'''
BETTER = Program.of({"seed.py": "def solve():\n    return 'é'\n"})


def loaded(document: str, **files: str) -> LoadedProblem:
    named = {name.replace("__", "/").replace("_py", ".py"): text.encode() for name, text in files.items()}
    staged = f"{SCORE}def score_stage1(outputs, program):\n    return {{}}\n"
    named |= {"problem.toml": document.encode(), "evaluator.py": staged.encode()}
    return load_upload(Upload(name="", files=named))


def test_the_program_is_the_only_seed_and_the_rest_stays() -> None:
    original = loaded(NATIVE, seed_py=SEED, data__x_py="1")
    fork = fork_problem(original.bundle, "p", BETTER)
    again = load_bundle(fork.bundle, "p")
    assert again.problem == fork.problem
    assert replace(again.problem, seeds=original.problem.seeds, bundle=original.problem.bundle) == original.problem
    assert again.problem.seeds == (BETTER,)
    before, after = open_bundle(original.bundle).files, open_bundle(fork.bundle).files
    assert {name: text for name, text in after.items() if name in before and name != "problem.toml"} == {
        name: text for name, text in before.items() if name != "problem.toml"
    }


def test_whatever_a_document_says_survives_the_fork() -> None:
    original = loaded(ODD, a_py=SEED, b_py=SEED + "\n")
    seed = Program.of({"b.py": "def solve():\n    return 2\n"})
    fork = fork_problem(original.bundle, "odd", seed)
    read = tomllib.loads(open_bundle(fork.bundle).files["problem.toml"].decode())
    assert read == {**tomllib.loads(ODD), "seeds": read["seeds"]}
    assert fork.problem.seeds == (seed,)
    assert fork.search == original.search


def test_a_fork_can_be_forked() -> None:
    original = loaded(NATIVE, seed_py=SEED)
    once = fork_problem(original.bundle, "p", BETTER)
    first = Program.of({"seed.py": SEED})
    assert fork_problem(once.bundle, "p", first).problem.seeds == (first,)
    assert fork_problem(once.bundle, "p", BETTER).bundle == once.bundle


def test_a_program_of_several_files_is_a_folder() -> None:
    document = NATIVE.replace('"seed.py"', '"prog"')
    original = loaded(document, prog__main_py=SEED, prog__lib__x_py="a = 1")
    changed = Program.of({"main.py": SEED, "lib/x.py": "a = 2"})
    fork = fork_problem(original.bundle, "p", changed)
    assert fork.problem.seeds == (changed,)
    assert fork.problem.main == "main.py"
    fewer = Program.of({"lib/x.py": "a = 2"})
    assert fork_problem(original.bundle, "p", fewer).problem.seeds == (fewer,)


def test_a_project_is_forked_in_place() -> None:
    files = {"initial_program.py": SEED.encode(), "evaluator.py": EVALUATE.encode()}
    original = load_upload(Upload(name="sorter", files=files))
    seed = Program.of({"initial_program.py": "def solve():\n    return 3\n"})
    fork = fork_problem(original.bundle, "sorter", seed)
    assert fork.problem.seeds == (seed,)
    assert fork.problem.name == "sorter"


def test_a_program_of_another_file_is_a_seed_too() -> None:
    files = {"initial_program.py": SEED.encode(), "evaluator.py": EVALUATE.encode()}
    original = load_upload(Upload(name="sorter", files=files))
    seed = Program.of({"elsewhere.py": "x = 1\n"})
    assert fork_problem(original.bundle, "sorter", seed).problem.seeds == (seed,)
