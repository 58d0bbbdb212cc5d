"""A study on models of a few weights: what is measured, what is chosen, and that one that was stopped goes on."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evolve.domains.maze import maze_of, reward, walk
from evolve.program import Program
from service.cli.main import main
from service.cli.study import problem_of
from service.errors import UsageError
from tests.fakes.tiny_llama import write_model
from tests.unit.training.drunkard import write_drunkard, write_models
from training.study.campaign import Campaign, SettingsScore
from training.study.conduct import REPORT, SAMPLING, SEARCH, StudyRunner
from training.study.contenders import Contender, find_contenders
from training.study.findings import findings_of
from training.study.gather import AT_ONE, OWN, Gathering
from training.study.plan import QUICK, TRIED
from training.study.raw import Store
from training.study.report import report
from training.study.results import reached
from training.study.sampling import SamplingTask
from training.study.searching import SearchTask, evaluate
from training.study.work import do, missing


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_models(tmp_path_factory.mktemp("models"))


@pytest.fixture(scope="module")
def contenders(models: Path) -> tuple[Contender, ...]:
    return find_contenders(models)


def search(contender: Contender, strategy: str, evaluations: int) -> SearchTask:
    return SearchTask(
        contender=contender, strategy=strategy, settings=TRIED[0], split="questions", mazes=2, evaluations=evaluations,
        temperature=1.0,
    )  # fmt: skip


def test_models_are_found_in_the_order_of_tables(contenders: tuple[Contender, ...]) -> None:
    names = [(contender.name, contender.m) for contender in contenders]
    assert names == [
        ("base-s0", 2), ("grpo-s0", 1), ("grpo-s1", 1), ("multi_rlvr_best-s0", 2), ("vpo-s0", 2), ("vpo-s1", 2),
    ]  # fmt: skip
    assert len({contender.digest for contender in contenders}) == len(contenders)


def test_answers_are_scored_one_by_one(contenders: tuple[Contender, ...], tmp_path: Path) -> None:
    task = SamplingTask(contender=contenders[0], kind="small", split="test", mazes=2, answers=8, temperature=1.0)
    store = Store(folder=tmp_path)
    do([task], store, problem_of, 1, lambda _: None)
    found = task.read(store)
    assert found.rewards.shape == (2, 8, 4)
    assert found.tokens.shape == (2, 4)
    assert not found.missing.all()
    assert not found.rewards[found.missing].any()
    assert found.rewards[~found.missing].any()


def test_more_answers_begin_with_the_same(contenders: tuple[Contender, ...]) -> None:
    task = SamplingTask(contender=contenders[0], kind="small", split="test", mazes=1, answers=8, temperature=1.0)
    few, many = (replace(task, answers=answers).run(problem_of)["rewards"] for answers in (8, 16))
    assert np.array_equal(few, many[:, :8])


@pytest.mark.parametrize("strategy", ["islands", "best_of_n", "sequential"])
def test_a_budget_is_a_prefix_of_a_longer_search(contenders: tuple[Contender, ...], strategy: str) -> None:
    short, long = (search(contenders[-1], strategy, evaluations).run(problem_of) for evaluations in (11, 24))
    assert not np.isnan(short["best"]).any()
    for name in ("best", "answers", "tokens"):
        assert np.array_equal(short[name], long[name][:, :11])
    assert (np.diff(long["best"], axis=1) >= 0).all()
    assert np.allclose(np.maximum.accumulate(long["scores"].mean(axis=2), axis=1), long["best"])
    assert (long["best"] <= long["optimum"][:, None] + 1e-9).all()
    # The seed is the first evaluation and nobody's answer; each further one is an answer at least.
    assert not long["answers"][:, 0].any()
    assert (np.diff(long["answers"], axis=1) >= 1).all()


def test_programs_are_scored_as_the_domain_does() -> None:
    maze, problem = maze_of("hard", "questions", 0), problem_of("hard", "questions", 0)
    found = evaluate(problem, maze, Program.of({"seed.txt": "RDRD"}))
    assert found.ok
    assert list(found.scores.values()) == reward(maze, walk(maze, "RDRD")).tolist()
    assert not evaluate(problem, maze, Program.of({"seed.txt": "nothing"})).ok


@pytest.fixture(scope="module")
def measured(contenders: tuple[Contender, ...], tmp_path_factory: pytest.TempPathFactory) -> Campaign:
    store = Store(folder=tmp_path_factory.mktemp("study") / "raw")
    scope = replace(QUICK, budgets=(12, 24), tuned_evaluations=12, mazes={"small": 2, "hard": 2})
    campaign = Campaign(contenders=contenders, scope=scope, store=store)
    conduct(campaign, []).go([SAMPLING, SEARCH])
    return campaign


def conduct(campaign: Campaign, done: list[str]) -> StudyRunner:
    from contextlib import nullcontext

    return StudyRunner(
        campaign=campaign,
        problems=problem_of,
        workers=1,
        watch=lambda _title, _total: nullcontext(lambda task: done.append(task.key.title)),
        path=campaign.store.folder.parent / "study.md",
        command="evolve study models -o study",
    )


def test_what_was_measured_is_not_measured_again(measured: Campaign) -> None:
    done: list[str] = []
    conduct(measured, done).go([SAMPLING, SEARCH])
    assert not done
    key = measured.search_tasks()[0].key
    content = (measured.store.folder / key.file).read_bytes()
    (measured.store.folder / key.file).unlink()
    conduct(measured, done).go([SAMPLING, SEARCH])
    assert done == [key.title]
    assert (measured.store.folder / key.file).read_bytes() == content


def test_own_temperatures_are_those_of_the_best_on_validation_mazes(measured: Campaign) -> None:
    for kind in ("small", "hard"):
        reached = measured.by_temperature(kind)
        assert {m: reached[m][t] for m, t in measured.own(kind).items()} == {
            m: max(reached[m].values()) for m in reached
        }


def test_settings_are_those_that_solve_most(measured: Campaign) -> None:
    tried = measured.tried()
    assert len(tried) == len(TRIED)
    taken = next(one for one in tried if one.settings == measured.settings())
    assert worth(taken.reached) == max(worth(one.reached) for one in tried)


def worth(reached: SettingsScore) -> tuple[float, float]:
    return reached.solved, reached.best


def test_own_temperatures_of_searches_are_those_that_solve_most(measured: Campaign) -> None:
    heated = measured.by_search_temperature()
    assert set(heated) == {"base", "grpo", "vpo"}
    for method, temperature in measured.own_in_search().items():
        assert set(heated[method]) == {1.0, 1.3}
        assert worth(heated[method][temperature]) == max(worth(one) for one in heated[method].values())


def test_the_methods_beside_search_by_islands_at_temperature_1_alone(measured: Campaign) -> None:
    assert list(measured.searched_by("islands", 0)) == ["base", "grpo", "multi_rlvr_best", "vpo"]
    assert list(measured.searched_by("best_of_n", 0)) == ["base", "grpo", "vpo"]
    assert list(measured.searched_by("islands", 1)) == ["base", "grpo", "vpo"]
    found = Gathering(campaign=measured)
    assert {strategy for strategy, some in found.searched(AT_ONE).items() if "multi_rlvr_best" in some} == {"islands"}
    assert all("multi_rlvr_best" not in some for some in found.searched(OWN).values())


def test_all_of_it_makes_one_report(measured: Campaign) -> None:
    gathering = Gathering(campaign=measured)
    do(missing(gathering.figures_tasks(), measured.store), measured.store, problem_of, 1, lambda _: None)
    found = findings_of(measured, "evolve study models -o study")
    assert set(found.sampled["small", AT_ONE]) == {"base", "grpo", "multi_rlvr_best", "vpo"}
    assert found.sampled["small", OWN]["vpo"].seeds == (0, 1)
    grpo = found.sampled["hard", AT_ONE]["grpo"].tables
    assert {"best@16", "solved@1", "ew@4", "tokens-best@1", "volume"} <= set(grpo)
    text = report(found)
    assert text == report(findings_of(measured, "evolve study models -o study"))
    assert "nan" not in text


def test_equal_tokens_are_those_of_the_shortest_of_all_strategies(measured: Campaign) -> None:
    found = Gathering(campaign=measured).searched(AT_ONE)
    rate = min(one.tokens for compared in found.values() for one in compared.values())
    scope = measured.scope
    for strategy, compared in found.items():
        tasks = measured.searching("vpo", strategy, 1.0, measured.settings())
        expected = [reached(task.read(measured.store), scope.budgets, rate) for task in tasks]
        for budget in scope.budgets:
            name = f"tokens-solved@{budget}"
            assert np.array_equal(compared["vpo"].tables[name], [one[name] for one in expected])


def run(words: list[str | Path], capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    code = main([str(word) for word in ["study", *words]])
    return code, capsys.readouterr().err


def test_a_folder_that_is_not_there_is_not_found(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, said = run([tmp_path / "none", "-o", tmp_path / "out"], capsys)
    assert (code, said.count("\n")) == (3, 1)
    assert "none" in said


def test_a_folder_without_models_is_not_found(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, said = run([tmp_path, "-o", tmp_path / "out"], capsys)
    assert (code, said.count("\n")) == (3, 1)
    assert "holds no model" in said


def test_an_unknown_stage_is_refused(models: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, said = run([models, "-o", tmp_path, "--stage", "all"], capsys)
    assert code == 2
    assert "sampling, search, report" in said


def test_a_report_that_is_a_folder_is_a_conflict(
    models: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, said = run([models, "-o", tmp_path, "--report", tmp_path], capsys)
    assert code == 5
    assert "is a folder" in said


def test_foreign_words_are_refused(tmp_path: Path) -> None:
    folder = write_model(tmp_path / "vpo-s0")
    (folder / "evolve.toml").write_text("answers = 4\n")
    with pytest.raises(UsageError, match=r"vocabulary of .*vpo-s0 is not that of mazes"):
        find_contenders(tmp_path)


@pytest.mark.parametrize("answers", ["3", "0", '"4"', "true", "16"])
def test_chains_that_make_no_whole_proposal_are_refused(tmp_path: Path, answers: str) -> None:
    folder = write_drunkard(tmp_path / "vpo-s0", m=2)
    (folder / "evolve.toml").write_text(f"answers = {answers}\n")
    with pytest.raises(UsageError, match="how many answers a chain has"):
        find_contenders(tmp_path)


@pytest.mark.parametrize("name", ["evolve.toml", "model.safetensors", "tokenizer_config.json"])
def test_a_model_with_a_file_missing_is_named(tmp_path: Path, name: str) -> None:
    (write_drunkard(tmp_path / "vpo-s0", m=2) / name).unlink()
    with pytest.raises(UsageError, match=f"{name} is missing"):
        find_contenders(tmp_path)


def test_sampling_from_the_command_line(models: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words: list[Any] = [models, "-o", tmp_path, "--quick", "--mazes", 1, "--workers", 1, "--stage", SAMPLING, "--json"]
    assert main([str(word) for word in ["study", *words]]) == 0
    *tasks, summary = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert {line["kind"] for line in tasks} == {"study.task"}
    assert tasks[-1]["done"] == pytest.approx(1.0)
    assert summary == {"schema": 1, "kind": "study.summary", "report": None, "targets": []}
    assert list((tmp_path / "raw").glob("sampling.vpo-s0.hard.test.*.npz"))


def test_without_what_draws_a_report_is_refused_before_anything_is_done(
    models: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("training.study.pictures.find_spec", lambda _: None)
    code, said = run([models, "-o", tmp_path, "--quick", "--stage", REPORT], capsys)
    assert code == 2
    assert "matplotlib" in said
    assert not list(tmp_path.iterdir())
