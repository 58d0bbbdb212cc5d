"""Try every problem below a folder as it lies: `python -m scripts.foreign_examples DIR --python PYTHON`.

DIR is a checkout of another project, or a folder of several. Of each folder that a problem format recognises three
things are tried: `evolve problem check`, the metrics of the first seed beside those of the project's own evaluator
called directly, and a run of some evaluations with the built-in mutator. Metrics are compared to a relative 1e-9. Those
that differ between two direct calls, or are named for a time, are noisy and do not count. PYTHON has the libraries of
the examples.

The table is Markdown: a line for each project and format, then a line for each folder that does not load or differs.
`missing` is the reason where the project's own evaluator gives nothing either: a tool, data or a key. `too slow` is
the reason where a command takes longer than `--seconds`, or an evaluation than the folder allows. `our reading` is the
reason where it gives metrics and we do not. With `--json FILE` a second call tries the rest alone, and with `--retry`
also those that did not load, were not compared, or ran out of time.
"""

import argparse
import json
import math
import re
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from scripts.foreign_direct import DIRECT, TOO_LONG, call, checkout_of, direct_metrics
from service.errors import InvalidProblemError
from service.problems.load import format_name
from service.problems.project import Project

EVOLVE = str(Path(sys.executable).with_name("evolve"))
TOLERANCE = 1e-9
# What two runs of an evaluator measure differently, though it says nothing of chance: the time.
TIMED = {"algotune": ("speedup", 0.7, 1.43)}
_SECONDS = re.compile(r"(^|_)(time|times|seconds|runtime|duration|latency)(_|$)")
MISSING = "missing"
TOO_SLOW = "too slow"
_TIMEOUT = " fails (timeout): "  # the limit that the folder itself names
OUR_READING = "our reading"
# Of a project itself, beside its examples, and what it writes.
SKIPPED = {
    "node_modules",
    "__pycache__",
    "results",
    "logs",
    "build",
    "tests",
    "src",
    "implementation",
    "templates",
    "extras",
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

    @property
    def blame(self) -> str:
        """Why it does not load: time is short, its own evaluator gives nothing either, or it does and we fail."""
        if self.ready and not self.differing:
            return ""
        if self.reason.startswith(TOO_LONG) or _TIMEOUT in self.reason:
            return TOO_SLOW
        return MISSING if self.direct else OUR_READING

    @property
    def called(self) -> bool:
        """Whether its own evaluator gave metrics beside ours."""
        return bool(self.compared or self.noisy)

    @property
    def line(self) -> str:
        """One line on it."""
        equal = f"{self.compared} compared, {len(self.differing)} not equal, {len(self.noisy)} noisy"
        best = "improved" if self.improved else "not improved"
        state = f"{equal}, {self.valid} of {self.evaluated} valid, {best} {self.blame} {self.reason}".rstrip()
        return f"{'✓' if self.ready else '✗'} {self.folder} [{self.format}]: {state}"


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


def compare(tried: TriedFolder, ours: Mapping[str, float], one: Mapping[str, float], two: Mapping[str, float]) -> None:
    """Note which metrics of two direct calls are noisy, and which of the others are not the same here."""
    timed, low, high = TIMED.get(tried.format, ("", 0.0, 0.0))
    for name, value in one.items():
        if name == timed:
            tried.noisy.append(name)
            if not low <= ours.get(name, 0.0) <= high:
                tried.differing.append(name)
        elif _SECONDS.search(name) or name not in two or not close(value, two[name]):
            tried.noisy.append(name)
        else:
            tried.compared += 1
            if name not in ours or not close(ours[name], value):
                tried.differing.append(name)


def close(one: float, other: float) -> bool:
    """Whether two metrics are the same."""
    return math.isclose(one, other, rel_tol=TOLERANCE, abs_tol=1e-15)


def examine(tried: TriedFolder, folder: Path, root: Path, words: argparse.Namespace) -> None:
    """Check one folder, and compare its metrics."""
    named, checkout = [str(folder), "--python", words.python], checkout_of(folder, root)
    one: dict[str, float] = {}
    if tried.format in DIRECT:
        one, tried.direct = direct_metrics(tried.format, folder, checkout, words.python, words.seconds)
    code, out, err = call([EVOLVE, "--local", "problem", "check", *named, "--json"], words.seconds)
    last = (out.strip() or err.strip() or "no report").splitlines()[-1]
    try:
        report: dict[str, Any] = json.loads(out or last)
    except ValueError:
        tried.reason = last[:300]
        return
    if "complaints" not in report:
        tried.reason = str(report["error"]["message"])[:300]
        return
    tried.ready, tried.reason = code == 0, "; ".join(report["complaints"])[:300]
    nothing: dict[str, Any] = {"measures": {}, "scores": {}}
    seed = next((one for one in report["seeds"] if one["scores"]), nothing)
    ours, two = {**seed["measures"], **seed["scores"]}, one
    if tried.ready and not all(name in ours and close(value, ours[name]) for name, value in one.items()):
        two, _ = direct_metrics(tried.format, folder, checkout, words.python, words.seconds)
    compare(tried, ours, one, two)


def run(tried: TriedFolder, folder: Path, words: argparse.Namespace) -> None:
    """Search in one folder with the built-in mutator."""
    bounds = ["--evaluations", str(words.evaluations), "--wall-seconds", f"{words.run_seconds:g}"]
    command = [EVOLVE, "--local", "run", str(folder), "--python", words.python, "--policy", "syntax", *bounds, "--json"]
    with tempfile.TemporaryDirectory() as place:
        _, out, err = call([*command, "--db", f"sqlite:///{place}/runs.db"], words.run_seconds + 60)
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
    heads = ("project", "format", "folders", "load", "metrics equal", "best improved", MISSING, TOO_SLOW, OUR_READING)
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for (project, form), found in sorted(groups.items()):
        called = [one for one in found if one.called and one.ready]
        cells = (
            project,
            f"`{form}`",
            len(found),
            sum(one.ready for one in found),
            f"{sum(not one.differing for one in called)} of {len(called)}",
            f"{sum(one.improved for one in found)} of {sum(one.evaluated > 0 for one in found)}",
            *(sum(one.blame == blame for one in found) for blame in (MISSING, TOO_SLOW, OUR_READING)),
        )
        lines.append(f"| {' | '.join(map(str, cells))} |")
    lines.append("")
    for one in tried:
        if one.blame:
            differ = f"differs in {', '.join(one.differing[:4])}" if one.differing else ""
            own = f" (its own evaluator: {one.direct})" if one.direct not in ("", "-") else ""
            lines.append(f"* {one.folder}: {one.blame}: {'; '.join(filter(None, (one.reason, differ)))}{own}")
    return "\n".join(lines)


def chosen(root: Path, words: argparse.Namespace) -> Iterator[tuple[Path, TriedFolder]]:
    """The folders to try: those with `--only` in their path, and each nth of the formats of `--every`."""
    steps = {form: int(step) for form, _, step in (one.partition("=") for one in words.every)}
    counts: dict[str, int] = defaultdict(int)
    for folder, form, complaint in folders(root):
        tried = TriedFolder(folder=str(folder.relative_to(root)) or ".", format=form, reason=complaint[:300])
        counts[form] += 1
        if words.only in tried.folder and counts[form] % steps.get(form, 1) == 0:
            yield folder, tried


def done_before(results: Mapping[str, TriedFolder], found: TriedFolder, words: argparse.Namespace) -> bool:
    """Whether nothing is left to try of a folder: a run may follow later."""
    known = results.get(found.folder)
    if known is None or (words.retry and not compared_before(known)):
        return False
    return not known.ready or ran_before(known, words) or not words.evaluations


def compared_before(known: TriedFolder) -> bool:
    """Whether a folder loads and its metrics were compared."""
    return known.ready and known.called and not known.differing


def ran_before(known: TriedFolder, words: argparse.Namespace) -> bool:
    """Whether nothing is left of a run: with `--retry` one that ran out of time is run again."""
    short = known.evaluated < words.evaluations and known.ended == "wall_seconds"
    return known.evaluated > 0 and not (words.retry and short)


def main() -> None:
    """Try every folder, print a line each and the table, and write all of it as JSON."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path, help="checkouts of other projects, each in a folder of its own")
    parser.add_argument("--python", default=sys.executable, help="interpreter with the libraries of the examples")
    parser.add_argument("--evaluations", type=int, default=20, help="of the run for each; 0: none")
    parser.add_argument("--seconds", type=float, default=120.0, help="that one command may take")
    parser.add_argument("--run-seconds", type=float, default=120.0, help="after which a run ends")
    parser.add_argument("--only", default="", help="folders whose path holds this")
    parser.add_argument("--every", action="append", default=[], metavar="FORMAT=N", help="each Nth folder of a format")
    parser.add_argument("--jobs", type=int, default=1, help="folders at a time: more make noisy metrics noisier")
    parser.add_argument("--json", type=Path, help="file of results: folders that it holds are not tried again")
    parser.add_argument("--retry", action="store_true", help="try those again that failed or ran out of time")
    words = parser.parse_args()
    root = words.folder.resolve()
    known = json.loads(words.json.read_text()) if words.json and words.json.exists() else []
    results = {one["folder"]: TriedFolder(**one) for one in known}

    def attempt(folder: Path, found: TriedFolder) -> TriedFolder:
        tried = results.get(found.folder, found)
        if words.retry and not compared_before(tried):
            tried = found
        if tried is found and tried.format:
            examine(tried, folder, root, words)
        if tried.ready and words.evaluations and not ran_before(tried, words):
            run(tried, folder, words)
        return tried

    with ThreadPoolExecutor(max_workers=words.jobs) as pool:
        waiting = [pool.submit(attempt, *one) for one in chosen(root, words) if not done_before(results, one[1], words)]
        for done in as_completed(waiting):
            tried = done.result()
            results[tried.folder] = tried
            print(tried.line, flush=True)
            if words.json:
                listed = [asdict(one) for _, one in sorted(results.items())]
                words.json.write_text(json.dumps(listed, indent=1) + "\n")
    print("\n" + table([one for _, one in sorted(results.items())]))


if __name__ == "__main__":
    main()
