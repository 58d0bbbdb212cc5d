"""OpenEvolve for benchmarks: its command line on a project, timed by its own log."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from benchmarks.peers import environment, run_peer

VERSION = "0.4.0"
SPARE = 2  # iterations for each evaluation wanted: those that write their parent once more evaluate nothing
_CONFIG = """
max_iterations: {iterations}
random_seed: {seed}
diff_based_evolution: false
llm:
  api_base: "{url}"
  api_key: none
  models: [{{name: single, weight: 1.0}}]
  timeout: 60
evaluator:
  timeout: {timeout}
  cascade_evaluation: false
  parallel_evaluations: {parallel}
"""
_COMPLETED = re.compile(
    r"^(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}).*Iteration \d+: Program \S+ .*completed in", re.MULTILINE
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """A run: when each of its candidates was done, in seconds, the most memory of all its processes, and whether it
    ended before its limit.
    """

    done_at: Sequence[float]
    megabytes: float
    in_time: bool = True


def install_openevolve(folder: Path) -> Path:
    """The interpreter of an environment that holds OpenEvolve."""
    return environment(folder, "openevolve", VERSION)


def write_config(
    project: Path,
    url: str,
    iterations: int,
    parallel: int,
    *,
    seed: int = 42,
    timeout_seconds: int = 20,
    more: str = "",
) -> None:
    """Give a project its `config.yaml`: whole programs, one answer a call, no cascade; the rest is the default.

    Args:
        timeout_seconds: of an evaluation.
        more: further sections, as YAML.
    """
    text = _CONFIG.format(url=url, iterations=iterations, parallel=parallel, seed=seed, timeout=timeout_seconds)
    (project / "config.yaml").write_text(text + more)


def run_openevolve(
    python: Path,
    project: Path,
    output: Path,
    iterations: int,
    limit_seconds: float,
    enough: Callable[[], bool] = lambda: False,
) -> Ran:
    """Run a project as the command line does; what is not done by the limit is left out.

    Args:
        enough: whether the run has found what it was to find; then it is stopped.
    """
    log = output / "log.txt"
    output.mkdir(parents=True)
    command = [
        str(python), "-m", "openevolve.cli", str(project / "initial_program.py"), str(project / "evaluator.py"),
        "--config", str(project / "config.yaml"), "--output", str(output), "--iterations", str(iterations),
    ]  # fmt: skip
    ended = run_peer(command, log, limit_seconds, enough)
    found = _COMPLETED.findall(log.read_text(errors="replace"))
    if not found:
        raise SystemExit(f"OpenEvolve finished no candidate: {log.read_text(errors='replace')[-2000:]}")
    times = [datetime.strptime(at, "%Y-%m-%d %H:%M:%S,%f").timestamp() for at in found]  # noqa: DTZ007 - differences alone count
    return Ran(done_at=times, megabytes=ended.megabytes, in_time=ended.in_time)
