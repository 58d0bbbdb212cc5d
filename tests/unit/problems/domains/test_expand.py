"""A table `[domain]` becomes an ordinary problem, which is read back without it."""

import json
from pathlib import Path

import numpy as np
import pytest

from evolve.domains import MazeDomain
from evolve.domains.maze import Maze, best, brief, front, maze_of, read
from evolve.domains.questions import question_from_json
from evolve.evaluation import Evaluation, Outcome, fitness
from evolve.problem import Problem
from service.errors import InvalidProblemError
from service.ports import Upload
from service.problems.bundle import open_bundle
from service.problems.forked_problem import fork_problem
from service.problems.load import LoadedProblem, load_bundle, load_problem
from service.problems.upload import load_upload
from tests.unit.problems.domains.samples import CALLING, GOLD, HARD, MUSIQUE, ROWS, files_of, problem_toml
from tests.unit.problems.folders import write

NAMES = ("maze", *ROWS)
OBJECTIVES = {
    "maze": ["completion", "gold", "diamond", "avoid_lava"],
    "musique": ["hop_1", "hop_2", "hop_3", "hop_4", "answer_f1"],
    "eureqa": ["entity_A", "entity_B", "entity_C", "entity_D", "entity_E"],
    "toolrl": ["format", "tool_name", "arg_key", "arg_value"],
    "livecodebench": ["test_1", "test_2", "test_3"],
}
FIXED = 'kind = "hard"\nsplit = "questions"\nnumber = 0'


def load(tmp_path: Path, name: str, **files: str) -> LoadedProblem:
    more: dict[str, str | bytes] = {path.replace("__", "."): text for path, text in files.items()}
    return load_problem(write(tmp_path, files_of(name) | more))


def complaints(tmp_path: Path, toml: str, **files: str) -> tuple[str, ...]:
    named: dict[str, str | bytes] = {path.replace("__", "."): text for path, text in files.items()}
    with pytest.raises(InvalidProblemError) as caught:
        load_problem(write(tmp_path, {"problem.toml": toml, **named}))
    return caught.value.complaints


@pytest.mark.parametrize("name", NAMES)
def test_the_domain_gives_all_that_the_problem_leaves_out(tmp_path: Path, name: str) -> None:
    problem = load(tmp_path, name).problem
    assert list(problem.objective_names) == OBJECTIVES[name]
    assert {(objective.low, objective.high) for objective in problem.objectives} == {(0.0, 1.0)}
    assert problem.language == ("python" if name == "livecodebench" else "text")
    assert problem.evaluator.text == (name != "livecodebench")
    assert problem.name == f"{name}-{'maze' if name == 'maze' else 'question'}"
    assert len(problem.seeds) == 1


@pytest.mark.parametrize("name", ROWS)
def test_no_policy_is_shown_what_is_wanted(tmp_path: Path, name: str) -> None:
    loaded = load(tmp_path, name)
    shown = loaded.problem.description + loaded.problem.seeds[0].text
    assert [gold for gold in GOLD[name] if gold in shown] == []
    kept = open_bundle(loaded.bundle).files["question.json"].decode()
    assert all(gold in kept for gold in GOLD[name])


@pytest.mark.parametrize("name", NAMES)
def test_what_is_stored_is_read_back_as_the_same_problem_and_stays_it(tmp_path: Path, name: str) -> None:
    loaded = load(tmp_path, name)
    again = load_bundle(loaded.bundle, "other")
    assert (again.problem, again.bundle) == (loaded.problem, loaded.bundle)
    files = open_bundle(loaded.bundle).files
    assert b"[domain]" not in files["problem.toml"].partition(b"\n")[2]
    sent = {path: text.encode() if isinstance(text, str) else text for path, text in files_of(name).items()}
    assert load_upload(Upload(name="", files=sent)).bundle == loaded.bundle


@pytest.mark.parametrize("name", NAMES)
def test_a_fork_starts_from_another_answer(tmp_path: Path, name: str) -> None:
    loaded = load(tmp_path, name)
    (path, _), *_ = loaded.problem.seeds[0].files
    seed = loaded.problem.seeds[0].replace({path: "print(1)\n"})
    assert fork_problem(loaded.bundle, "other", seed).problem.seeds == (seed,)


def test_a_fixed_maze_is_told_in_full_with_its_exact_optimum(tmp_path: Path) -> None:
    maze = maze_of("hard", "questions", 0)
    problem = load_problem(write(tmp_path, {"problem.toml": problem_toml("maze", FIXED)})).problem
    assert problem.name == "maze-hard-questions-0"
    assert f"\nIn short: {brief(maze)}\n" in problem.description
    assert read(problem.description) == maze
    assert problem.known_best == pytest.approx(max(row.mean() for row in front(maze)))
    assert problem.known_best_source == "exact search"
    assert fitness_of(problem, best(maze, np.full(4, 0.25)).moves) == pytest.approx(problem.known_best)


