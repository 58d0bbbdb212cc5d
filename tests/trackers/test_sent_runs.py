"""A run that was sent is read back with each library's own reader: its numbers, times, program and picture."""

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import evolve
from evolve.search.result import Result
from service.bootstrap.storage import open_reader
from service.config import load_settings
from service.projections.columns import columns_of
from service.projections.series import SeriesSample, fold_series

# Warnings of the libraries are for those who write them.
pytestmark = [pytest.mark.trackers, pytest.mark.filterwarnings("default")]

PICTURE = '<svg xmlns="http://www.w3.org/2000/svg" width="8" height="8"><circle r="4"/></svg>'
MLFLOW_RUN = "evolve.run_id"


def score(source: str) -> dict[str, Any]:
    space: dict[str, float] = {}
    exec(source, space)
    return {"score": -abs(space["x"] - 42), "view": PICTURE}


def sent(targets: dict[str, str], name: str) -> tuple[Result, list[SeriesSample]]:
    """A run that was sent to a tracker while it went on, and the moments of its charts."""
    result = evolve.run(
        "x = 7\n",
        evaluate=score,
        evaluations=12,
        seed=3,
        storage="runs.db",
        name="sent",
        labels={"study": "s1"},
        track=f"{name}:{targets[name]}",
    )
    with open_reader(load_settings(), "sqlite:///runs.db") as reader:
        moments = fold_series(columns_of(reader, reader.run(result.run_id)), 1000).moments
    return result, list(moments)


def test_tensorboard_has_the_run(targets: dict[str, str]) -> None:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
    from tensorboard.util.tensor_util import make_ndarray

    result, moments = sent(targets, "tensorboard")
    (folder,) = Path(targets["tensorboard"]).glob("*/*")
    assert folder.name == result.run_id
    found = EventAccumulator(str(folder), size_guidance={"tensors": 0}).Reload()
    best = found.Tensors("best_fitness")
    assert [(one.step, one.wall_time) for one in best] == [(one.evaluations, one.at.timestamp()) for one in moments]
    assert [float(make_ndarray(one.tensor_proto)) for one in best] == [one.best_fitness for one in moments]
    parameters = make_ndarray(found.Tensors("parameters")[0].tensor_proto).item().decode()
    assert "| config.budget.evaluations | 12 |" in parameters
    program = make_ndarray(found.Tensors("best/program.py")[0].tensor_proto).item().decode()
    assert program.strip() == result.source.strip()
    assert "_hparams_/session_start_info" in found.Tags()["tensors"] or found.PluginTagToContent("hparams")


def test_mlflow_has_the_run(targets: dict[str, str], tmp_path: Path) -> None:
    from mlflow import MlflowClient

    result, moments = sent(targets, "mlflow")
    client = MlflowClient(tracking_uri=targets["mlflow"])
    (experiment,) = [one for one in client.search_experiments() if one.name == "sent"]
    (run,) = client.search_runs([experiment.experiment_id], f"tags.`{MLFLOW_RUN}` = '{result.run_id}'")
    assert (run.info.run_name, run.info.status) == ("sent", "FINISHED")
    assert run.data.params["config.budget.evaluations"] == "12"
    assert run.data.tags["label.study"] == "s1"
    history = client.get_metric_history(run.info.run_id, "best_fitness")
    expected = [(one.evaluations, round(one.at.timestamp() * 1000), one.best_fitness) for one in moments]
    assert sorted((one.step, one.timestamp, one.value) for one in history) == expected
    assert run.data.metrics["summary/evaluations"] == 12
    names = {one.path for one in client.list_artifacts(run.info.run_id, "best")}
    assert names == {"best/program.py", "best/view.svg"}
    (tmp_path / "artifacts").mkdir()
    folder = Path(client.download_artifacts(run.info.run_id, "best", str(tmp_path / "artifacts")))
    assert (folder / "program.py").read_text() == result.source
    assert (folder / "view.svg").read_text() == PICTURE


def test_wandb_has_the_run_offline(targets: dict[str, str], wandb_folder: Path) -> None:
    result, moments = sent(targets, "wandb")
    (file,) = wandb_folder.glob(f"wandb/offline-run-*{result.run_id}/*.wandb")
    rows: list[dict[str, str]] = []
    artifacts: list[Any] = []
    config: dict[str, str] = {}
    summary: dict[str, str] = {}
    for record in records(file):
        match record.WhichOneof("record_type"):
            case "run":
                config |= {one.key: one.value_json for one in record.run.config.update}
                assert (record.run.run_id, record.run.project) == (result.run_id, "tested")
            case "history":
                rows.append({"/".join(one.nested_key): one.value_json for one in record.history.item})
            case "summary":
                summary |= {one.key or "/".join(one.nested_key): one.value_json for one in record.summary.update}
            case "artifact":
                artifacts.append(record.artifact)
    told = [row for row in rows if "best_fitness" in row]
    expected = [(one.evaluations, one.at.timestamp(), one.best_fitness) for one in moments]
    got = [(int(row["_step"]), float(row["_timestamp"]), float(row["best_fitness"])) for row in told]
    assert [(step, value) for step, _, value in got] == [(step, value) for step, _, value in expected]
    assert [at for _, at, _ in got] == pytest.approx([at for _, at, _ in expected], abs=1e-3)
    assert config["config.budget.evaluations"] == "12"
    assert summary["summary/evaluations"] == "12"
    (artifact,) = [one for one in artifacts if one.type == "program"]
    assert {one.path for one in artifact.manifest.contents} == {"program.py", "view.svg"}


def records(file: Path) -> Iterator[Any]:
    """The records of a run that W&B keeps offline: Protocol Buffers in the log format of LevelDB."""
    from wandb.proto import wandb_internal_pb2

    data, at, whole = file.read_bytes(), 7, b""
    while at + 7 <= len(data):
        left = 32768 - at % 32768
        if left < 7:
            at += left
            continue
        _, length, kind = struct.unpack("<IHB", data[at : at + 7])
        at += 7
        whole += data[at : at + length]
        at += length
        if kind in (1, 4):  # whole, or the last part
            yield wandb_internal_pb2.Record.FromString(whole)
            whole = b""
