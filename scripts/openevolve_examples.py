"""Check every example folder of an OpenEvolve checkout: `python -m scripts.openevolve_examples DIR --python PYTHON`.

Of each folder with an evaluator three things are tried as they lie: `evolve problem check`, the metrics of the seed
beside those that OpenEvolve's own evaluator gives (its class `Evaluator`, called by the interpreter named, which needs
OpenEvolve), and a run of some evaluations with the built-in mutator. Metrics are compared to a relative 1e-9; those
that differ between two calls of OpenEvolve itself are named as noisy. A folder that fails names what it lacks.
"""

import argparse
import json
import math
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

EVOLVE = str(Path(sys.executable).with_name("evolve"))
TOLERANCE = 1e-9
SEEDS = ("initial_program", "init_program", "initial_prompt")
DIRECT = """
import asyncio, json, os, sys
from openevolve.config import Config, load_config
from openevolve.evaluator import Evaluator
folder, evaluator, config, program = sys.argv[1:]
os.chdir(folder)
settings = load_config(config) if config else Config()
found = asyncio.run(
    Evaluator(settings.evaluator, evaluator, suffix=os.path.splitext(program)[1]).evaluate_program(open(program).read())
)
plain = {key: value for key, value in found.items() if isinstance(value, (int, float)) and not isinstance(value, bool)}
sys.__stdout__.write("\\nMETRICS " + json.dumps(plain) + "\\n")
"""


@dataclass(kw_only=True)
class Found:
    """What came of one folder.

    Attributes:
        ready: whether the check passes.
        reason: why it does not.
        equal: metrics that are the same; differing: those that are not; noisy: those that differ in themselves.
        evaluated: evaluations of the run; valid: of these.
    """

    folder: str
    ready: bool = False
    reason: str = ""
    equal: int = 0
    differing: list[str] = field(default_factory=list)
    noisy: list[str] = field(default_factory=list)
    direct: str = ""
    evaluated: int = 0
    valid: int = 0
    run: str = ""


def call(words: list[str], seconds: float, folder: Path | None = None) -> tuple[int, str, str]:
    """Exit code and what was printed; a command that takes too long has the code of `timeout`."""
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=seconds, cwd=folder, check=False)
    except subprocess.TimeoutExpired:
        return 124, "", f"it took longer than {seconds:g} s"
    return done.returncode, done.stdout, done.stderr


def direct_metrics(python: str, folder: Path, seconds: float) -> tuple[dict[str, float], str]:
    """What OpenEvolve itself says of the seed; empty with the reason."""
    seeds = sorted(path for path in folder.iterdir() if path.stem in SEEDS)
    configs = [folder / name for name in ("config.yaml", "config.yml") if (folder / name).exists()]
    if not seeds or seeds[0].is_dir():
        return {}, "OpenEvolve takes no folder as a program"
    config = str(configs[0]) if configs else ""
    places = [str(folder), str(folder / "evaluator.py"), config, str(seeds[0])]
    code, out, err = call([python, "-c", DIRECT, *places], seconds, folder)
    lines = [line for line in out.splitlines() if line.startswith("METRICS ")]
    if code or not lines:
        return {}, (err.strip().splitlines() or ["nothing was printed"])[-1][:200]
    return json.loads(lines[-1].removeprefix("METRICS ")), ""


def compare(found: Found, ours: Mapping[str, float], first: Mapping[str, float], second: Mapping[str, float]) -> None:
    """Note which metrics are the same as OpenEvolve's."""
    for name, value in first.items():
        if name not in second or not close(value, second[name]):
            found.noisy.append(name)
        elif name in ours and close(ours[name], value):
            found.equal += 1
        elif math.isfinite(value):
            found.differing.append(name)


def close(one: float, other: float) -> bool:
    """Whether two metrics are the same."""
    return math.isclose(one, other, rel_tol=TOLERANCE, abs_tol=1e-15)


def examine(folder: Path, root: Path, python: str, evaluations: int, seconds: float) -> Found:
    """Check, compare and run one folder."""
    found = Found(folder=str(folder.relative_to(root)))
    named = ["--python", python]
    code, out, err = call([EVOLVE, "problem", "check", str(folder), *named, "--json"], seconds)
    try:
        report: dict[str, Any] = json.loads(out)
    except ValueError:
        found.reason = (err.strip().splitlines() or ["no report"])[-1][:300]
        return found
    found.ready, found.reason = code == 0, "; ".join(report["complaints"])[:300]
    if not found.ready:
        return found
    (first, found.direct), (second, _) = (direct_metrics(python, folder, seconds) for _ in range(2))
    seed = report["seeds"][0]
    compare(found, {**seed["measures"], **seed["scores"]}, first, second)
    if evaluations:
        with tempfile.TemporaryDirectory() as place:
            words = [EVOLVE, "run", str(folder), *named, "--policy", "syntax", "--evaluations", str(evaluations)]
            code, out, err = call([*words, "--json", "--db", f"sqlite:///{place}/runs.db"], seconds)
        summary = json.loads(out.splitlines()[-1]) if out.strip() else {}
        found.evaluated, found.valid = summary.get("evaluations", 0), summary.get("valid", 0)
        found.run = summary.get("reason", "") or (err.strip().splitlines() or [""])[-1][:200]
    return found


def main() -> None:
    """Examine every folder, print a line each, and write all of it as JSON."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path, help="a checkout of OpenEvolve, or any folder of projects")
    parser.add_argument("--python", default=sys.executable, help="with OpenEvolve and the examples' libraries")
    parser.add_argument("--evaluations", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=300.0, help="that one command may take")
    parser.add_argument("--only", default="", help="folders whose path holds this")
    parser.add_argument("--out", type=Path)
    words = parser.parse_args()
    root = words.folder.resolve()
    folders = sorted(path.parent for path in root.rglob("evaluator.py") if words.only in str(path.relative_to(root)))
    results = []
    for folder in folders:
        found = examine(folder, root, words.python, words.evaluations, words.seconds)
        results.append(found)
        differ = f"{len(found.differing)} differ {found.differing or ''}".strip()
        metrics = f"{found.equal} equal, {len(found.noisy)} noisy, {differ}"
        said = f"{metrics}; {found.valid} of {found.evaluated} valid, {found.run}" if found.ready else found.reason
        print(f"{'✓' if found.ready else '✗'} {found.folder}: {said} {found.direct}".rstrip(), flush=True)
    ready = sum(found.ready for found in results)
    same = sum(found.ready and not found.differing and not found.direct for found in results)
    print(f"{ready} of {len(results)} pass the check; {same} with all metrics that are not noisy equal")
    if words.out:
        words.out.write_text(json.dumps([asdict(found) for found in results], indent=1) + "\n")


if __name__ == "__main__":
    main()
