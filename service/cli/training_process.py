"""The process of the back end `trl`: `python -m service.cli.training_process KIND SETTINGS`.

KIND is `train`, `update` within a run, or `evaluate`.

The trainer starts it and reads its lines. The settings are the file that `service.trainer.trl` writes.
"""

import json
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evolve.answers.continuation import CONTINUE
from service.bootstrap.evaluators import choose_evaluators
from service.cli.training_report import hide_library_warnings
from service.config import load_settings
from service.jsonlines import as_line
from service.problems.configuration import config_from_json
from service.problems.load import load_problem
from service.trainer.trl import MAX_TOKENS, SFT
from service.usecases.prompt_templates import folder_templates
from service.usecases.sync_scoring import open_sync_scoring

if TYPE_CHECKING:
    from training.candidate_sources import CandidateSource
    from training.lora import RecordedProblem

Settings = Mapping[str, Any]
_DRAWN_ANSWERS = 1  # of a demonstration
_EVALUATED = ("completions", "completion_tokens")  # are of the evaluation alone


def main(words: Sequence[str]) -> None:
    """Train, update or evaluate.

    Raises:
        EvolveError, ServiceError: it cannot begin or go on.
    """
    from training.base_model import require_frameworks

    kind, path = words
    settings: Settings = json.loads(Path(path).read_text(encoding="utf-8"))
    require_frameworks()
    hide_library_warnings()
    if settings["threads"]:
        import torch

        torch.set_num_threads(settings["threads"])
    if kind == "evaluate":
        _evaluate(settings)
    elif kind == "update":
        _update(settings)
    elif settings["method"] == SFT:
        _teach(settings)
    else:
        _reinforce(settings)


def _reinforce(settings: Settings) -> None:
    """Reinforcement learning on the prompts of the runs."""
    from training.adapters.weighting import Weighting
    from training.lora import LoraSettings, train_on_problems

    given = _numbers(settings, without=_EVALUATED)
    chosen = LoraSettings(
        model=settings["model"],
        output=Path(settings["output"]),
        method=settings["method"],
        k=settings["k"],
        steps=settings["steps"],
        start=None if settings["start"] is None else Path(settings["start"]),
        save_every=settings["save_every"],
        resume=_prepared(settings),
        records=tuple(Path(run["records"]) for run in settings["runs"]),
        weighting=Weighting(seed=settings["seed"]),
        **given,
    )
    with _problems(settings) as problems:
        train_on_problems(chosen, problems, lambda line: _tell(settings, "reinforce", line))


def _teach(settings: Settings) -> None:
    """Supervised fine-tuning on children that the runs found valid, drawn by their worth."""
    from training.demonstrations import DemonstrationSettings
    from training.sft import SftSettings, train_sft

    given = _numbers(settings)
    form: dict[str, Any] = next((found for run in settings["runs"] if (found := _form(run))), {})
    shown = DemonstrationSettings(
        answers=(given.get("answers", _DRAWN_ANSWERS),),
        max_tokens=given.get("max_tokens", MAX_TOKENS),
        reward_temperature=float(given.get("reward_temperature", 1.0)),
        seed=settings["seed"],
        **form,
    )
    chosen = SftSettings(
        model=settings["model"],
        output=Path(settings["output"]),
        demonstrations=shown,
        updates=settings["steps"],
        save_every=settings["save_every"],
        resume=_prepared(settings),
        **{name: given[name] for name in ("batch", "rank", "rate") if name in given},
    )
    train_sft(chosen, [_source(run) for run in settings["runs"]], lambda line: _tell(settings, SFT, line))


def _update(settings: Settings) -> None:
    """Train on the answers of a run, within it."""
    from training.answered_prompts import UpdateSettings
    from training.within_run_lora import AdapterUpdate, update_adapter

    asked = json.loads(Path(settings["update"]).read_text(encoding="utf-8"))
    newest, start = (None if asked[name] is None else Path(asked[name]) for name in ("newest", "start"))
    update = AdapterUpdate(
        model=settings["model"],
        newest=newest,
        start=start,
        records=Path(settings["records"]).read_text(encoding="utf-8").splitlines(),
        after=asked["after"],
        bounded=asked["bounded"],
        output=Path(settings["output"]),
        settings=UpdateSettings(**asked["settings"]),
    )
    update.output.mkdir(exist_ok=True)
    update_adapter(update, lambda line: _tell({"steps": line["steps"]}, "update", line))


