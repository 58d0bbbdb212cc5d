"""The evaluation of a model on a domain: what it measures, keeps, and asks again."""

import json
import sys
import threading
from collections.abc import Iterator, Sequence
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evolve.domains import open_domain
from evolve.statistics.answer_sets import best_at_k, mean_pairwise_l1
from service.cli.main import main
from tests.own_task import write_letters
from training.errors import TrainingError
from training.harness import EvaluationSettings, Reply, evaluate_model, figures_of, server
from training.task_data import questions_of

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

    def __init__(self, fails_after: int = 99) -> None:
        self.asked: list[tuple[str, int]] = []
        self._fails_after = fails_after

    def __call__(self, prompt: str, count: int, seed: int) -> Sequence[Reply]:
        if len(self.asked) >= self._fails_after:
            raise TrainingError("it broke off")
        self.asked.append((prompt, seed))
        return [
            Reply(text=text_of(number + seed), cut=False, prompt_tokens=10, completion_tokens=5)
            for number in range(count)
        ]


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
    assert "Cost: 240 prompt tokens, 120 completion tokens." in report
    kept = json.loads((tmp_path / "out" / "figures.json").read_text())["figures"]
    assert kept["best@2"]["low"] < kept["best@2"]["value"] < kept["best@2"]["high"]


def test_an_interrupted_evaluation_asks_only_what_is_missing(tmp_path: Path) -> None:
    questions, folder = questions_of(NAME, "test"), tmp_path / "out"
    with pytest.raises(TrainingError, match="broke off"):
        evaluate_model(SETTINGS, questions, Model(fails_after=3), folder, concurrency=1)
    with (folder / "answers.jsonl").open("a") as log:
        log.write('{"seed": 0, "quest')  # a crash in the middle of a line
    rest = Model()
    whole = evaluate_model(SETTINGS, questions, rest, folder, concurrency=1)
    assert len(rest.asked) == 8 - 3
    assert whole == pytest.approx(evaluate_model(SETTINGS, questions, Model(), tmp_path / "other"))
    again = Model()
    assert evaluate_model(SETTINGS, questions, again, folder) == pytest.approx(whole)
    assert again.asked == []
    other = EvaluationSettings(domain=NAME, model="m", m=3, chains=3, seeds=(0, 1))
    with pytest.raises(TrainingError, match="holds an evaluation with other settings"):
        evaluate_model(other, questions, Model(), folder)


def test_an_answer_with_every_score_passes() -> None:
    domain = open_domain(NAME)
    found = figures_of(domain, np.array([[1.0, 1.0, 1.0], [0.0, 0.0, 0.0]]), [0.0] * 3)
    assert found["pass@1"] == 0.5
    assert found["pass@2"] == 1.0
    assert found["volume"] == pytest.approx(1.0)


@pytest.fixture
def url() -> Iterator[str]:
    """A server of chat completions."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked: dict[str, Any] = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            count = {"m": asked["n"], "one": 1}.get(asked["model"], 0)
            found = {
                "choices": [
                    {"message": {"content": text_of(asked["seed"] + number)}, "finish_reason": "stop"}
                    for number in range(count)
                ],
                "usage": {"prompt_tokens": 30, "completion_tokens": 20 * count},
            }
            known = asked["model"] != "other"
            body = json.dumps(found if known else {"error": "no such model"}).encode()
            self.send_response(200 if known else 404)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            """Quiet."""

    served = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=served.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{served.server_port}/v1"
    served.shutdown()
    thread.join()
    served.server_close()


def test_a_server_of_chat_completions_is_measured(url: str, tmp_path: Path) -> None:
    words = ["train", "evaluate", NAME, "--server", url, "-o", str(tmp_path / "out"), "--answers", "2", "--chains", "3"]
    assert main([*words, "--model", "m", "--json"]) == 0
    lines = (tmp_path / "out" / "answers.jsonl").read_text().splitlines()
    assert [json.loads(line)["completion_tokens"] for line in lines] == [60] * 4
    one = server(url, EvaluationSettings(domain=NAME, model="one"))("p", 3, 5)  # it ignores n
    assert [reply.text for reply in one] == [text_of(15), text_of(16), text_of(17)]
    assert sum(reply.prompt_tokens for reply in one) == 90
    with pytest.raises(TrainingError, match="gave no completions: ask it for another"):
        server(url, EvaluationSettings(domain=NAME, model="none"))("p", 3, 0)
    with pytest.raises(TrainingError, match="refused the request"):
        server(url, EvaluationSettings(domain=NAME, model="other"))("p", 1, 0)
    with pytest.raises(TrainingError, match="gave no completions"):
        server("http://127.0.0.1:9/v1", SETTINGS)("p", 1, 0)
