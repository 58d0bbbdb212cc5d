"""A question of a person's own domain as a problem."""

import json
import runpy
import sys
import tomllib
from pathlib import Path

import pytest

from evolve.evaluation import Evaluation, Outcome
from evolve.prompt import PromptRequest, build_prompt
from evolve.prompt.templates import check_templates
from evolve.proposal import Individual, Proposal
from service.errors import InvalidProblemError, UsageError
from service.problems.domains.init import init_domain
from service.problems.domains.table import read_table
from service.problems.load import load_problem
from tests.own_task import write_letters


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_letters(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", ["", *sys.path])
    monkeypatch.delitem(sys.modules, "letters", raising=False)


def test_a_question_is_an_ordinary_problem_that_the_domain_scores(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "words"
    init_domain(folder, "letters:Letters", None, 1)
    document = tomllib.loads((folder / "problem.toml").read_text())
    assert document["description"].startswith("Write a word that begins with j,")
    assert document["objectives"] == [{"name": name, "low": 0.0, "high": 1.0} for name in ("begins", "vowels", "short")]
    assert document["evaluator"]["preload"] == ["evolve.domains"]  # else the sandbox finds no evolve
    assert json.loads((folder / "question.json").read_text()) == {"letter": "j"}
    monkeypatch.syspath_prepend(str(folder))
    score = runpy.run_path(str(folder / "evaluator.py"))["score"]
    assert score([], {"answer.txt": "join\n"}) == pytest.approx({"begins": 1.0, "vowels": 0.4, "short": 1 - 4 / 12})
    assert score([], {"answer.txt": "two words"}) == {"error": "the completion holds no further answer"}
    assert (folder / "letters.py").read_text() == (tmp_path / "letters.py").read_text()


@pytest.mark.parametrize("operator", ["mutate", "crossover", "repair", "simplify"])
@pytest.mark.parametrize("answers", [1, 3])
def test_a_run_asks_for_answers_not_for_programs(tmp_path: Path, operator: str, answers: int) -> None:
    folder = tmp_path / "words"
    init_domain(folder, "letters:Letters", None, 0)
    document = tomllib.loads((folder / "problem.toml").read_text())
    chosen = folder / document["search"]["prompt"]["template_dir"]
    written = {path.stem: path.read_text() for path in chosen.iterdir()}
    check_templates(written)
    loaded = load_problem(folder).problem
    seed = Individual(
        candidate_id="cnd_1",
        program=loaded.seeds[0],
        evaluation=Evaluation(outcome=Outcome.OK, scores=dict.fromkeys(loaded.objective_names, 0.5)),
        fitness=0.5,
        rewards=(0.5, 0.5, 0.5),
        signed_scores=(0.5, 0.5, 0.5),
        measures={},
    )
    second = seed if operator == "crossover" else None
    proposal = Proposal(
        id="prp_1", number=1, island=0, operator=operator, parent=seed, second_parent=second, seed=1, answers=answers,
        samples=1, limit=answers,
    )  # fmt: skip
    request = PromptRequest(problem=loaded, proposal=proposal, templates=written, format="tags:answer")
    text = "".join(part for message in build_prompt(request, len).messages for part in message.parts)
    assert "Write a word that begins with i," in text
    assert f"<answer_{answers}>\n```text\n(a whole answer)\n```\n</answer_{answers}>" in text
    assert "program" not in text
    count = "one answer" if answers == 1 else "3 genuinely different answers"
    mutation = "a better answer" if answers == 1 else "3 answers that differ from each other"
    assert f"rite {mutation if operator == 'mutate' else count}" in text


def test_what_the_domain_has_not_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="letters:Letters has 4 test questions, counted from 0, and no 4"):
        init_domain(tmp_path / "a", "letters:Letters", None, 4)
    with pytest.raises(UsageError, match="brings its own questions: leave --data out"):
        init_domain(tmp_path / "a", "letters:Letters", tmp_path / "x.json", 0)
    with pytest.raises(UsageError, match="or module:Class of your own"):
        init_domain(tmp_path / "a", "letters", None, 0)
    with pytest.raises(InvalidProblemError, match="with evolve problem init DIR --domain letters:Letters"):
        read_table({"name": "letters:Letters"})