def fitness_of(problem: Problem, moves: str) -> float | None:
    vector = MazeDomain().reward(read(problem.description), moves)
    scores = dict(zip(problem.objective_names, vector.tolist(), strict=True))
    return fitness(problem, Evaluation(outcome=Outcome.OK, scores=scores))


def test_a_maze_of_a_file_is_the_same_as_the_fixed_one(tmp_path: Path) -> None:
    fixed = load_problem(write(tmp_path / "a", {"problem.toml": problem_toml("maze", FIXED)})).problem
    drawn = load_problem(write(tmp_path / "b", {"problem.toml": problem_toml("maze"), "maze.txt": HARD})).problem
    assert (drawn.description, drawn.known_best, drawn.seeds) == (fixed.description, fixed.known_best, fixed.seeds)


@pytest.mark.parametrize("number", range(5))
def test_the_first_walk_is_a_shortest_one_in_letters(tmp_path: Path, number: int) -> None:
    table = f'kind = "small"\nsplit = "validation"\nnumber = {number}'
    maze = maze_of("small", "validation", number)
    seed = load_problem(write(tmp_path, {"problem.toml": problem_toml("maze", table)})).problem.seeds[0].text.strip()
    assert set(seed) <= set("UDLR")
    assert MazeDomain().reward(maze, seed)[0] == 1.0
    assert len(seed) == distance(maze)


def distance(maze: Maze) -> int:
    reached, count = {maze.start}, 0
    while maze.goal not in reached:
        reached |= {to for cell in reached for to in maze.steps[cell]}
        count += 1
    return count


def test_a_maze_too_large_for_exact_search_has_no_known_best(tmp_path: Path) -> None:
    rows = [["."] * 32 for _ in range(32)]
    rows[0][0], rows[31][31] = "S", "E"
    for column in range(16):
        rows[5][column] = "G"
    drawn = "maze 32x32, at most 1000 moves, open rules\n" + "\n".join(" ".join(row) for row in rows)
    problem = load_problem(write(tmp_path, {"problem.toml": problem_toml("maze"), "maze.txt": drawn})).problem
    assert problem.known_best is None


def test_what_the_user_writes_wins(tmp_path: Path) -> None:
    rest = 'name = "mine"\nseeds = ["first.txt"]\nknown_best = 0.5\nknown_best_source = "me"'
    toml = (
        problem_toml("maze", rest=rest)
        + '[limits]\nwall_seconds = 3.0\n[search]\nislands = 3\n[[measures]]\nname = "complexity"\n'
    )
    loaded = load(tmp_path, "maze", problem__toml=toml, first__txt="RRR\n")
    problem = loaded.problem
    assert (problem.name, problem.known_best, problem.known_best_source) == ("mine", 0.5, "me")
    assert (problem.seeds[0].text, problem.limits.wall_seconds, loaded.search) == ("RRR\n", 3.0, {"islands": 3})
    assert [measure.name for measure in problem.measures] == ["complexity"]


def test_a_seed_file_of_the_usual_name_is_the_seed(tmp_path: Path) -> None:
    assert load(tmp_path, "maze", seed__txt="DRUR\n").problem.seeds[0].text == "DRUR\n"


def test_one_question_of_a_data_set_is_kept_and_the_rest_left_out(tmp_path: Path) -> None:
    rows = "\n\n".join(json.dumps({**MUSIQUE, "question": f"Which one, {n}?"}) for n in range(5))
    toml = problem_toml("musique", 'file = "data.jsonl"\nnumber = 3')
    loaded = load_problem(write(tmp_path, {"problem.toml": toml, "data.jsonl": rows, "README.md": "x"}))
    assert "Question: Which one, 3?" in loaded.problem.description
    assert loaded.problem.name == "musique-data-3"
    files = open_bundle(loaded.bundle).files
    assert set(files) == {"README.md", "evaluator.py", "problem.toml", "question.json", "seed.txt"}
    kept = question_from_json("musique", json.loads(files["question.json"]))
    assert (kept.text, kept.support) == ("Which one, 3?", (0, 2))


def test_the_fitness_is_the_scalar_that_the_domain_defines(tmp_path: Path) -> None:
    weights = [objective.weight for objective in load(tmp_path / "m", "musique").problem.objectives]
    assert weights == [1, 1, 1, 1, 3]
    assert {objective.weight for objective in load(tmp_path / "e", "eureqa").problem.objectives} == {1}


