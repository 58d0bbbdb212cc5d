import time
from pathlib import Path

import pytest

from evolve.problem import Direction, EvaluatorSpec, Integrity, Limits, Measure, Objective
from service.errors import InvalidProblemError
from service.problems.bundle import unpack
from service.problems.load import load_problem
from tests.unit.problems.folders import NATIVE, native, write

FULL = """\
schema = 1
name = "full"
description = "All keys."
language = "julia"
seeds = ["a.py", "b.py"]
known_best = 2.5
known_best_source = "a paper"
[evaluator]
file = "scoring/score.py"
integrity = "separate"
entry = "go"
python = "/usr/bin/python3"
requirements = ["numpy>=2"]
preload = ["numpy"]
repeats = 3
min_repeats = 2
repeats_confidence = 0.9
stage_thresholds = [{ gain = 0.5 }]
holdout = true
audit = 4
audit_tolerance = 0.05
[limits]
wall_seconds = 1
cpu_seconds = 2.5
memory_mb = 3
processes = 4
disk_mb = 5
output_kb = 6
network = true
gpu = true
[[objectives]]
name = "gain"
low = 0
high = 3.0
weight = 2.0
target = 2.9
reference = 0.5
[[objectives]]
name = "cost"
direction = "minimize"
low = 1.0
high = 5.0
[[measures]]
name = "complexity"
bins = 7
low = 0.0
high = 100.0
[search]
islands = 3
evaluations = 50
budget = { patience = 9 }
"""
SCORER = "def score_stage1(o, p): ...\ndef score(o, p): ...\ndef holdout(o, p): ...\n"


def complaints(root: Path) -> tuple[str, ...]:
    with pytest.raises(InvalidProblemError) as caught:
        load_problem(root)
    return caught.value.complaints


def test_every_key_reaches_the_problem(tmp_path: Path) -> None:
    loaded = load_problem(write(tmp_path, {"problem.toml": FULL, "a.py": "1", "b.py": "2", "scoring/score.py": SCORER}))
    problem = loaded.problem
    assert (problem.name, problem.description, problem.language) == ("full", "All keys.", "julia")
    assert [seed.files for seed in problem.seeds] == [(("a.py", "1"),), (("b.py", "2"),)]
    assert (problem.known_best, problem.known_best_source) == (2.5, "a paper")
    assert problem.evaluator == EvaluatorSpec(
        file="scoring/score.py",
        integrity=Integrity.SEPARATE,
        entry="go",
        python="/usr/bin/python3",
        requirements=("numpy>=2",),
        preload=("numpy",),
        repeats=3,
        min_repeats=2,
        repeats_confidence=0.9,
        stage_thresholds=({"gain": 0.5},),
        holdout=True,
        audit=4,
        audit_tolerance=0.05,
    )
    assert problem.limits == Limits(
        wall_seconds=1, cpu_seconds=2.5, memory_mb=3, processes=4, disk_mb=5, output_kb=6, network=True, gpu=True
    )
    assert problem.objectives == (
        Objective(name="gain", low=0, high=3, weight=2, target=2.9, reference=0.5),
        Objective(name="cost", direction=Direction.MINIMIZE, low=1, high=5),
    )
    assert problem.measures == (Measure(name="complexity", bins=7, low=0, high=100),)
    assert loaded.search == {"islands": 3, "evaluations": 50, "budget": {"patience": 9}}
    assert loaded.policies == ()
    assert loaded.warnings == ()
    assert problem.bundle == loaded.bundle.hash
    assert loaded.place == str(tmp_path.resolve())


def test_defaults_are_those_of_the_values(tmp_path: Path) -> None:
    problem = load_problem(native(tmp_path)).problem
    assert problem.language == "python"
    assert problem.limits == Limits()
    assert problem.evaluator == EvaluatorSpec(entry="solve")


def test_unpacked_bundle_loads_to_the_same_problem(tmp_path: Path) -> None:
    loaded = load_problem(native(tmp_path / "p"))
    unpack(loaded.bundle, tmp_path / "q")
    assert load_problem(tmp_path / "q").problem == loaded.problem


