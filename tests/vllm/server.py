"""A real vLLM on the processor, serving the tiny model: one process group, ended whole."""

import contextlib
import os
import random
import shutil
import signal
import socket
import subprocess
import time
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

START_SECONDS = 300.0
# Below those that the kernel gives to whoever asks for any: a vLLM takes its own half a minute after it was chosen.
PORTS = range(20_000, 30_000)
STOP_SECONDS = 20.0
MODEL = "tiny"
CONTEXT_TOKENS = 4096
BLOCK_TOKENS = 32
CHAINS_AT_ONCE = 32

# Nothing leaves the machine, nothing is compiled, and the engine lives in the server's own process.
ENVIRONMENT = {
    "HF_HUB_OFFLINE": "1",
    "TRANSFORMERS_OFFLINE": "1",
    "VLLM_NO_USAGE_STATS": "1",
    "DO_NOT_TRACK": "1",
    "VLLM_TARGET_DEVICE": "cpu",
    "VLLM_ENABLE_V1_MULTIPROCESSING": "0",
    "VLLM_CPU_OMP_THREADS_BIND": "nobind",
    "TORCH_COMPILE_DISABLE": "1",
    "OMP_NUM_THREADS": "1",
    "TOKENIZERS_PARALLELISM": "false",
}
OPTIONS = {
    "--served-model-name": MODEL,
    "--dtype": "float32",
    "--max-model-len": str(CONTEXT_TOKENS),
    "--kv-cache-memory-bytes": str(64 << 20),
    "--block-size": str(BLOCK_TOKENS),  # the processor's own, 128, is longer than many prompts: no hit would show
    "--max-num-seqs": str(CHAINS_AT_ONCE),
    # On the processor a seeded request whose prompt is read in pieces kills the engine.
    "--max-num-batched-tokens": str(CONTEXT_TOKENS * CHAINS_AT_ONCE),
    "--generation-config": "vllm",
}
SWITCHES = ["--enforce-eager", "--enable-prompt-tokens-details"]
# What a real small model is served with: the context that it was trained for, in half the memory.
REAL = {
    "--dtype": "bfloat16",
    "--max-model-len": "8192",
    "--kv-cache-memory-bytes": str(3 << 29),
    "--max-num-seqs": "16",
    "--max-num-batched-tokens": str(8192 * 16),
}
# What has it embed texts with a model that was made to write them.
EMBEDDING = ["--runner", "pooling", "--convert", "embed"]
# What lets adapters be loaded while it runs.
ADAPTERS = {"VLLM_ALLOW_RUNTIME_LORA_UPDATING": "1"}


@dataclass(frozen=True, slots=True, kw_only=True)
class VllmServer:
    """A running server; `start_seconds` is what its start took, `group` the process group that it is."""

    url: str
    key: str
    start_seconds: float
    group: int

    def kill(self) -> None:
        """End it without a warning, all of it."""
        os.killpg(self.group, signal.SIGKILL)

    @property
    def root(self) -> str:
        return self.url.removesuffix("/v1")

    def metric(self, name: str, **labels: str) -> float:
        """Sum of a metric over the series that carry these labels."""
        with urllib.request.urlopen(f"{self.root}/metrics", timeout=10) as response:
            lines = response.read().decode().splitlines()
        wanted = [f'{key}="{value}"' for key, value in labels.items()]
        series = [line for line in lines if line.startswith((name + "{", name + " "))]
        return sum(float(line.rpartition(" ")[2]) for line in series if all(label in line for label in wanted))


@contextmanager
def vllm_server(
    python: Path,
    home: Path,
    key: str,
    port: int = 0,
    *,
    adapters: bool = False,
    embeds: bool = False,
    model: Path | None = None,
    options: Mapping[str, str] | None = None,
) -> Iterator[VllmServer]:
    """Yield a server of `python`'s environment, which `scripts/setup_vllm.sh` makes; its log goes into `home`.

    With port 0 any free one is taken; with `adapters` it takes them while it runs; with `embeds` it embeds and writes
    nothing. Without a key it asks for none; without a model it serves the tiny one. `options` are added to those of
    the command or replace them.
    """
    # The link itself names the environment: what it points at is the interpreter that the environment was made from.
    model = model or python.parent.parent / "tiny-model"
    if not model.is_dir():
        raise FileNotFoundError(f"{model} is missing: make it with scripts/setup_vllm.sh")
    port = port or _free_port()
    words = [word for pair in (OPTIONS | dict(options or {})).items() for word in pair]
    command = [str(python), "-m", "vllm.entrypoints.openai.api_server", "--model", str(model)]
    command += ["--host", "127.0.0.1", "--port", str(port), *words, *SWITCHES]
    command += ["--api-key", key] if key else []
    command += ["--enable-lora"] if adapters else []
    command += EMBEDDING if embeds else []
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("VLLM_", "OMP_", "PYTHON"))}
    log = home / "vllm.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [*_ending_with_us(), *command],
            cwd=home,
            env=inherited | ENVIRONMENT | (ADAPTERS if adapters else {}),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        seconds = _await_ready(process, f"http://127.0.0.1:{port}/health", log)
        yield VllmServer(url=f"http://127.0.0.1:{port}/v1", key=key, start_seconds=seconds, group=process.pid)
    finally:
        _stop(process)


def _free_port() -> int:
    for port in random.sample(PORTS, len(PORTS)):
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
    raise RuntimeError(f"No port from {PORTS[0]} to {PORTS[-1]} is free.")


def _ending_with_us() -> list[str]:
    found = shutil.which("setpriv")
    return [found, "--pdeathsig", "KILL", "--"] if found else []


def _await_ready(process: subprocess.Popen[bytes], health: str, log: Path) -> float:
    """Ask until it is well. It says so nowhere else, and its own process must live: another may hold the port."""
    started = time.monotonic()
    while process.poll() is None and time.monotonic() - started < START_SECONDS:
        with contextlib.suppress(OSError), urllib.request.urlopen(health, timeout=5) as response:
            if response.status == 200 and process.poll() is None:
                return time.monotonic() - started
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(0.2)
    raise RuntimeError(f"vLLM did not start (status {process.poll()}):\n{log.read_text(errors='replace')[-3000:]}")


def _stop(process: subprocess.Popen[bytes]) -> None:
    """End the whole group: killing the server alone would leave its engine behind."""
    process.send_signal(signal.SIGTERM)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(STOP_SECONDS)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