def _evaluate(settings: Settings) -> None:
    """Measure an adapter on the prompts of held-out parents."""
    from training.harness import EvaluationSettings
    from training.program_judge import ProgramJudge
    from training.prompt_evaluation import find_prompts, measure_prompts
    from training.records import read_records

    asking = EvaluationSettings(
        domain="", model="", chains=settings["completions"], temperature=settings["temperature"],
        max_tokens=settings["max_tokens"], seeds=(settings["seed"],),
    )  # fmt: skip
    with _problems(settings) as problems:
        read = [read_records(one.records) for one in problems]
        judges = [ProgramJudge(one.problem, one.evaluate, own) for one, own in zip(problems, read, strict=True)]
        asked = find_prompts(Path(settings["asked"]), read)
        values = measure_prompts(asking, Path(settings["adapter"]), asked, judges, read)
    partial = Path(f"{settings['values']}.part")
    partial.write_text(json.dumps(values) + "\n", encoding="utf-8")
    partial.replace(settings["values"])


@contextmanager
def _problems(settings: Settings) -> "Iterator[list[RecordedProblem]]":
    """The problems of the runs that have records, with what scores their programs."""
    from training.lora import RecordedProblem

    found = []
    problems: dict[str, list[Mapping[str, str]]] = {}
    for run in settings["runs"]:
        if Path(run["records"]).stat().st_size:
            problems.setdefault(_document(run)["bundle_hash"], []).append(run)
    with ExitStack() as opened:
        for runs in problems.values():
            evaluators = choose_evaluators(load_settings(), queue="")
            others, folder = bool(_document(runs[0])["others"]), Path(runs[0]["problem"])
            problem, evaluate = opened.enter_context(open_sync_scoring(folder, evaluators, others=others))
            found.append(RecordedProblem(problem, evaluate, tuple(Path(run["records"]) for run in runs)))
        yield found


def _source(run: Mapping[str, str]) -> "CandidateSource":
    from training.candidate_sources import CandidateSource, read_candidates

    problem = load_problem(Path(run["problem"])).problem
    config = config_from_json(_document(run)["config"])
    with Path(run["candidates"]).open(encoding="utf-8") as lines:
        candidates = read_candidates(lines, problem, run["run_id"])
    return CandidateSource(
        name=run["run_id"], problem=problem, candidates=candidates, prompt=config.prompt,
        inspirations=config.inspirations, templates=folder_templates(Path(run["problem"]), config),
    )  # fmt: skip


def _form(run: Mapping[str, str]) -> dict[str, str]:
    """The form in which the first policy of a run that has one answers."""
    policies = _document(run)["policies"]
    found = next((one for one in policies if one.get("format") and one.get("edits") != CONTINUE), None)
    return {} if found is None else {name: found[name] for name in ("format", "edits") if found.get(name)}


def _document(run: Mapping[str, str]) -> Mapping[str, Any]:
    document: Mapping[str, Any] = json.loads(Path(run["document"]).read_text(encoding="utf-8"))
    return document


def _prepared(settings: Settings) -> bool:
    """Whether there is a checkpoint to resume from. Checkpoints that a killed process left unfinished are removed."""
    from training.adapter_files import remove_unfinished

    return remove_unfinished(Path(settings["output"]))


def _numbers(settings: Settings, without: Collection[str] = ()) -> dict[str, Any]:
    """The hyperparameters, whole numbers as such."""
    given = {name: value for name, value in settings["hyperparameters"].items() if name not in without}
    return {name: int(value) if value == int(value) else value for name, value in given.items()}


def _tell(settings: Settings, stage: str, line: Mapping[str, Any]) -> None:
    """Print an update for the trainer. It draws no other lines."""
    if "step" in line:
        told = {"schema": 1, "kind": "training.step", "stage": stage, "steps": settings["steps"], **line}
        print(as_line(told), flush=True)


if __name__ == "__main__":
    from service.cli.main import explained

    sys.exit(explained(lambda: main(sys.argv[1:])))
