"""`--config`: a file of another project is told from a run configuration, and from one of a third project."""

from collections.abc import Callable
from pathlib import Path

import pytest

from service.cli.run_options import named_for_run
from service.errors import InvalidProblemError
from service.problems.load import load_problem
from service.problems.project import Project
from tests.unit.problems.folders import SEED, native, project, write

CODEEVOLVE = "SYS_MSG: Pack.\nEVOLVE_CONFIG: {fitness_key: gain, num_epochs: 7}\n"
OPENEVOLVE = "max_iterations: 5\n"
RUN = "islands: 2\nbudget: {evaluations: 9}\n"


def codeevolve(place: Path) -> Path:
    other = "EVOLVE_CONFIG: {fitness_key: other}\n"
    return write(place, {"input/evaluate.py": "", "input/src/init_program.py": SEED, "configs/config.yaml": other})


@pytest.mark.parametrize(("text", "theirs"), [(CODEEVOLVE, True), (OPENEVOLVE, True), (RUN, False), ("{", False)])
def test_the_keys_of_a_file_say_whose_configuration_it_is(tmp_path: Path, text: str, theirs: bool) -> None:
    config = write(tmp_path, {"x.yaml": text}) / "x.yaml"
    named, own = named_for_run(tmp_path, None, config, None)
    assert named is not None
    assert (named.config, own) == ((config, None) if theirs else (None, config))


def test_a_codeevolve_file_is_read_as_the_project_reads_it(tmp_path: Path) -> None:
    folder = codeevolve(tmp_path / "p")
    config = write(tmp_path, {"more.yaml": CODEEVOLVE}) / "more.yaml"
    loaded = load_problem(Project(folder=folder, config=config))
    assert loaded.problem.objective_names == ("gain",)
    assert loaded.search == {"budget": {"evaluations": 8}, "prompt": {"system": "Pack."}}


@pytest.mark.parametrize(
    ("make", "text", "sentence"),
    [
        (native, OPENEVOLVE, "--config x.yaml: it is of another project, and the folder reads as a problem of Evolve"),
        (native, CODEEVOLVE, "--config x.yaml: it is of another project, and the folder reads as a problem of Evolve"),
        (
            project,
            CODEEVOLVE,
            "x.yaml: it is the configuration of a CodeEvolve problem, and the folder reads as an Open",
        ),
        (codeevolve, OPENEVOLVE, "the configuration of an OpenEvolve project or a SkyDiscover problem, and the folder"),
        (codeevolve, RUN, "x.yaml: EVOLVE_CONFIG.fitness_key should name the score to maximise"),
    ],
)
def test_the_configuration_of_another_project_ends_in_one_sentence(
    tmp_path: Path, make: Callable[[Path], Path], text: str, sentence: str
) -> None:
    folder = make(tmp_path / "p")
    config = write(tmp_path, {"x.yaml": text}) / "x.yaml"
    with pytest.raises(InvalidProblemError) as error:
        load_problem(Project(folder=folder, config=config))
    (complaint,) = error.value.complaints
    assert sentence in complaint
