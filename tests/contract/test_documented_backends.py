"""The documented back ends hold the contract, with programs in place of what they start."""

import importlib
import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from service.ports.training_backends import RunData
from service.trainer.contract import TRAINING_BACKEND_RULES, BackendCase, BackendRule, BackendTask

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "how-to" / "training-back-ends.md"
BLOCK = re.compile(r"```python\n(.*?)```", re.DOTALL)

# A client with the calls of Tinker. Its one weight goes to 0, and its states are files.
TINKER = """
import io, json, os, tarfile, time
from pathlib import Path
from types import SimpleNamespace as Made

HOME = Path(os.environ["TINKER_HOME"])


class Future:
    def __init__(self, value=None):
        self.value = value

    def result(self):
        return self.value


class Client:
    def __init__(self, base_model, rank):
        self.weight = 1.0

    def get_tokenizer(self):
        return Made(encode=lambda text: [ord(letter) for letter in text])

    def forward_backward(self, data, loss):
        assert loss == "cross_entropy"
        assert data and all(len(one.loss_fn_inputs["weights"]) == len(one.model_input) for one in data)
        time.sleep(0.02)
        total = sum(sum(one.loss_fn_inputs["weights"]) for one in data)
        return Future(Made(metrics={"loss:sum": self.weight * total}))

    def optim_step(self, adam):
        self.weight *= 0.9
        return Future()

    def save_state(self, name):
        path = HOME / name
        path.write_text(json.dumps(self.weight))
        return Future(Made(path=str(path)))

    def load_state(self, path):
        self.weight = json.loads(Path(path).read_text())
        return Future()

    save_weights_for_sampler = save_state


class Rest:
    def get_checkpoint_archive_url_from_tinker_path(self, path):
        archive = HOME / "adapter.tar"
        with tarfile.open(archive, "w") as tar:
            content = Path(path).read_bytes()
            entry = tarfile.TarInfo("adapter_config.json")
            entry.size = len(content)
            tar.addfile(entry, io.BytesIO(content))
        return Future(Made(url=archive.as_uri()))


class ServiceClient:
    def create_lora_training_client(self, base_model, rank):
        return Client(base_model, rank)

    def create_rest_client(self):
        return Rest()


types = Made(Datum=Made, ModelInput=Made(from_ints=list), AdamParams=Made)
"""
# Takes the words of veRL's trainer, prints its console, and writes its files.
VERL = """
import sys, time
from pathlib import Path

words = dict(word.split("=", 1) for word in sys.argv[1:])
folder, every = Path(words["trainer.default_local_dir"]), int(words["trainer.save_freq"])
assert words["trainer.resume_mode"] == "auto" and words["algorithm.adv_estimator"] == "evolve"
latest = folder / "latest_checkpointed_iteration.txt"
first, last = int(latest.read_text()) if latest.exists() else 0, int(words["trainer.total_training_steps"])
print("(TaskRunner pid=1) starting")
for step in range(first + 1, last + 1):
    time.sleep(0.02)
    print(f"step:{step} - critic/score/mean:{step / last} - actor/entropy:0.5 - timing_s/step:1.0", flush=True)
    if step % every == 0 or step == last:
        adapter = folder / f"global_step_{step}" / "actor" / "lora_adapter"
        adapter.mkdir(parents=True)
        (adapter / "adapter_config.json").write_text("{}")
        latest.write_text(str(step))
"""


@pytest.fixture
def documented(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the back ends of the page, and with what they start."""
    names = re.findall(r"Save (?:this|it)\s+as\s+`(\w+)\.py`", PAGE.read_text())
    blocks = dict(zip(names, BLOCK.findall(PAGE.read_text()), strict=True))
    for name, text in blocks.items():
        (tmp_path / f"{name}.py").write_text(text)
    (tmp_path / "tinker.py").write_text(TINKER)
    (tmp_path / "verl" / "trainer").mkdir(parents=True)
    (tmp_path / "verl" / "trainer" / "main_ppo.py").write_text(VERL)
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}:{ROOT}")
    monkeypatch.setenv("TINKER_HOME", str(tmp_path))
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def made(module: str, name: str) -> Any:
    sys.modules.pop(module, None)
    return getattr(importlib.import_module(module), name)


def records(folder: Path) -> None:
    """The training records of a run."""
    run = RunData.of(folder, "run_1")
    run.records.parent.mkdir(parents=True)
    line = {
        "messages": [{"role": "user", "content": "ask"}], "completions": ["red", "blue"],
        "answers": [{"rewards": [0.2, 0.7]}, {"rewards": None}],
    }  # fmt: skip
    run.records.write_text(json.dumps(line) + "\n" + json.dumps({**line, "answers": []}) + "\n")


@pytest.mark.parametrize("rule", TRAINING_BACKEND_RULES)
def test_a_tinker_shaped_client_holds_the_contract(documented: Path, rule: BackendRule) -> None:
    request = {"model": "tiny", "seed": 0, "steps": 22, "test_problems": 0}
    task = BackendTask(request=request, runs=("run_1",))
    rule(BackendCase(make=made("tinker_backend", "TinkerBackend"), task=task, prepare=records))


@pytest.mark.parametrize("rule", TRAINING_BACKEND_RULES)
def test_verl_holds_the_contract(documented: Path, rule: BackendRule) -> None:
    task = BackendTask(request={"model": "tiny", "method": "vpo", "seed": 0, "steps": 22, "test_problems": 0})
    rule(BackendCase(make=made("verl_backend", "VerlBackend"), task=task))


def test_a_reward_weighs_a_completion_and_the_client_is_missed_where_it_is_not(
    documented: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    backend = made("tinker_backend", "TinkerBackend")()
    assert backend.missing() == ""
    monkeypatch.setitem(sys.modules, "tinker", None)
    assert "tinker is not installed" in backend.missing()
    with pytest.raises(ValueError, match="set test_problems to 0"):
        backend.check({"test_problems": 8})
