"""GigaEvo's problems: `validate.py`, `metrics.yaml`, `task_description.txt` and `initial_programs/*.py`."""

from collections.abc import Mapping
from typing import Any

from evolve.problem_formats import ConversionError, ConvertedProblem, ProblemFolder, RecognisedFiles
from service.problems.formats.bridge import bridge_files, bridge_tables, read_settings, require
from service.problems.problem_document import problem_name

VALIDATE, METRICS, DESCRIPTION, SEEDS = "validate.py", "metrics.yaml", "task_description.txt", "initial_programs/"
RUNTIME, TIMED, WARMUPS = "runtime_evaluation", "timing_repetitions", "warmup_repetitions"
_NEEDED = (VALIDATE, METRICS)
_SECONDS = 600.0


class GigaEvoFormat:
    """A problem of GigaEvo, with the specifications of its metrics."""

    title = "a GigaEvo problem"

    def recognise(self, folder: ProblemFolder) -> RecognisedFiles | None:
        """As the protocol says: each of its files alone may be anybody's."""
        seeds = _seeds(folder.files)
        there = tuple(path for path in (*_NEEDED, *seeds[:1]) if path in folder.files)
        if len(there) < 2 or (METRICS not in folder.files and not seeds):
            return None
        return RecognisedFiles(files=there, complete=len(there) == len(_NEEDED) + 1)

    def convert(self, folder: ProblemFolder) -> ConvertedProblem:
        """As the protocol says.

        Raises:
            ConversionError: a file is missing, or the metrics cannot be read.
        """
        require(folder, _NEEDED, self.title)
        seeds = _seeds(folder.files)
        if not seeds:
            raise ConversionError(f"{SEEDS}*.py is missing: put a first program with entrypoint() there")
        raw = read_settings(folder, METRICS)
        specs = _specs(raw)
        (primary,) = [name for name, spec in specs.items() if spec.get("is_primary")]
        hidden = [name for name, spec in specs.items() if spec.get("include_in_prompts") is False and name != primary]
        document = {
            "schema": 1,
            "name": problem_name(folder.name),
            "description": "\n\n".join(filter(None, [folder.text(DESCRIPTION).strip(), _words(specs, hidden)])),
            "seeds": seeds,
            **bridge_tables(_SECONDS),
            "objectives": [{"name": primary, "direction": _direction(specs[primary])}],
        }
        settings = {"hidden": hidden, **_repetitions(raw)}
        files = {**folder.files, **bridge_files("gigaevo_evaluator", settings)}
        return ConvertedProblem(files=files, document=document)


def _seeds(files: Mapping[str, bytes]) -> list[str]:
    return sorted(path for path in files if path.startswith(SEEDS) and path.endswith(".py") and path.count("/") == 1)


def _specs(raw: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """The specifications of metrics, of which one is primary."""
    specs = raw.get("specs") or raw
    named = {str(name): spec for name, spec in specs.items()} if isinstance(specs, Mapping) else {}
    if not named or not all(isinstance(spec, Mapping) for spec in named.values()):
        raise ConversionError(f"{METRICS}: specs should be a table of metrics, each with keys of its own")
    if [bool(spec.get("is_primary")) for spec in named.values()].count(True) != 1:
        raise ConversionError(f"{METRICS}: one metric should have is_primary: true")
    return named


def _repetitions(raw: Mapping[str, Any]) -> dict[str, int]:
    """How often a program is run to measure its time; empty: its time is no metric."""
    table = raw.get(RUNTIME)
    if table is None:
        return {}
    found = {}
    for key, default, low in ((TIMED, 1, 1), (WARMUPS, 0, 0)):
        value = table.get(key, default) if isinstance(table, Mapping) else None
        if not isinstance(value, int) or isinstance(value, bool) or value < low:
            raise ConversionError(f"{METRICS}: {RUNTIME}.{key} should be a whole number of at least {low}")
        found[key] = value
    return found


def _direction(spec: Mapping[str, Any]) -> str:
    return "maximize" if spec.get("higher_is_better", True) else "minimize"


def _words(specs: Mapping[str, Mapping[str, Any]], hidden: list[str]) -> str:
    """What the specifications say of the metrics that policies may see."""
    lines = []
    for name, spec in specs.items():
        bounds = [spec.get("lower_bound"), spec.get("upper_bound")]
        words = [str(spec.get("description", "")).strip(), "higher is better" if spec.get("higher_is_better") else ""]
        words += [f"from {bounds[0]} to {bounds[1]}"] if None not in bounds else []
        if (change := spec.get("significant_change")) is not None:
            words.append(f"a change below {change} is not significant")
        lines += [] if name in hidden else [f"- {name}: {', '.join(filter(None, words))}"]
    return "\n".join(["Metrics:", *lines]) if lines else ""