def test_equal_seeds_count_once(tmp_path: Path) -> None:
    document = NATIVE.replace('["seed.py"]', '["seed.py", "copy/seed.py"]')
    loaded = load_problem(write(native(tmp_path, document), {"copy/seed.py": (tmp_path / "seed.py").read_bytes()}))
    assert len(loaded.problem.seeds) == 1
    assert loaded.warnings == ("problem.toml: equal seeds count once",)


def test_folder_is_a_program_of_several_files(tmp_path: Path) -> None:
    document = NATIVE.replace('["seed.py"]', '["prog/"]')
    loaded = load_problem(native(tmp_path, document, **{"prog/main__py": "a", "prog/sub/b__py": "b"}))
    assert loaded.problem.seeds[0].files == (("main.py", "a"), ("sub/b.py", "b"))
    assert loaded.problem.main == "main.py"


def test_program_of_several_files_names_the_one_that_is_called(tmp_path: Path) -> None:
    document = NATIVE.replace('["seed.py"]', '["prog"]')
    root = native(tmp_path, document, **{"prog/a__py": "a", "prog/b__py": "b"})
    assert "main = 'main.py' is not a file of the seed that holds a.py, b.py" in complaints(root)[0]
    native(tmp_path, document.replace("[evaluator]", 'main = "b.py"\n[evaluator]'))
    assert load_problem(root).problem.main == "b.py"


def test_shared_evaluator_of_several_files_is_handed_the_folder(tmp_path: Path) -> None:
    document = NATIVE.replace('["seed.py"]', '["prog"]').replace('entry = "solve"', 'integrity = "shared"')
    root = native(tmp_path, document, evaluator__py="def evaluate(p): ...", **{"prog/a__py": "a", "prog/b__py": "b"})
    assert load_problem(root).problem.main == ""


