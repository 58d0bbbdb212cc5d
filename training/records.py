"""Training records: prompts, completions and rewards of runs, as written by `evolve export --training`."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from evolve.answers.chain import ChainFormat, parse_format
from evolve.answers.continuation import CONTINUE
from evolve.errors import EvolveError
from evolve.multiobjective.scalarization import Floats
from evolve.program import Program
from training.errors import TrainingError


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """An answered proposal.

    Attributes:
        name: run and number, for people.
        messages: of the prompt, each with role and content.
        chain_format: requested separation of the answers.
        edits: `rewrite` or `diff`: form of an answer's change.
        answers: m, requested answers per completion.
        parent: the program that answers change.
        objectives: names, in the order of the rewards.
        rewards: of the scored answers, more is better, a vector each.
    """

    name: str
    messages: tuple[Mapping[str, str], ...]
    chain_format: ChainFormat
    edits: str
    answers: int
    parent: Program
    objectives: tuple[str, ...]
    rewards: tuple[tuple[float, ...], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Records:
    """Records to train on.

    Attributes:
        usable: in the order of their files.
        passed_over: number without a prompt (a policy that is not a language model), without a parent (no answer), or
            with a prefilled reply.
        prompts: number with a prompt.
    """

    usable: tuple[Record, ...]
    passed_over: int
    prompts: int = 0

    @property
    def rewards(self) -> Floats:
        """The vectors of all answers that were scored, (answers, objectives)."""
        rows = [row for record in self.usable for row in record.rewards]
        return np.array(rows) if rows else np.empty((0, len(self.usable[0].objectives)))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Scale:
    """Scales reward vectors, so that a failed answer has zeros and no answer has less.

    Runs store a reward with declared bounds as 0 to 1 over them, and a reward without bounds as the score itself. The
    latter is scaled over the range in the records. The range is fixed before training, so rewards keep their meaning.

    Attributes:
        low, high: (objectives,), the values that become 0 and 1.
    """

    low: Floats
    high: Floats

    @classmethod
    def of(cls, bounded: Sequence[bool], recorded: Floats) -> "Scale":
        """The scale of objectives that have declared bounds or not, and of (answers, objectives) recorded rewards.

        Raises:
            TrainingError: an objective without bounds was never scored, or always the same.
        """
        inside = np.array(bounded, dtype=bool)
        if not inside.all() and not len(recorded):
            raise TrainingError("No answer in the records was scored: declare bounds of the objective, or record more.")
        low = np.where(inside, 0.0, recorded.min(axis=0) if len(recorded) else 0.0)
        high = np.where(inside, 1.0, recorded.max(axis=0) if len(recorded) else 1.0)
        if (high <= low).any():
            raise TrainingError(
                "All recorded answers have the same score: declare the objective's bounds (low, high) in problem.toml."
            )
        return cls(low=low, high=high)

    def apply(self, rewards: Sequence[float]) -> Floats:
        """A reward vector on the scale: 0 where it is at the low end or below, above 1 where it is beyond the high."""
        return np.maximum((np.asarray(rewards, dtype=np.float64) - self.low) / (self.high - self.low), 0.0)


def read_records(paths: Sequence[Path]) -> Records:
    """Read files of training records, all of the same problem.

    Raises:
        TrainingError: a file is missing, a line is not a training record, the objectives differ, or nothing is usable.
    """
    read = [found for path in paths for found in _file(path)]
    usable = tuple(record for _, record in read if record is not None)
    if not usable:
        raise TrainingError(
            "The records hold no prompt with answers: train on runs with answers of a language model. If"
            " its answers could not be read, run evolve train sft first."
        )
    names = {record.objectives for record in usable}
    if len(names) > 1:
        shown = " and ".join(", ".join(each) or "none" for each in sorted(names))
        raise TrainingError(f"The records have different objectives ({shown}): train on runs of a single problem.")
    return Records(usable=usable, passed_over=len(read) - len(usable), prompts=sum(asked for asked, _ in read))


def _file(path: Path) -> Iterator[tuple[bool, Record | None]]:
    """Whether a line has a prompt, and its record where it can be used."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise TrainingError(f"{path} cannot be read: write it with evolve export --training -o {path.name}") from error
    for number, line in enumerate(lines, start=1):
        try:
            values = json.loads(line)
            yield bool(values["messages"]), _record(values)
        except (KeyError, TypeError, ValueError, AttributeError, EvolveError) as error:
            raise TrainingError(
                f"{path}, line {number}, is not a training record ({_reason(error)}): write the file again with"
                " evolve export --training"
            ) from error


def _reason(error: Exception) -> str:
    return f"{error} is missing" if isinstance(error, KeyError) else str(error).rstrip(".")


def _record(line: Mapping[str, Any]) -> Record | None:
    messages, asked, parent = line["messages"], line["asked"], line["parent"]
    # A continued reply is not the model's own: what it would write from the first word on stays unknown.
    if not messages or parent is None or asked["format"] is None or asked["edits"] == CONTINUE:
        return None
    objectives = tuple(str(name) for name in line["objectives"])
    rewards = tuple(tuple(map(float, one["rewards"])) for one in line["answers"] if one["rewards"])
    _check_rewards(rewards, max(len(objectives), 1))
    return Record(
        name=f"{line['run_id']}, proposal {line['number']}",
        messages=tuple({"role": str(one["role"]), "content": str(one["content"])} for one in messages),
        chain_format=parse_format(asked["format"]),
        edits=str(asked["edits"]),
        answers=int(asked["answers"]),
        parent=Program.of(parent["files"]),
        objectives=objectives,
        rewards=rewards,
    )


def _check_rewards(rewards: Sequence[Sequence[float]], width: int) -> None:
    for row in rewards:
        if len(row) != width or not np.isfinite(row).all():
            raise ValueError(f"rewards are {width} finite numbers, not {list(row)}")