def test_a_program_asked_for_a_function_starts_from_the_starter(tmp_path: Path) -> None:
    toml = problem_toml("livecodebench")
    problem = load_problem(write(tmp_path, {"problem.toml": toml, "question.json": json.dumps(CALLING)})).problem
    assert "def reversedList" in problem.seeds[0].text
    assert problem.evaluator.command[:2] == ("{python}", "-c")
    assert problem.evaluator.command[3] == "seed.py"


@pytest.mark.parametrize(
    ("extra", "said"),
    [
        ('description = "x"', "description comes from [domain]"),
        ('language = "python"', "language comes from [domain]"),
        ('evaluator = { entry = "f" }', "evaluator comes from [domain]"),
        ('objectives = [{ name = "gain" }]', "objectives comes from [domain]"),
        ('main = "x.py"', "main comes from [domain]"),
        ('measures = [{ name = "spread" }]', "a domain measures no 'spread': choose complexity or novelty"),
    ],
)
def test_what_contradicts_the_domain_is_refused(tmp_path: Path, extra: str, said: str) -> None:
    (sentence,) = complaints(tmp_path, problem_toml("maze", FIXED, extra))
    assert said in sentence


@pytest.mark.parametrize("path", ["evaluator__py", "question__json"])
def test_files_that_would_be_written_over_are_named(tmp_path: Path, path: str) -> None:
    (sentence,) = complaints(tmp_path, problem_toml("maze", FIXED), **{path: "x"})
    assert "would be overwritten by [domain]" in sentence


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ('file = "maze.txt"', "domain.file = 'maze.txt' is not a file of this problem"),
        ('kind = "huge"\nsplit = "test"\nnumber = 0', "there are no 'huge' mazes: choose small, hard, nine"),
        ('kind = "hard"\nsplit = "exam"\nnumber = 0', "no 'exam' split"),
        ('kind = "hard"\nsplit = "test"', "with kind, split and number"),
        ('kind = "hard"\nsplit = "test"\nnumber = -1', "integer of at least 0, not -1"),
        ('kind = "hard"\nsplit = "test"\nnumber = true', "integer of at least 0, not True"),
        ("kind = 3", "domain.kind should be a text, not 3"),
        ('file = "a.txt"\nkind = "hard"', "kind is for mazes without a file"),
        ('file = "a.txt"\nnumber = 2', "leave number out"),
        ('flie = "a.txt"', "unknown key 'flie': did you mean 'file'?"),
    ],
)
def test_a_table_that_is_off_is_one_sentence(tmp_path: Path, table: str, said: str) -> None:
    (sentence,) = complaints(tmp_path, problem_toml("maze", table))
    assert said in sentence
    assert sentence.startswith("problem.toml")


@pytest.mark.parametrize(
    ("toml", "said"),
    [
        ('schema = 1\n[domain]\nname = "chess"', "'chess' is not a domain: choose maze, musique"),
        ("schema = 1\n[domain]", "'' is not a domain"),
        ('schema = 1\ndomain = "maze"', "should be a table"),
        ('schema = 1\n[domain]\nname = "eureqa"', "name the file that holds the question"),
        ('schema = 1\n[domian]\nname = "maze"', "did you mean 'domain'?"),
        ('schema = 2\n[domain]\nname = "maze"\n' + FIXED, "this version reads schema = 1"),
        ('schema = 1\nspeed = 3\n[domain]\nname = "maze"\n' + FIXED, "unknown key 'speed'"),
    ],
)
def test_a_document_that_is_off_is_one_sentence(tmp_path: Path, toml: str, said: str) -> None:
    assert any(said in sentence for sentence in complaints(tmp_path, toml))


@pytest.mark.parametrize(
    ("text", "said"),
    [("no maze", "holds no line such as"), ("maze 2x2, at most 3 moves, open rules\nS .", "does not have 2 rows")],
)
def test_a_file_without_a_maze_is_named(tmp_path: Path, text: str, said: str) -> None:
    (sentence,) = complaints(tmp_path, problem_toml("maze"), maze__txt=text)
    assert sentence.startswith("maze.txt: ")
    assert said in sentence


@pytest.mark.parametrize("text", ["x" * 100_001, "\x00", "\ud800"])
def test_a_question_that_cannot_be_shown_is_refused(tmp_path: Path, text: str) -> None:
    row = json.dumps({**MUSIQUE, "question": text})
    (sentence,) = complaints(tmp_path, problem_toml("musique"), question__json=row)
    assert "cannot be stored" in sentence
