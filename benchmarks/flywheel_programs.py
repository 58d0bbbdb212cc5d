"""A flywheel of a served language model on programs: `python -m benchmarks.flywheel_programs FOLDER --url URL ...`.

A small instruct model gets a warm start on the built-in mutator's searches of three formulas. With each seed, a
flywheel searches these formulas with it, trains by reward-weighted SFT on all that it found valid, and asks the gate
on two held-out formulas. Then the new version and the frozen one search three formulas that nothing was trained on.
The plan is in docs/study.md, and was settled before the first run.

Everything is kept in the folder: databases, adapters, and the events of each search under `raw`. A call continues what
was interrupted. `results.json` holds the tables and the figures of every search.
"""

import argparse
import json
import math
import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.formulas import LAWS, write_families
from benchmarks.harness import report
from evolve.statistics.intervals import Estimate
from evolve.statistics.t_distribution import quantile
from service.problems.toml_writer import toml_text

FROZEN, TRAINED = "frozen", "trained"
POLL_SECONDS = 5.0
MEASURES = ("yield", "improvement", "best")
# How every version is asked. Fixed, so that versions alone differ.
FORM: Mapping[str, Any] = {
    "format": "tags:answer", "edits": "rewrite", "answers": 1, "samples": 4, "temperature": 0.7, "max_tokens": 80,
    "concurrency": 4,
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramsSize:
    """How much is done.

    Attributes:
        mutated: evaluations of each search of the warm start.
        updates, batch, rank: of each training.
        answers, tested: of a search of the flywheel, and of one on a test problem: a limit.
        evaluations: of a search of the flywheel.
        asked, completions: prompts of the gate, and completions to each.
    """

    seeds: int = 3
    mutated: int = 60
    updates: int = 10
    batch: int = 2
    rank: int = 16
    answers: int = 32
    tested: int = 24
    evaluations: int = 24
    asked: int = 6
    completions: int = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """The model.

    Attributes:
        model: its folder, for trainings.
        url: address of the vLLM that serves it, and takes adapters.
    """

    model: Path
    url: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchPath:
    """A search, proposal by proposal in the order of the answers.

    Attributes:
        tokens: written so far.
        valid: new programs with a score so far.
        best: score so far. The seed's before the first.
        seed: the score of the seed.
    """

    tokens: Sequence[int]
    valid: Sequence[int]
    best: Sequence[float]
    seed: float


class Place:
    """The command, with a database of its own in a folder."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self._environment = os.environ | {"EVOLVE_DATABASE__URL": f"sqlite:///{folder / 'runs.db'}"}

    def call(self, *words: str, codes: Sequence[int] = (0,)) -> str:
        """What a command prints.

        Raises:
            SystemExit: it ends with another code.
        """
        command = [sys.executable, "-m", "service.cli.main", *words]
        with (self.folder / "log.txt").open("a", encoding="utf-8") as log:
            log.write(f"\n$ evolve {' '.join(words)}\n")
            log.flush()
            done = subprocess.run(command, env=self._environment, stdout=subprocess.PIPE, stderr=log, check=False)
        out = done.stdout.decode()
        if done.returncode not in codes:
            raise SystemExit(f"evolve {words[0]} ended with {done.returncode}: see {self.folder / 'log.txt'}")
        return out

    def start(self, *words: str) -> "subprocess.Popen[bytes]":
        """A command that goes on."""
        with (self.folder / "log.txt").open("a", encoding="utf-8") as log:
            command = [sys.executable, "-m", "service.cli.main", *words]
            return subprocess.Popen(command, env=self._environment, stdout=log, stderr=log)

    def lines(self, *words: str) -> list[Any]:
        """The JSON lines of a command. Nothing if the place has nothing of the kind."""
        return [json.loads(line) for line in self.call(*words, "--json", codes=(0, 3)).splitlines()]


def warm_start(size: ProgramsSize, served: Served, family: Path, folder: Path) -> Path:
    """The adapter that knows the form, trained on searches of the built-in mutator."""
    place, output = Place(folder), folder / "trained"
    adapter = output / "adapter"
    if not (adapter / "evolve.toml").exists():
        done = {run["problem_name"]: run["run_id"] for run in place.lines("runs")}
        for name in LAWS["searched"]:
            if name not in done:
                budget = ("--evaluations", str(size.mutated), "--set", "budget.answers=none")
                place.call("run", str(family / "searched" / name), "--policy", "syntax", *budget)
        runs = [run["run_id"] for run in place.lines("runs")]
        numbers = {"--updates": size.updates, "--batch": size.batch, "--rank": size.rank, "--threads": 1}
        words = tuple(word for name, value in numbers.items() for word in (name, str(value)))
        begun = ("--resume",) if (output / "checkpoints").exists() else ()
        form = ("--answers", "1", "--format", str(FORM["format"]), "--edits", str(FORM["edits"]))
        place.call("train", "sft", *runs, "--model", str(served.model), "-o", str(output), *form, *words, *begun)
        (adapter / "evolve.toml").write_text(toml_text(FORM), encoding="utf-8")
    return adapter


def run_seed(size: ProgramsSize, served: Served, seed: int, warm: Path, folder: Path) -> dict[str, Any]:
    """A flywheel of one round, and the searches of its version and of the frozen one."""
    place, family = Place(folder / f"seed-{seed}"), folder / "family"
    began = time.monotonic()
    if not place.lines("policy", "show", "writer"):
        place.call("policy", "add", "writer", str(warm), "--served", served.url)
    place.call("policy", "promote", "writer@1", codes=(0, 5))
    settings = {"rank": size.rank, "batch": size.batch, "completions": size.completions}
    place.call(
        "flywheel", "run", "programs", str(family / "searched"), "--policy", "writer", "--backend", "trl",
        "--method", "sft", "--model", str(served.model), "--served", served.url, "--rounds", "1",
        "--problems", str(len(LAWS["searched"])), "--evaluations", str(size.evaluations),
        "--held-out", str(family / "gate"), "--test-problems", str(size.asked), "--steps", str(size.updates),
        "--seed", str(seed), "--threads", "1", "--save-every", "4", "--folder", str(place.folder / "training"),
        "--parallel", "5", "--allow-training",
        *(word for name, value in settings.items() for word in ("--set", f"{name}={value}")), codes=(0, 1),
    )  # fmt: skip
    (found,) = place.lines("flywheel", "show", "programs")
    job = found["job"] if found["version"] is not None else _trained_without_gate(size, served, seed, place)
    adapter = place.folder / "training" / job / "training" / "adapter"
    names = {FROZEN: f"writer-{seed}-frozen", TRAINED: f"writer-{seed}-trained"}
    for arm, at in ((FROZEN, warm), (TRAINED, adapter)):
        place.call("policy", "load", names[arm], str(at), "--policy", served.url, codes=(0, 5))
    _search(size, served, seed, place, names)
    gate = {name: found[name] for name in ("version", "promoted", "refusal", "tokens", "evaluations", "evaluation")}
    gate["error"] = next((one["error"] for one in place.lines("training", "list") if one["id"] == found["job"]), "")
    return {"seed": seed, "gate": gate, "seconds": round(time.monotonic() - began)}


def _trained_without_gate(size: ProgramsSize, served: Served, seed: int, place: Place) -> str:
    """The same training without a gate, for which the held-out problems had too few prompts. The id of its job."""
    jobs = [one for one in place.lines("training", "list") if not one["request"]["test_problems"]]
    if not jobs:
        place.call(
            "training", "submit", "writer", "--backend", "trl", "--method", "sft", "--model", str(served.model),
            "--served", served.url, "--label", "flywheel=programs", "--test-problems", "0", "--seed", str(seed),
            "--steps", str(size.updates), "--set", f"rank={size.rank}", "--set", f"batch={size.batch}",
        )  # fmt: skip
        jobs = place.lines("training", "list")
    job = str(jobs[0]["id"])
    folder = str(place.folder / "training")
    with place.start("trainer", "--folder", folder, "--threads", "1", "--save-every", "4") as trainer:
        try:
            while (found := place.lines("training", "show", job)[0])["state"] in ("queued", "running"):
                time.sleep(POLL_SECONDS)
        finally:
            trainer.terminate()
    if found["state"] != "succeeded":
        raise SystemExit(f"the training {job} ended: {found['error']}")
    return job


def _search(size: ProgramsSize, served: Served, seed: int, place: Place, names: Mapping[str, str]) -> None:
    """Both arms on the test problems, in one batch, and their events in files."""
    raw = place.folder / "raw"
    runs = place.lines("runs", "--label", "phase=test")
    if not runs:
        policies = {
            arm: {"name": arm, "base_url": served.url, "model": name, **FORM, "adapt": []}
            for arm, name in names.items()
        }
        asked = [
            {
                "problem": str(raw.parents[1] / "family" / "test" / problem), "policy": policies[arm],
                "config": {"seed": 1000 * seed + number, "budget": {"answers": size.tested, "evaluations": 1000}},
                "labels": {"phase": "test", "arm": arm, "problem": problem},
            }
            for number, problem in enumerate(LAWS["test"])
            for arm in names
        ]  # fmt: skip
        (place.folder / "test.toml").write_text(toml_text({"name": "test", "runs": asked}), encoding="utf-8")
        place.call("batch", str(place.folder / "test.toml"), "--parallel", "8", codes=(0, 1))
    elif any(run["state"] not in ("succeeded", "failed") for run in runs):
        place.call("batch", "last", "--parallel", "8", codes=(0, 1))
    raw.mkdir(exist_ok=True)
    for run in place.lines("runs", "--label", "phase=test"):
        path = raw / f"{run['labels']['arm']}-{run['labels']['problem']}.jsonl"
        if not path.exists():
            place.call("export", run["run_id"], "--format", "events", "-o", str(path))


def read_path(lines: Sequence[str]) -> SearchPath:
    """A search, from its events."""
    events = [json.loads(line) for line in lines]
    proposal: dict[str, int] = {}
    scores: dict[int, list[float]] = {}
    answered: list[tuple[int, int]] = []
    for event in events:
        kind = event["kind"]
        if kind == "candidate.created":
            proposal[event["candidate_id"]] = event["proposal_number"]
        elif kind == "candidate.evaluated" and event["outcome"] == "ok":
            scores.setdefault(proposal[event["candidate_id"]], []).append(float(event["fitness"]))
        elif kind in ("proposal.answered", "proposal.failed"):
            answered.append((event["proposal_number"], (event.get("tokens") or {}).get("output", 0)))
    seed = max(scores.get(0, [0.0]))
    found = [scores.get(number, []) for number, _ in answered]
    return SearchPath(
        tokens=np.cumsum([tokens for _, tokens in answered]).tolist(),
        valid=np.cumsum([len(one) for one in found]).tolist(),
        best=np.maximum.accumulate([max([seed, *one]) for one in found]).tolist(),
        seed=seed,
    )


def measured(paths: Mapping[str, SearchPath]) -> dict[str, dict[str, float]]:
    """The measures of each arm on a problem, within the tokens that every arm has written."""
    common = min(path.tokens[-1] if path.tokens else 0 for path in paths.values())
    found = {}
    for arm, path in paths.items():
        within = sum(tokens <= common for tokens in path.tokens)
        best = path.best[within - 1] if within else path.seed
        valid, spent = (path.valid[within - 1], path.tokens[within - 1]) if within else (0, 0)
        found[arm] = {
            "yield": 1000 * valid / spent if spent else 0.0,
            "improvement": 1000 * (best - path.seed) / spent if spent else 0.0,
            "best": best,
            "tokens": spent,
            "written": path.tokens[-1] if path.tokens else 0,
            "valid": valid,
        }
    return found


def over_seeds(values: Sequence[float]) -> Estimate:
    """A mean over seeds, or pairs, with Student's interval. A single one has none."""
    mean = float(np.mean(values))
    if len(values) < 2:
        return Estimate(value=mean, low=-math.inf, high=math.inf)
    reach = quantile(0.975, len(values) - 1) * float(np.std(values, ddof=1)) / math.sqrt(len(values))
    return Estimate(value=mean, low=mean - reach, high=mean + reach)


def tables(found: Sequence[Mapping[str, Mapping[str, Mapping[str, float]]]]) -> dict[str, Any]:
    """Means of each arm and paired differences, of seeds with the figures of every problem and arm."""

    def of_seed(one: Mapping[str, Mapping[str, Mapping[str, float]]], arm: str, measure: str) -> float:
        return float(np.mean([arms[arm][measure] for arms in one.values()]))

    shown: dict[str, Any] = {}
    for measure in MEASURES:
        own, frozen = ([of_seed(one, arm, measure) for one in found] for arm in (TRAINED, FROZEN))
        pairs = [arms[TRAINED][measure] - arms[FROZEN][measure] for one in found for arms in one.values()]
        shown[measure] = {
            TRAINED: str(over_seeds(own)),
            FROZEN: str(over_seeds(frozen)),
            "difference": over_seeds(np.subtract(own, frozen).tolist()).signed,
            "over_pairs": over_seeds(pairs).signed,
            "problems": {
                problem: [round(one[problem][TRAINED][measure] - one[problem][FROZEN][measure], 4) for one in found]
                for problem in found[0]
            },
        }
    return shown


def main() -> None:
    """Run every seed, and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="folder for all results")
    parser.add_argument("--url", required=True, help="address of the vLLM, which takes adapters")
    parser.add_argument("--model", type=Path, required=True, help="folder of the model that it serves")
    for name, value in asdict(ProgramsSize()).items():
        parser.add_argument(f"--{name}", type=int, default=value)
    words = vars(parser.parse_args())
    folder, served = words.pop("folder").resolve(), Served(url=words.pop("url"), model=words.pop("model").resolve())
    size = ProgramsSize(**words)
    write_families(folder / "family", size.answers)
    warm = warm_start(size, served, folder / "family", folder / "warm")
    told, found = [], []
    for seed in range(size.seeds):
        told.append(run_seed(size, served, seed, warm, folder))
        raw = folder / f"seed-{seed}" / "raw"
        found.append(
            {
                problem: measured(
                    {
                        arm: read_path((raw / f"{arm}-{problem}.jsonl").read_text(encoding="utf-8").splitlines())
                        for arm in (FROZEN, TRAINED)
                    }
                )
                for problem in LAWS["test"]
            }
        )
        figures = {"size": asdict(size), "seeds": told, "tables": tables(found), "searches": found}
        report("flywheel_programs", figures, folder / "results.json")


if __name__ == "__main__":
    main()
