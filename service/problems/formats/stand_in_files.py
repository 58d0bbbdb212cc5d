"""Problems whose bridge loads Python files of another project, with stand-ins for its package."""

from collections.abc import Mapping, Sequence
from typing import Any

from evolve.problem_formats import ConvertedProblem, ProblemFolder
from service.problems.formats.bridge import EVALUATOR, bridge_files, bridge_tables
from service.problems.problem_document import problem_name

SEED, SEED_FOLDER = "evolve_seed.py", "evolve_seed"
_STAND_INS = "evolve_stand_ins.py"


def stand_in_bridge(name: str, settings: Mapping[str, Any]) -> dict[str, bytes]:
    """The files of a bridge, and the module that it shares with others.

    Args:
        name: of a module of `service.problems.formats.bridges`.
        settings: what the folder says, as JSON can hold it.
    """
    return {**bridge_files(name, settings), _STAND_INS: bridge_files("stand_ins")[EVALUATOR]}


def stand_in_problem(
    folder: ProblemFolder,
    bridge: Mapping[str, bytes],
    seed: str,
    objective: Mapping[str, str],
    *,
    description: str,
    seconds: float,
    search: Mapping[str, Any] | None = None,
    warnings: Sequence[str] = (),
) -> ConvertedProblem:
    """A problem of one Python program that a bridge scores.

    Args:
        folder: whose files come along.
        bridge: the files of `stand_in_bridge`, and others that Evolve writes.
        seed: the text of the first program.
        objective: name and direction of the score.
        description: for prompts.
        seconds: that an evaluation may take.
        search: the run configuration that the folder says; None: it says nothing.
        warnings: what the folder says and is not honoured.
    """
    return ConvertedProblem(
        files={**folder.files, **bridge, SEED: seed.encode()},
        document={
            "schema": 1,
            "name": problem_name(folder.name),
            "description": description,
            "seeds": [SEED],
            "objectives": [objective],
            **bridge_tables(seconds),
            **({"search": search} if search else {}),
        },
        warnings=warnings,
    )
