"""The evaluation of a model on a domain: what it measures, keeps, and asks again."""

import json
import math
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evolve.domains import open_domain
from evolve.domains.musique import MusiqueQuestion
from evolve.money import Money
from evolve.statistics.answer_sets import best_at_k, mean_pairwise_l1
from service.cli.main import main
from tests.fakes.openai_server import OpenAIServer, openai_server
from tests.fakes.openai_server import Reply as FakeReply
from tests.own_task import write_letters
from training.errors import TrainingError
from training.harness import EvaluationProgress, EvaluationSettings, SampledCompletions, evaluate_model, figures_of
from training.task_data import limited, questions_of

NAME = "letters:Letters"
WORDS = ("ioia", "kite", "jaunt", "lamp", "ie")
SETTINGS = EvaluationSettings(domain=NAME, model="m", m=2, chains=3, seeds=(0, 1))


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_letters(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", ["", *sys.path])
    monkeypatch.delitem(sys.modules, "letters", raising=False)


def text_of(number: int) -> str:
    one, two = WORDS[number % 5], WORDS[(number + 1) % 5]
    return f"<answer_1>{one}</answer_1><answer_2>{two}</answer_2>"


class Model:
    """Answers with known words, and counts how often it is asked; it may break off."""

    concurrency = 1

    def __init__(self, fails_after: int = 99, batch: int = 1) -> None:
        self.asked: list[tuple[str, int]] = []
        self.calls = 0
        self.batch = batch
        self._fails_after = fails_after

    def complete(self, prompts: Sequence[str], count: int, seed: int) -> list[SampledCompletions]:
        if len(self.asked) >= self._fails_after:
            raise TrainingError("it broke off")
        self.calls += 1
        self.asked += [(prompt, seed) for prompt in prompts]
        texts = tuple(text_of(number + seed) for number in range(count))
        one = SampledCompletions(
            texts=texts, cut=(False,) * count, prompt_tokens=10, completion_tokens=15, cost=Money.read("0.01 USD")
        )
        return [one for _ in prompts]


def test_figures_are_those_of_all_answers(tmp_path: Path) -> None:
    questions = questions_of(NAME, "test")
    found = evaluate_model(SETTINGS, questions, Model(), tmp_path / "out")
    domain = open_domain(NAME)
    best, diverse = [], []
    for seed in (0, 1):
        for question in questions:
            words = [WORDS[(number + seed + place) % 5] for number in range(3) for place in (0, 1)]
            rewards = np.array([domain.reward(question, word) for word in words])
            best.append(float(best_at_k(rewards.mean(axis=1), 2)))
            diverse.append(mean_pairwise_l1(rewards))
    assert found["best@2"] == pytest.approx(np.mean(best))
    assert found["diversity"] == pytest.approx(np.mean(diverse))
    assert found["completion_tokens"] == 2 * len(questions) * 3 * 5
    report = (tmp_path / "out" / "report.md").read_text()
    assert "4 questions, 2 seeds, 3 completions of 2 answers at temperature 0.7" in report
    assert "Completions without a readable answer: 0 of 24." in report
    assert "Cost: 0.08 USD, 80 prompt tokens, 120 completion tokens." in report
    kept = json.loads((tmp_path / "out" / "figures.json").read_text())["figures"]
    assert kept["best@2"]["low"] < kept["best@2"]["value"] < kept["best@2"]["high"]


def test_an_interrupted_evaluation_asks_only_what_is_missing(tmp_path: Path) -> None:
    questions, folder = questions_of(NAME, "test"), tmp_path / "out"
    with pytest.raises(TrainingError, match="broke off"):
        evaluate_model(SETTINGS, questions, Model(fails_after=3), folder)
    with (folder / "answers.jsonl").open("a") as log:
        log.write('{"seed": 0, "quest')  # a crash in the middle of a line
    rest = Model()
    whole = evaluate_model(SETTINGS, questions, rest, folder)
    assert len(rest.asked) == 8 - 3
    assert whole == pytest.approx(evaluate_model(SETTINGS, questions, Model(), tmp_path / "other"))
    again = Model()
    assert evaluate_model(SETTINGS, questions, again, folder) == pytest.approx(whole)
    assert again.asked == []
    lines = [json.loads(line) for line in (folder / "answers.jsonl").read_text().splitlines()]
    assert lines[0]["completions"] == [text_of(number) for number in range(3)]
    other = EvaluationSettings(domain=NAME, model="m", m=3, chains=3, seeds=(0, 1))
    with pytest.raises(TrainingError, match="holds an evaluation with other settings"):
        evaluate_model(other, questions, Model(), folder)
    with pytest.raises(TrainingError, match="holds answers to other questions: name another folder"):
        evaluate_model(SETTINGS, questions[::-1], Model(), folder)  # as of another file
    assert evaluate_model(SETTINGS, questions, Model(), folder) == pytest.approx(whole)


def test_an_answer_with_every_score_passes() -> None:
    domain = open_domain(NAME)
    found = figures_of(domain, np.array([[1.0, 1.0, 1.0], [0.0, 0.0, 0.0]]), [0.0] * 3)
    assert found["pass@1"] == 0.5
    assert found["pass@2"] == 1.0
    assert found["volume"] == pytest.approx(1.0)


def test_questions_are_asked_in_batches_of_one_seed_with_their_progress(tmp_path: Path) -> None:
    seen: list[EvaluationProgress] = []
    model = Model(batch=3)
    evaluate_model(SETTINGS, questions_of(NAME, "test"), model, tmp_path / "out", seen.append)
    assert model.calls == 4  # 3 and 1 questions under each of two seeds
    assert [seed for _, seed in model.asked] == [0] * 4 + [1] * 4
    assert [one.answered for one in seen] == [3, 4, 7, 8]
    assert seen[-1] == EvaluationProgress(answered=8, questions=8, known=0, tokens=200, cost=Money.read("0.08 USD"))


def test_a_limited_sample_of_musique_holds_the_numbers_of_hops_in_proportion() -> None:
    def question(hops: int, number: int) -> MusiqueQuestion:
        return MusiqueQuestion(text=str(number), paragraphs=(("t", "p"),), support=(0,) * hops, answer="a")

    questions = [question(hops, number) for number, hops in enumerate([2] * 60 + [3] * 30 + [4] * 10)]
    for limit, wanted in ((10, {2: 6, 3: 3, 4: 1}), (50, {2: 30, 3: 15, 4: 5})):
        drawn = limited("musique", questions, limit)
        assert Counter(len(one.support) for one in drawn) == wanted
        places = [int(one.text) for one in drawn]
        assert places == sorted(places) != list(range(limit))
        assert drawn == limited("musique", questions, limit)
    assert limited("eureqa", questions, 3) == questions[:3]
    assert limited("musique", questions, None) == questions


def test_settings_that_make_no_sense_are_refused() -> None:
    with pytest.raises(TrainingError, match="top_p above 0 and at most 1"):
        EvaluationSettings(domain=NAME, model="m", top_p=1.5)
    with pytest.raises(TrainingError, match="At temperature 0 all completions are the same"):
        EvaluationSettings(domain=NAME, model="m", temperature=0)


@pytest.fixture
def served() -> Iterator[OpenAIServer]:
    """A server that answers with the words of the request's seed."""

    def respond(body: Mapping[str, Any]) -> list[str]:
        return [text_of(body["seed"] + number) for number in range(body["n"])]

    with openai_server(respond) as server:
        yield server


def measure(served: OpenAIServer, *more: str) -> list[str]:
    words = ["train", "evaluate", NAME, "--policy", served.url, "--model", "fake", "--answers", "2", "--chains", "3"]
    return [*words, "-o", "out", *more]


def test_a_policy_is_measured_with_the_retries_of_a_run(
    served: OpenAIServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    served.script(FakeReply(status=503, headers={"retry-after": "0"}), FakeReply(cut_after=1))
    Path("policy.toml").write_text(
        f'[[policies]]\nbase_url = "{served.url}"\nprice = {{ input = "1", output = "2", currency = "USD" }}\n'
    )
    words = measure(served, "--seeds", "2", "--concurrency", "1", "--json")
    assert main([word if word != served.url else "policy.toml" for word in words]) == 0
    figures = json.loads(capsys.readouterr().out)["figures"]
    lines = [json.loads(line) for line in (tmp_path / "out" / "answers.jsonl").read_text().splitlines()]
    assert [line["completions"] for line in lines[:4]] == [[text_of(number) for number in range(3)]] * 4
    assert [line["completions"] for line in lines[4:]] == [[text_of(3 + number) for number in range(3)]] * 4
    written = sum(OpenAIServer.count(text) for line in lines for text in line["completions"])
    assert figures["completion_tokens"] == written + math.ceil(served.characters / 3.5)  # the broken stream's, too
    assert {request.body["temperature"] for request in served.chats} == {0.7}
    assert len(served.chats) == 8 + 2  # each failure was asked again
    cost = json.loads((tmp_path / "out" / "figures.json").read_text())["cost"]
    paid = (figures["prompt_tokens"] + 2 * figures["completion_tokens"]) / 1e6
    assert float(cost.removesuffix(" USD")) == pytest.approx(paid)


def test_a_completion_out_of_tokens_holds_no_open_answer(served: OpenAIServer, tmp_path: Path) -> None:
    served.respond = lambda body: ["<answer_1>oak</answer_1><answer_2>elm"] * body["n"]
    served.script(*[FakeReply(finish_reason="length")] * 4)
    assert main(measure(served)) == 0
    line = json.loads((tmp_path / "out" / "answers.jsonl").read_text().splitlines()[0])
    assert line["cut"] == [True] * 3
    assert line["rewards"][0][1] == [0.0, 0.0, 0.0]


def test_a_server_that_writes_one_completion_at_a_time_is_asked_for_each(served: OpenAIServer, tmp_path: Path) -> None:
    served.respond = lambda body: [text_of(body["seed"])]
    assert main(measure(served)) == 0
    for text in (tmp_path / "out" / "answers.jsonl").read_text().splitlines():
        assert json.loads(text)["completions"] == [text_of(number) for number in range(3)]


def test_a_kind_of_policy_of_ones_own_is_measured(tmp_path: Path) -> None:
    (tmp_path / "echo.py").write_text(
        "from evolve.proposal import CompletedReply\n"
        "class Echo:\n"
        "    answers = samples = concurrency = 1\n"
        "    def __init__(self, context):\n"
        "        self.context = context\n"
        "    async def propose(self, proposal):\n"
        "        prompt = self.context.build_prompt(proposal).messages[0].content\n"
        "        letter = prompt.split('begins with ')[1][0]\n"
        "        yield CompletedReply(completions=(f'<answer>{letter}aiou</answer>',) * proposal.samples)\n"
    )
    words = ["train", "evaluate", NAME, "--policy", "echo:Echo", "--answers", "1", "--chains", "2", "-o", "out"]
    assert main(words) == 0
    figures = json.loads((tmp_path / "out" / "figures.json").read_text())["figures"]
    # `begins` in full; 5 vowels where the letter is one, else 4; 5 letters of 12
    assert figures["best@1"]["value"] == pytest.approx(np.mean([(1 + v / 5 + 7 / 12) / 3 for v in (5, 4, 4, 4)]))


def test_what_cannot_be_measured_is_said_in_a_sentence(
    served: OpenAIServer, capsys: pytest.CaptureFixture[str]
) -> None:
    def refused(*words: str) -> str:
        assert main(["train", "evaluate", NAME, "-o", "out", *words]) != 0
        return " ".join(capsys.readouterr().err.split())

    assert "name what to measure: --policy POLICY, --model FOLDER or --adapter FOLDER" in refused()
    assert "the syntax mutator asks no model" in refused("--policy", "syntax")
    assert "--adapter is for a model in this process" in refused("--policy", served.url, "--adapter", "a")
    assert "--param is for a policy" in refused("--model", "m", "--param", "n=2")
    assert "nobody" in refused("--policy", served.url, "--model", "nobody")
    served.refuse = lambda _: (400, {"error": {"message": "too hot"}})
    assert "too hot. Mend that, then run this again" in refused("--policy", served.url, "--model", "fake")
