"""Measures a model on the questions of a domain: n completions of m answers each, from any server of chat completions.

What was answered is kept question by question, so an interrupted evaluation continues and a finished one costs nothing.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import httpx
import numpy as np

from evolve.domains import floors_of, grade, open_domain
from evolve.multiobjective.scalarization import Floats
from evolve.statistics.answer_sets import best_at_k, expected_max_at_k, mean_pairwise_l1, pass_at_k, volume
from evolve.vpo import draw_weights
from training.errors import TrainingError
from training.plots import draw_evaluation
from training.study import intervals
from training.study.markdown import cell, table

KS = (1, 2, 3, 5, 10, 15, 20, 30, 64)
DRAWS = 100
CURVES = ("best", "pass", "ew")
ANSWERS, SETTINGS, FIGURES, REPORT = "answers.jsonl", "settings.json", "figures.json", "report.md"
PICTURE = "curves.svg"
_SEED = 2605_22817
_RIGHT = 1 - 1e-9  # a scalar from here on counts as passed


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationSettings:
    """How a model is asked. The defaults are the published protocol: 30 answers at temperature 0.7.

    Attributes:
        domain: its name, or `module:Class`.
        model: its name on the server.
        m: answers of a completion.
        chains: completions to a question.
        seeds: of the sampling. Each asks every question anew, so four seeds cost four times as much.
    """

    domain: str
    model: str
    m: int = 3
    chains: int = 10
    temperature: float = 0.7
    top_p: float = 1.0
    max_tokens: int = 1024
    seeds: tuple[int, ...] = (0,)

    def __post_init__(self) -> None:
        if min(self.m, self.chains, self.max_tokens, len(self.seeds)) < 1:
            raise TrainingError("m, chains, max_tokens and the number of seeds must be at least 1.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """A completion, whether it ran out of tokens, and the tokens of its request, if it is the first of that."""

    text: str
    cut: bool
    prompt_tokens: int
    completion_tokens: int


Ask = Callable[[str, int, int], Sequence[Reply]]  # (prompt, number of completions, seed)


def server(url: str, settings: EvaluationSettings, key: str = "", timeout_seconds: float = 600.0) -> Ask:
    """Asks a server that speaks OpenAI's chat completions, such as vLLM.

    A server that writes fewer completions than it is asked for, as some that ignore `n` do, is asked for the rest.
    """
    headers = {"Authorization": f"Bearer {key}"} if key else {}

    def request(prompt: str, count: int, seed: int) -> list[Reply]:
        body = {
            "model": settings.model, "messages": [{"role": "user", "content": prompt}], "n": count, "seed": seed,
            "temperature": settings.temperature, "top_p": settings.top_p, "max_tokens": settings.max_tokens,
        }  # fmt: skip
        try:
            answer = httpx.post(
                f"{url.rstrip('/')}/chat/completions", json=body, headers=headers, timeout=timeout_seconds
            )
            answer.raise_for_status()
            found = answer.json()
            usage = [int((found.get("usage") or {}).get(name, 0)) for name in ("prompt_tokens", "completion_tokens")]
            replies = []
            for choice in found["choices"]:
                text, cut = choice["message"]["content"] or "", choice.get("finish_reason") == "length"
                replies.append(Reply(text=text, cut=cut, prompt_tokens=usage[0], completion_tokens=usage[1]))
                usage = [0, 0]  # the first bears what the request used
        except httpx.HTTPStatusError as error:
            raise TrainingError(f"{url} refused the request: {error.response.text[:200]}") from error
        except (httpx.HTTPError, ValueError, LookupError, TypeError, AttributeError) as error:
            raise TrainingError(
                f"{url} gave no completions ({error}): start the server, then run this again."
            ) from error
        if not replies:
            raise TrainingError(f"{url} gave no completions: ask it for another model.")
        return replies

    def ask(prompt: str, count: int, seed: int) -> list[Reply]:
        replies: list[Reply] = []
        while len(replies) < count:
            # The seeds of no two requests are equal: with the same one, a server writes the same again.
            replies += request(prompt, count - len(replies), seed * count + len(replies))
        return replies[:count]

    return ask


def evaluate_model(
    settings: EvaluationSettings,
    questions: Sequence[Any],
    ask: Ask,
    folder: Path,
    *,
    concurrency: int = 8,
    report: Callable[[int, int], None] = lambda *_: None,
) -> dict[str, float]:
    """Answer all questions that are not answered yet, and write `figures.json` and `report.md`. Returns mean figures.

    Raises:
        TrainingError: the folder holds an evaluation with other settings, or the server gives no completions.
    """
    _claim(folder, settings)
    path = folder / ANSWERS
    known = _known(path)
    wanted = [(seed, place) for seed in settings.seeds for place in range(len(questions))]
    missing = [key for key in wanted if key not in known]
    domain = open_domain(settings.domain)

    def answer(key: tuple[int, int]) -> dict[str, Any]:
        seed, place = key
        question = questions[place]
        replies = ask(domain.prompt(question, settings.m), settings.chains, seed)
        graded = [grade(domain, question, reply.text, settings.m, reply.cut).rewards.tolist() for reply in replies]
        return {
            "seed": seed, "question": place, "rewards": graded, "cut": [reply.cut for reply in replies],
            "floors": list(floors_of(domain, question).values()),
            "prompt_tokens": sum(reply.prompt_tokens for reply in replies),
            "completion_tokens": sum(reply.completion_tokens for reply in replies),
        }  # fmt: skip

    with ThreadPoolExecutor(concurrency) as pool, path.open("a", encoding="utf-8") as log:
        for done, line in enumerate(pool.map(answer, missing), start=1):
            log.write(json.dumps(line) + "\n")
            log.flush()
            report(len(wanted) - len(missing) + done, len(wanted))
    return _summarise(settings, _known(path), len(questions), folder)


def figures_of(domain: Any, rewards: Floats, floors: Sequence[float]) -> dict[str, float]:
    """The figures of the answers to a question, (n, k), in the order drawn.

    `best@k` is the expected best scalar of k answers, `pass@k` the probability that one of k earns the full scalar,
    `ew@k` E_w of the best of k. `volume` is the hypervolume above the floors, `diversity` the mean L1 distance.
    """
    scalars = np.array([domain.scalar(row) for row in rewards])
    weights = draw_weights(rewards.shape[1], np.random.default_rng(_SEED), DRAWS)
    n, passed = len(rewards), int((scalars >= _RIGHT).sum())
    found: dict[str, float] = {}
    for k in (k for k in KS if k <= n):
        found[f"best@{k}"] = float(best_at_k(scalars, k))
        found[f"pass@{k}"] = float(pass_at_k(n, passed, k))
        found[f"ew@{k}"] = expected_max_at_k(rewards, weights, k)
    found["volume"] = volume(rewards, floors, np.random.default_rng(_SEED))
    found["diversity"] = mean_pairwise_l1(rewards)
    return found


def _claim(folder: Path, settings: EvaluationSettings) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    path, told = folder / SETTINGS, json.loads(json.dumps(asdict(settings)))
    if path.exists():
        before = json.loads(path.read_text(encoding="utf-8"))
        # More seeds continue an evaluation. All else makes it another.
        if {**before, "seeds": None} != {**told, "seeds": None}:
            raise TrainingError(f"{folder} holds an evaluation with other settings: name another folder.")
    path.write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")


def _known(path: Path) -> dict[tuple[int, int], Mapping[str, Any]]:
    """The answered questions; a line that was cut off by a crash is not one of them."""
    found: dict[tuple[int, int], Mapping[str, Any]] = {}
    kept = []
    for text in path.read_text(encoding="utf-8").splitlines(keepends=True) if path.exists() else []:
        try:
            line = json.loads(text)
        except ValueError:
            continue
        found[line["seed"], line["question"]] = line
        kept.append(text)
    path.write_text("".join(kept), encoding="utf-8")
    return found


def _summarise(
    settings: EvaluationSettings, known: Mapping[tuple[int, int], Mapping[str, Any]], count: int, folder: Path
) -> dict[str, float]:
    domain = open_domain(settings.domain)
    rows = {
        key: figures_of(domain, np.concatenate([np.array(chain) for chain in line["rewards"]]), line["floors"])
        for key, line in known.items()
    }
    names = list(next(iter(rows.values())))
    tables = {name: [[rows[seed, place][name] for place in range(count)] for seed in settings.seeds] for name in names}
    means = {name: intervals.mean(values) for name, values in tables.items()}
    tokens = {
        name: sum(int(known[seed, place][name]) for seed in settings.seeds for place in range(count))
        for name in ("prompt_tokens", "completion_tokens")
    }
    figures = {name: {"value": found.value, "low": found.low, "high": found.high} for name, found in means.items()}
    (folder / FIGURES).write_text(json.dumps({"figures": figures, **tokens}, indent=1) + "\n", encoding="utf-8")
    ks = [k for k in KS if f"best@{k}" in means]
    curves = [[name, *(cell(means[f"{name}@{k}"]) for k in ks)] for name in CURVES]
    others = [[name, cell(means[name])] for name in ("volume", "diversity")]
    text = (
        f"# {settings.model} on {settings.domain}\n\n{count} questions, {len(settings.seeds)} seeds,"
        f" {settings.chains} completions of {settings.m} answers at temperature {settings.temperature:g} and top-p"
        f" {settings.top_p:g}. Intervals are Student's, over questions and seeds.\n\n"
        f"{table(['', *(f'k = {k}' for k in ks)], curves)}\n\n{table(['figure', 'mean'], others)}\n\n"
        f"Cost: {tokens['prompt_tokens']:,} prompt tokens, {tokens['completion_tokens']:,} completion tokens.\n"
    )
    (folder / REPORT).write_text(text, encoding="utf-8")
    if find_spec("matplotlib") is not None:
        draw_evaluation(ks, {name: [means[f"{name}@{k}"] for k in ks] for name in CURVES}, folder / PICTURE)
    return {name: found.value for name, found in means.items()} | {name: float(sum_) for name, sum_ in tokens.items()}
