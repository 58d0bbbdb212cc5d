"""The runs of a training job, written into the job's folder for its back end."""

import json
import shutil
from collections.abc import Collection, Iterable
from pathlib import Path

from service.policy_settings.choice import submitted
from service.ports import ProblemStore, Readers, TrainingJob
from service.ports.training_backends import CANDIDATES, PROBLEM, RECORDS, RUNS_FOLDER, RunData, held_out_runs
from service.problems.bundle import unpack
from service.projections.export import lines_of

# Copies that back ends make of the data, beside the data themselves.
_COPIES = (RUNS_FOLDER, "trained")


class RunDataWriter:
    """Writes runs, each once: a run that continues is trained on as it was when the job began.

    Args:
        readers: runs by tenant.
        problems: those of the runs.
    """

    def __init__(self, readers: Readers, problems: ProblemStore) -> None:
        self._readers, self._problems = readers, problems

    def write(self, job: TrainingJob, needs: Collection[str], folder: Path) -> None:
        """Write what a back end needs of the runs of a job, and of those that compare versions.

        Raises:
            NotFoundError: a run was deleted.
            StorageError: the problem of a run is damaged.
        """
        reader = self._readers.of(job.tenant)
        for run_id in (*job.runs, *held_out_runs(job)) if needs else ():
            place = RunData.of(folder, run_id)
            if place.document.exists():
                continue
            shutil.rmtree(place.document.parent, ignore_errors=True)
            place.document.parent.mkdir(parents=True)
            run = reader.run(run_id)
            if RECORDS in needs:
                _write(place.records, lines_of(reader, run, "training"))
            if CANDIDATES in needs:
                _write(place.candidates, lines_of(reader, run, "jsonl"))
            if PROBLEM in needs:
                unpack(self._problems.bundle(run.bundle_hash), place.problem)
            document = {
                "problem_name": run.problem_name, "bundle_hash": run.bundle_hash, "others": submitted(run.source),
                "config": dict(run.config), "policies": [dict(policy) for policy in run.policies],
            }  # fmt: skip
            # Written last: a run whose document is there is written whole.
            _write(place.document, [json.dumps(document)])


def forget_runs(folder: Path) -> None:
    """Remove the data of runs from the folder of a job, with what back ends copied of them."""
    for name in _COPIES:
        shutil.rmtree(folder / name, ignore_errors=True)


def _write(path: Path, lines: Iterable[str]) -> None:
    partial = path.with_name(f".{path.name}.part")
    with partial.open("w", encoding="utf-8") as stream:
        stream.writelines(lines)
    partial.replace(path)
