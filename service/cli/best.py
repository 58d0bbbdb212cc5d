"""The best candidate of a run: by fitness, or under weights that the user names."""

import difflib
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from evolve.problem import Objective
from evolve.program import Program
from service.cli import figures
from service.cli.export import STDOUT, writing
from service.cli.records import find_run
from service.cli.show import candidate_rows, facts
from service.cli.terminal import Terminal
from service.errors import ConflictError, NotFoundError, UsageError
from service.ports import CandidateRecord, RunReader, RunRecord
from service.projections.candidates import candidate_json, every_candidate, objectives_of

Score = Callable[[CandidateRecord], float]


def show_best(terminal: Terminal, reader: RunReader, run_id: str, *, weights: str | None, output: Path | None) -> None:
    """Print the best candidate, and write its program where asked to."""
    run = find_run(reader, run_id)
    wanted = read_weights(weights) if weights is not None else {}
    value: float | None = None
    if wanted:
        candidate, value = weighted_best(run, every_candidate(reader, run.id), wanted)
    else:
        candidate = _fittest(reader, run)
    written = write_program(terminal, reader.program(candidate.id), output) if output is not None else []
    if output == STDOUT:
        return
    if terminal.as_json:
        extra = {"weights": wanted, "value": value} if wanted else {}
        terminal.emit({**candidate_json(candidate), **extra, "written": written})
        return
    rows = candidate_rows(candidate)
    if value is not None:
        rows.insert(4, ("weighted", f"{figures.exact(value)} under {weights}"))
    terminal.show(facts(rows))
    name = figures.short(candidate.id)
    if written:
        terminal.note(f"written: {', '.join(written)}", style="dim")
    elif candidate.number:  # a seed has neither
        terminal.note(f"next: {terminal.command(f'lineage {name}')}, {terminal.command(f'diff {name}')}", style="dim")


def _fittest(reader: RunReader, run: RunRecord) -> CandidateRecord:
    if best := reader.best(run.id, limit=1):
        return best[0]
    raise _none_yet(run)


def _none_yet(run: RunRecord) -> NotFoundError:
    return NotFoundError(f"no candidate of {run.id} was evaluated with success: evolve programs --all shows why")


def read_weights(text: str) -> dict[str, float]:
    """Weights written as `accuracy=1,speed=2`.

    Raises:
        UsageError: a part is no NAME=NUMBER, a number is below 0 or not finite, or all are 0.
    """
    weights: dict[str, float] = {}
    for part in text.split(","):
        name, equals, value = part.partition("=")
        try:
            weight = float(value)
        except ValueError:
            weight = math.nan
        if not (equals and name.strip() and math.isfinite(weight) and weight >= 0):
            raise UsageError(f"--weights: {part.strip()!r} is no NAME=NUMBER with a number of at least 0")
        weights[name.strip()] = weight
    if not any(weights.values()):
        raise UsageError("--weights needs a number above 0")
    return weights


def weighted_best(
    run: RunRecord, candidates: Iterable[CandidateRecord], weights: Mapping[str, float]
) -> tuple[CandidateRecord, float]:
    """The candidate with the highest weighted mean of normalised scores, and that mean; ties go to the oldest.

    Scores are normalised by the objective's declared bounds, else by their range in the run.

    Raises:
        UsageError: a name is no objective (without objectives: no score) of the run.
        NotFoundError: nothing was evaluated with success.
    """
    valid = [candidate for candidate in candidates if candidate.outcome == "ok"]
    if not valid:
        raise _none_yet(run)
    objectives = {objective.name: objective for objective in objectives_of(run)}
    known = list(objectives) or sorted({name for candidate in valid for name in candidate.scores})
    for name in weights:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1, cutoff=0)
            raise UsageError(f"--weights: {name} is no objective of this run; the nearest is {near[0]}")
    rules = {name: _normaliser(name, objectives.get(name), valid) for name in weights}
    total = math.fsum(weights.values())

    def value(candidate: CandidateRecord) -> float:
        return math.fsum(weight * rules[name](candidate) for name, weight in weights.items()) / total

    winner = max(valid, key=lambda candidate: (value(candidate), -candidate.number, -candidate.position))
    return winner, value(winner)


def _normaliser(name: str, objective: Objective | None, valid: Sequence[CandidateRecord]) -> Score:
    if objective is not None and objective.bounded:
        return lambda candidate: objective.normalise(candidate.scores[name])
    sign = objective.sign if objective is not None else 1.0
    seen = [sign * candidate.scores[name] for candidate in valid if name in candidate.scores]
    low, high = min(seen), max(seen)

    def normalised(candidate: CandidateRecord) -> float:
        if name not in candidate.scores:
            return 0.0
        return (sign * candidate.scores[name] - low) / (high - low) if high > low else 1.0

    return normalised


def write_program(terminal: Terminal, program: Program, output: Path) -> list[str]:
    """Write a program of one file to a file, one of several into a folder; `-` is stdout.

    Raises:
        ConflictError: several files, and the output is a file.
    """
    if output == STDOUT:
        terminal.write(program.text)
        return []
    if program.single and not output.is_dir():
        targets = {output: program.text}
    elif output.exists() and not output.is_dir():
        raise ConflictError(f"the program has {len(program.files)} files and {output} is a file: name a folder")
    else:
        targets = {output / path: text for path, text in program.files}
    for target, text in targets.items():
        if target != output:
            target.parent.mkdir(parents=True, exist_ok=True)
        with writing(target) as stream:
            stream.write(text)
    return [str(target) for target in targets]
