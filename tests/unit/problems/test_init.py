from pathlib import Path

import pytest

from evolve.answers.regions import regions
from evolve.evaluation import Evaluation, ScoringRequest, read_result
from evolve.program import Program
from service.errors import ConflictError, UsageError
from service.problems.check import check_problem
from service.problems.init import init_problem
from service.problems.load import load_problem
from tests.unit.problems.folders import write


def run(folder: Path, program: Program) -> object:
    made: dict[str, object] = {}
    scorer: dict[str, object] = {}
    exec(program.text, made)
    exec((folder / "evaluator.py").read_text(), scorer)
    solve, score = made["solve"], scorer["score"]
    assert callable(solve)
    assert callable(score)
    return score([{"value": solve(), "seconds": 0.0, "error": None}], program.text)


async def test_new_problem_passes_its_check(tmp_path: Path) -> None:
    written = init_problem(tmp_path / "new" / "hill", "hill")
    loaded = load_problem(tmp_path / "new" / "hill")

    async def evaluate(program: Program, wanted: ScoringRequest) -> Evaluation:
        return read_result(run(Path(loaded.place), program), loaded.problem)

    report = await check_problem(loaded, evaluate)
    assert report.ok, report.complaints
    assert loaded.problem.name == "hill"
    assert sorted(path.name for path in written) == ["evaluator.py", "initial_program.py", "problem.toml"]
    assert len(regions(loaded.problem.seeds[0].text)) == 1


@pytest.mark.parametrize(
    ("folder", "name"), [("valley", "valley"), ('a"b{}\n~c', "a-b-c"), ("~", "problem"), ("é è", "é è")]
)
def test_name_is_the_folders_unless_given(tmp_path: Path, folder: str, name: str) -> None:
    init_problem(tmp_path / folder)
    assert load_problem(tmp_path / folder).problem.name == name


def test_folder_that_holds_something_is_left_alone(tmp_path: Path) -> None:
    write(tmp_path, {"mine": "1"})
    with pytest.raises(ConflictError, match="is not empty: name a new folder"):
        init_problem(tmp_path, "x")
    with pytest.raises(ConflictError, match="cannot make a problem"):
        init_problem(tmp_path / "mine", "x")
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


@pytest.mark.parametrize("name", ['a"b', "a\nb", "a\\b", "x" * 101, "{x}"])
def test_name_that_would_break_the_document_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError):
        init_problem(tmp_path / "p", name)
    assert not (tmp_path / "p").exists()
