"""Try every problem below a folder as it lies: `python -m scripts.foreign_examples DIR --python PYTHON`.

DIR is a checkout of another project, or a folder of several. Of each folder that a problem format recognises three
things are tried: `evolve problem check`, the metrics of the first seed beside those of the project's own evaluator
called directly, and a run of some evaluations with the built-in mutator. Metrics are compared to a relative 1e-9. Those
that differ between two direct calls are noisy and do not count. PYTHON has the libraries of the examples.

The table is Markdown: a line for each project and format, then a line for each folder that does not load or differs.
"""

import argparse
import json
import math
import shutil
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from service.errors import InvalidProblemError
from service.problems.load import format_name
from service.problems.project import Project

EVOLVE = str(Path(sys.executable).with_name("evolve"))
TOLERANCE = 1e-9
SHIM = Path(__file__).resolve().parents[1] / "service" / "sandbox" / "shim"
SKIPPED = {"node_modules", "__pycache__", "results", "logs"}
_LOADS = """
import importlib.util, json, os, sys
sys.dont_write_bytecode = True
def load(path, name):
    sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module
def first(*places):
    return next(place for place in places if os.path.exists(place))
def tell(found):
    found = getattr(found, "metrics", found)
    found = {"score": found} if isinstance(found, (int, float)) else dict(found)
    for key in ("public", "private"):
        if isinstance(found.get(key), dict):
            found.update(found.pop(key))
    plain = {key: float(value) for key, value in found.items() if isinstance(value, (int, float)) and value is not True
             and value is not False or type(value).__module__ == "numpy"}
    sys.__stdout__.write("\\nMETRICS " + json.dumps(plain) + "\\n")
"""
# How a project calls its own evaluator for a seed, in a copy of the folder.
DIRECT = {
    "openevolve": """
import asyncio
from openevolve.config import Config, load_config
from openevolve.evaluator import Evaluator
named = [name for name in ("config.yaml", "config.yml") if os.path.exists(name)]
settings = load_config(named[0]) if named else Config()
seed = first(*sorted(name for name in os.listdir(".") if name.startswith(("initial_program.", "init_program."))))
evaluator = Evaluator(settings.evaluator, os.path.abspath("evaluator.py"), suffix=os.path.splitext(seed)[1])
tell(asyncio.run(evaluator.evaluate_program(open(seed).read())))
""",
    "skydiscover": """
seed = first(*sorted(name for name in os.listdir(".") if name.startswith("initial_program.")))
tell(load(first("evaluator/evaluator.py", "evaluator.py"), "evaluator").evaluate(os.path.abspath(seed)))
""",
    "shinka": """
import subprocess
seed = first(*sorted(name for name in os.listdir(".") if name.startswith("initial.")))
subprocess.run([sys.executable, "evaluate.py", "--program_path", seed, "--results_dir", "direct_results"], check=True)
found = json.load(open("direct_results/metrics.json"))
tell({"combined_score": found.get("combined_score"), "public": found.get("public") or {}})
""",
    "codeevolve": """
import subprocess
seed = first(*sorted("input/src/" + name for name in os.listdir("input/src") if name.startswith("init_program")))
words = [sys.executable, os.path.abspath("input/evaluate.py"), os.path.abspath(seed), os.path.abspath("direct.json")]
subprocess.run(words, check=True, cwd="input/src")
tell(json.load(open("direct.json")))
""",
    "gigaevo": """
seed = sorted(name for name in os.listdir("initial_programs") if name.endswith(".py"))[0]
context = [load("context.py", "context").build_context()] if os.path.exists("context.py") else []
output = load("initial_programs/" + seed, "program").entrypoint(*context)
tell(load("validate.py", "validate").validate(*context, output))
""",
}


@dataclass(kw_only=True)
class TriedFolder:
    """What came of one folder.

    Attributes:
        format: that recognised it; empty: several did, or it is half there.
        ready: whether the check passes; `reason` says why not.
        compared: metrics of the seed that are not noisy; `differing` are those of them that are not the same.
        direct: why the project's own evaluator gave nothing; `-`: it is not called directly for this format.
        evaluated, valid, improved: of the run; `ended` is its reason.
    """

    folder: str
    format: str = ""
    ready: bool = False
    reason: str = ""
    compared: int = 0
    differing: list[str] = field(default_factory=list)
    noisy: list[str] = field(default_factory=list)
    direct: str = "-"
    evaluated: int = 0
    valid: int = 0
    improved: bool = False
    ended: str = ""


def call(words: list[str], seconds: float, folder: Path | None = None) -> tuple[int, str, str]:
    """Exit code and what was printed; a command that takes too long has the code of `timeout`."""
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=seconds, cwd=folder, check=False)
    except subprocess.TimeoutExpired:
        return 124, "", f"it took longer than {seconds:g} s"
    return done.returncode, done.stdout, done.stderr


def folders(place: Path) -> Iterator[tuple[Path, str, str]]:
    """Each folder that a format recognises, from above: with the format, or with what stands in the way."""
    try:
        name = format_name(Project(folder=place))
    except InvalidProblemError as error:
        (complaint, *_) = error.complaints
        name = ""
        if "--format" in complaint:
            yield place, "", complaint
            return
    if name:
        yield place, name, ""
        return
    for below in sorted(place.iterdir()):
        if below.is_dir() and not below.is_symlink() and below.name not in SKIPPED and not below.name.startswith("."):
            yield from folders(below)