@pytest.mark.parametrize(
    ("seed", "language"), [("s.rs", "rust"), ("s.cpp", "cpp"), ("s.unknown", "text"), ("s", "text"), ("s.PY", "python")]
)
def test_language_comes_from_the_suffix(tmp_path: Path, seed: str, language: str) -> None:
    root = write(native(tmp_path, NATIVE.replace("seed.py", seed)), {seed: "x"})
    assert load_problem(root).problem.language == language


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("schema = 1", "schema = 2", "problem.toml: schema is 2, and this version reads schema = 1"),
        ("schema = 1", "", "problem.toml: schema is missing: add schema = 1"),
        ('name = "p"', "", "problem.toml: name is missing"),
        ('name = "p"', 'name = ""', "problem.toml: name should"),
        ('name = "p"', "name = 3", "problem.toml: name should be a valid string, not 3"),
        ('name = "p"', 'nmae = "p"', "unknown key 'nmae': did you mean 'name'?"),
        ('entry = "solve"', 'entrance = "solve"', "unknown key 'evaluator.entrance'"),
        ('entry = "solve"', 'entry = "solve"\nrepeat = 2', "'evaluator.repeat': did you mean 'evaluator.repeats'?"),
        ('entry = "solve"', "", "problem.toml: evaluator: name the program's entry function (entry)"),
        ('entry = "solve"', 'entry = "a"\ncommand = ["b"]', "evaluator: name the program's entry function"),
        ('entry = "solve"', 'entry = "solve"\nrepeats = 0', "repeats must be at least 1"),
        ('entry = "solve"', 'entry = "solve"\nintegrity = "none"', "integrity should be 'separate' or 'shared'"),
        ('entry = "solve"', 'entry = "solve"\npreload = "numpy"', "evaluator.preload should be a valid list"),
        ("schema = 1", "schema = 1\nwall_seconds = 3", "'wall_seconds': did you mean 'limits.wall_seconds'?"),
        ("low = 0.0", "low = nan", "objectives[1].low should be a finite number, not nan"),
        ("low = 0.0", "low = -inf", "objectives[1].low should be a finite number"),
        ("low = 0.0", "low = true", "objectives[1].low should be a valid number, not True"),
        ("low = 0.0", "low = '0'", "objectives[1].low should be a valid number, not '0'"),
        ("low = 0.0", "low = 10.0", "objective gain: low must be below high"),
        ("low = 0.0", "", "objective gain: give both low and high"),
        ("low = 0.0", "low = 0.0\ngoal = 3", "unknown key 'objectives[1].goal'"),
        ("low = 0.0", "low = 0.0\ntarge = 3", "did you mean 'objectives[1].target'?"),
        ("[[objectives]]", '[[objectives]]\nname = "x"\n[[objectives]]', "objective x needs low and high"),
        ("[[objectives]]", '[[objectives]]\nname = "gain"\n[[objectives]]', "two objectives are called gain"),
        ("[[objectives]]", "[[measures]]\nbins = 3\n[[objectives]]", "measures[1].name is missing"),
        ("[[objectives]]", '[[measures]]\nname = "m"\nbins = 0\n[[objectives]]', "measure m: bins must be at least 1"),
        ("[[objectives]]", "[limits]\nmemory_mb = 0\n[[objectives]]", "memory_mb must be a finite number above 0"),
        ("[[objectives]]", "[limits]\nmemory = 1\n[[objectives]]", "did you mean 'limits.memory_mb'?"),
        ("[[objectives]]", "[search]\nilands = 3\n[[objectives]]", "[search] of problem.toml: unknown key 'ilands'"),
        ("[[objectives]]", "[search]\nislands = -1\n[[objectives]]", "islands must be at least 0"),
        ("[[objectives]]", "search = 3\n[[objectives]]", "unknown key 'evaluator.search'"),
        ('["seed.py"]', "[]", "problem.toml: seeds should"),
        ('["seed.py"]', '["absent.py"]', "the seed 'absent.py' is neither a file nor a folder"),
        ('["seed.py"]', '["../seed.py"]', "the seed '../seed.py' is neither a file nor a folder"),
        ('["seed.py"]', '["/etc/passwd"]', "the seed '/etc/passwd' is neither a file nor a folder"),
        ('["seed.py"]', '["."]', "the seed '.' is neither a file nor a folder"),
        ('["seed.py"]', '[""]', "the seed '' is neither a file nor a folder"),
        ("schema = 1", "schema = = 1", "problem.toml is broken"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_the_document_is_said(tmp_path: Path, old: str, new: str, said: str) -> None:
    assert old in NATIVE
    found = complaints(native(tmp_path, NATIVE.replace(old, new, 1)))
    assert any(said in sentence for sentence in found), found
    assert all("\n" not in sentence for sentence in found)


@pytest.mark.parametrize(
    ("evaluator", "more", "said"),
    [
        ("def score(:\n", "", "the evaluator 'evaluator.py' is not valid Python (line 1)"),
        ("x = 1\n", "", "defines no score(): write score(outputs, program)"),
        (b"\xff", "", "the evaluator 'evaluator.py' is not UTF-8 text"),
        ("x = [1, 2]\n" * 50_000, "", "the evaluator 'evaluator.py' is larger than 256 KB"),
        ("def score(o, p): ...\n" + "(" * 5000, "", "is not valid Python"),
        ("def score(o, p): ...\0", "", "is not valid Python"),
        ("def score(o, p): ...", "holdout = true", "defines no holdout()"),
        ("def score(o, p): ...", "stage_thresholds = [{ gain = 1 }]", "names 1 stages, and evaluator.py defines 0"),
        ("def score(o, p): ...", "repeats = 4\nmin_repeats = 5", "min_repeats must lie between 2 and repeats = 4"),
        ("def score(o, p): ...", "repeats_confidence = 0.9", "repeats are spared: add evaluator.min_repeats"),
        ("def score(o, p): ...", "audit_tolerance = 0.1", "limits the difference of scores: add evaluator.audit"),
        ("def score(o, p): ...", "audit = -1", "evaluator: audit must lie between 0 and 1000"),
        ("def score(o, p): ...", 'file = "other.py"', "the evaluator 'other.py' is missing"),
        ("def score(o, p): ...", 'integrity = "shared"', "defines no evaluate(): write evaluate(program_path)"),
    ],
)
def test_what_is_wrong_with_the_evaluator_is_said(tmp_path: Path, evaluator: str | bytes, more: str, said: str) -> None:
    document = NATIVE.replace('entry = "solve"', f'entry = "solve"\n{more}')
    assert said in complaints(native(tmp_path, document, evaluator__py=evaluator))[0]


@pytest.mark.parametrize(
    "source",
    [
        "from scoring import score", "from scoring import *", "import scoring as score", "score = lambda o, p: {}",
        "try:\n    from a import score\nexcept ImportError:\n    def score(o, p): ...",
        "if True:\n    def score(o, p): ...", "async def score(o, p): ...",
    ],
)  # fmt: skip
def test_evaluator_may_get_its_function_from_anywhere(tmp_path: Path, source: str) -> None:
    assert load_problem(native(tmp_path, evaluator__py=source)).problem.name == "p"


@pytest.mark.parametrize(
    ("seed", "said"),
    [
        (b"ok\n\xff", r"seed.py is not UTF-8 text (line 2)"),
        (b"a\0b", "seed.py holds a NUL character"),
        (b"x" * 1_000_001, "more than 1000000 characters"),
    ],
)
def test_seed_that_is_no_text_is_refused(tmp_path: Path, seed: bytes, said: str) -> None:
    assert said in complaints(native(tmp_path, seed__py=seed))[0]


def test_evaluator_for_another_interpreter_may_have_another_syntax(tmp_path: Path) -> None:
    document = NATIVE.replace('entry = "solve"', 'entry = "solve"\npython = "python9"')
    assert load_problem(native(tmp_path, document, evaluator__py="syntax of the future")).problem.evaluator.python


def test_unreadable_document_is_named(tmp_path: Path) -> None:
    root = native(tmp_path / "p")
    (root / "problem.toml").unlink()
    (root / "evaluator.py").unlink()
    (root / "problem.toml").symlink_to("nowhere")
    assert complaints(root) == ("problem.toml is a broken link: remove it, or put the file in its place",)


def test_all_complaints_come_at_once(tmp_path: Path) -> None:
    document = NATIVE.replace("seed.py", "absent.py").replace("high = 10.0", "high = -1.0") + "[search]\nseeed = 1\n"
    root = native(tmp_path, document, evaluator__py="x = 1")
    (root / "broken").symlink_to("nowhere")
    assert len(complaints(root)) == 5


def test_all_complaints_of_the_document_come_at_once(tmp_path: Path) -> None:
    document = NATIVE.replace("schema = 1", "shema = 1").replace("low = 0.0", "low = 'x'")
    assert len(complaints(native(tmp_path, document))) == 3


@pytest.mark.parametrize("name", ["absent", "file", "empty"])
def test_folder_without_a_problem_says_how_to_begin_one(tmp_path: Path, name: str) -> None:
    write(tmp_path, {"file": ""})
    (tmp_path / "empty").mkdir()
    found = complaints(tmp_path / name)
    assert len(found) == 1
    assert name in found[0]


def test_an_evaluator_of_very_many_stages_is_counted_in_one_reading(tmp_path: Path) -> None:
    source = "def score(o, p): ...\n" + "".join(f"score_stage{n} = score\n" for n in range(1, 9000))
    began = time.process_time()
    load_problem(native(tmp_path, evaluator__py=source))
    assert time.process_time() - began < 5


@pytest.mark.parametrize("file", ["cases.py", "cases/__init__.py"])
@pytest.mark.parametrize("preload", ["cases", "cases.large"])
def test_a_module_of_the_problem_is_not_preloaded_and_the_sentence_says_what_is_instead(
    tmp_path: Path, file: str, preload: str
) -> None:
    document = NATIVE.replace('entry = "solve"', f'entry = "solve"\npreload = ["numpy", "{preload}"]')
    with pytest.raises(InvalidProblemError) as caught:
        load_problem(write(native(tmp_path, document), {file: "DATA = 1", "numpy.py": "never loaded"}))
    (complaint,) = caught.value.complaints
    assert complaint.startswith("problem.toml: evaluator.preload: cases is a module of the problem")
    assert complaint.endswith("map large data with numpy.load(PATH, mmap_mode='r'), which evaluations share")
