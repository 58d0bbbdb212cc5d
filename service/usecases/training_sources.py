"""Runs to learn from: those of a database have a problem of their own, exports need its folder."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from evolve.configuration import RunConfig
from evolve.problem import Problem
from service.errors import NotFoundError, UsageError
from service.policy_settings.kind_traits import WITHOUT_MODEL
from service.policy_settings.settings import AGENT, PolicySettings
from service.ports import RunRecord, Storage
from service.problems.load import load_problem
from service.projections.export import export_lines
from service.usecases.plan import RunOrder, RunPlan, plan_loaded, plan_stored
from service.usecases.prompt_templates import read_templates


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSource:
    """A run or an export of one.

    Attributes:
        name: for people.
        problem, config, templates: by which the run's prompts are built.
        author: the first policy that answers in a form: a language model; None: there is none.
        lines: of the run's export, one a candidate.
    """

    name: str
    problem: Problem
    config: RunConfig
    templates: dict[str, str]
    author: PolicySettings | None
    lines: Iterator[str]


def export_source(path: Path, folder: Path | None) -> RunSource:
    """A file that `evolve export` wrote, with the folder of its problem.

    Raises:
        UsageError: no folder is named, or the file cannot be read.
        InvalidProblemError, ConfigurationError: the problem cannot be used.
    """
    if folder is None:
        raise UsageError(f"{path} is an export: name the folder of its problem with --problem")
    plan = plan_loaded(RunOrder(), load_problem(folder), "")
    return _source(plan, str(path), _file_lines(path))


def stored_source(record: RunRecord, storage: Storage) -> RunSource:
    """A run in a database.

    Raises:
        InvalidProblemError, ConfigurationError, UsageError: this version cannot read its problem.
    """
    return _source(plan_stored(record, storage.log), record.id, export_lines(storage.reader, record.id))


def _source(plan: RunPlan, name: str, lines: Iterator[str]) -> RunSource:
    readers = (
        policy for policy in plan.policies if policy.kind not in {*WITHOUT_MODEL, AGENT} and policy.role == "author"
    )
    return RunSource(
        name=name,
        problem=plan.problem,
        config=plan.config,
        templates=read_templates(plan),
        author=next(readers, None),
        lines=lines,
    )


def _file_lines(path: Path) -> Iterator[str]:
    try:
        with path.open(encoding="utf-8") as stream:
            yield from stream
    except FileNotFoundError as error:
        raise NotFoundError(f"there is no file {path}: write it with evolve export RUN -o {path.name}") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is not UTF-8 text: write it with evolve export RUN -o {path.name}") from error