def direct_metrics(form: str, folder: Path, python: str, seconds: float) -> tuple[dict[str, float], str]:
    """What the project's own evaluator says of its first seed; empty with the reason."""
    with tempfile.TemporaryDirectory() as place:
        copy = Path(place, "problem")
        shutil.copytree(folder, copy, symlinks=True)
        # OpenEvolve itself is called; of the others, which few have installed, the shim has what evaluators import.
        words = ["env", *([] if form == "openevolve" else [f"PYTHONPATH={SHIM}"]), python, "-c", _LOADS + DIRECT[form]]
        code, out, err = call(words, seconds, copy)
    lines = [line for line in out.splitlines() if line.startswith("METRICS ")]
    if code or not lines:
        return {}, (err.strip().splitlines() or ["nothing was printed"])[-1][:200]
    found: dict[str, float] = json.loads(lines[-1].removeprefix("METRICS "))
    return found, ""


def compare(tried: TriedFolder, ours: Mapping[str, float], one: Mapping[str, float], two: Mapping[str, float]) -> None:
    """Note which metrics of two direct calls are noisy, and which of the others are not the same here."""
    for name, value in one.items():
        if name not in two or not close(value, two[name]):
            tried.noisy.append(name)
            continue
        tried.compared += 1
        if name not in ours or not close(ours[name], value):
            tried.differing.append(name)


def close(one: float, other: float) -> bool:
    """Whether two metrics are the same."""
    return math.isclose(one, other, rel_tol=TOLERANCE, abs_tol=1e-15)


def examine(tried: TriedFolder, folder: Path, python: str, evaluations: int, seconds: float) -> None:
    """Check, compare and run one folder."""
    named = [str(folder), "--python", python]
    code, out, err = call([EVOLVE, "--local", "problem", "check", *named, "--json"], seconds)
    try:
        report: dict[str, Any] = json.loads(out)
    except ValueError:
        tried.reason = (err.strip().splitlines() or ["no report"])[-1][:300]
        return
    tried.ready, tried.reason = code == 0, "; ".join(report["complaints"])[:300]
    if tried.format in DIRECT:
        (one, tried.direct), (two, _) = (direct_metrics(tried.format, folder, python, seconds) for _ in range(2))
        seed = report["seeds"][0] if report["seeds"] else {"measures": {}, "scores": {}}
        compare(tried, {**seed["measures"], **seed["scores"]}, one, two)
    if tried.ready and evaluations:
        _run(tried, named, evaluations, seconds)


def _run(tried: TriedFolder, named: list[str], evaluations: int, seconds: float) -> None:
    with tempfile.TemporaryDirectory() as place:
        words = [EVOLVE, "--local", "run", *named, "--policy", "syntax", "--evaluations", str(evaluations), "--json"]
        _, out, err = call([*words, "--db", f"sqlite:///{place}/runs.db"], seconds)
    lines = [line for line in out.splitlines() if line.strip()]
    summary = json.loads(lines[-1]) if lines else {}
    tried.evaluated, tried.valid = summary.get("evaluations", 0), summary.get("valid", 0)
    best, seed = (summary.get("best") or {}).get("fitness"), summary.get("seed_fitness")
    tried.improved = best is not None and seed is not None and best > seed
    tried.ended = summary.get("reason", "") or (err.strip().splitlines() or [""])[-1][:200]


def table(tried: list[TriedFolder]) -> str:
    """The result by project and format, then what does not load or differs, with the reason."""
    groups: dict[tuple[str, str], list[TriedFolder]] = defaultdict(list)
    for one in tried:
        groups[one.folder.split("/")[0], one.format or "several"].append(one)
    lines = ["| project | format | folders | load | metrics equal | best improved |", "|---|---|---|---|---|---|"]
    for (project, form), found in sorted(groups.items()):
        called = [one for one in found if one.compared and one.ready]
        equal = f"{sum(not one.differing for one in called)} of {len(called)}" if called else "–"
        loaded, better = sum(one.ready for one in found), sum(one.improved for one in found)
        lines.append(f"| {project} | `{form}` | {len(found)} | {loaded} | {equal} | {better} |")
    lines.append("")
    for one in tried:
        if not one.ready or one.differing:
            differ = f"differs in {', '.join(one.differing[:4])}" if one.differing else ""
            own = f" (its own evaluator: {one.direct})" if one.direct not in ("", "-") else ""
            lines.append(f"* {one.folder}: {'; '.join(filter(None, (one.reason, differ)))}{own}")
    return "\n".join(lines)


def main() -> None:
    """Try every folder, print a line each and the table, and write all of it as JSON."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path, help="checkouts of other projects, each in a folder of its own")
    parser.add_argument("--python", default=sys.executable, help="interpreter with the libraries of the examples")
    parser.add_argument("--evaluations", type=int, default=20, help="of the run for each; 0: none")
    parser.add_argument("--seconds", type=float, default=120.0, help="that one command may take")
    parser.add_argument("--only", default="", help="folders whose path holds this")
    parser.add_argument("--out", type=Path)
    words = parser.parse_args()
    root = words.folder.resolve()
    results = []
    for folder, form, complaint in folders(root):
        tried = TriedFolder(folder=str(folder.relative_to(root)) or ".", format=form, reason=complaint[:300])
        if words.only not in tried.folder:
            continue
        if form:
            examine(tried, folder, words.python, words.evaluations, words.seconds)
        results.append(tried)
        equal = f"{tried.compared - len(tried.differing)} of {tried.compared} equal"
        state = f"{equal}, {tried.valid} of {tried.evaluated} valid {tried.reason}".rstrip()
        print(f"{'✓' if tried.ready else '✗'} {tried.folder} [{form}]: {state}", flush=True)
        if words.out:
            words.out.write_text(json.dumps([asdict(one) for one in results], indent=1) + "\n")
    print("\n" + table(results))


if __name__ == "__main__":
    main()
