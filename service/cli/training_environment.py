"""What `evolve export --verifiers` does: a problem with parents in, a package of an environment out."""

import asyncio
from pathlib import Path

from service.bootstrap.evaluators import choose_evaluators
from service.bootstrap.sites import open_bundles
from service.cli.formatting import plural
from service.cli.records import find_run
from service.cli.terminal import Terminal
from service.client.service_choice import SourceOptions
from service.config import Settings, load_settings
from service.ports import EvaluatorRequest
from service.problems.load import load_bundle, load_problem
from service.usecases.training_environment import ParentProgram, candidate_parents, seed_parents, write_environment


def export_environment(terminal: Terminal, where: SourceOptions, source: str, folder: Path) -> None:
    """Write the problem of a run, with its best candidates as parents, or of a folder, with its seeds.

    Raises:
        UsageError: nothing can be a parent.
        InvalidProblemError, RefusedError: the problem cannot be read, or not be evaluated here.
        ConflictError: the target holds something.
    """
    settings = load_settings()
    if Path(source).is_dir():
        loaded = load_problem(Path(source))
        problem, bundle = loaded.problem, loaded.bundle
        with terminal.doing("running the seeds"):
            request = EvaluatorRequest(problem=problem, bundle=bundle, source=str(Path(source).resolve()))
            parents = asyncio.run(_evaluated_seeds(settings, request))
    else:
        with open_bundles(settings, where) as (site, bundles):
            run = find_run(site.reader, source)
            bundle = bundles(run)
            problem = load_bundle(bundle, run.problem_name).problem
            parents = candidate_parents(problem, site.export(run.id, "jsonl"))
    name = write_environment(folder, problem, bundle, parents)
    if terminal.as_json:
        terminal.emit({"name": name, "parents": len(parents), "path": str(folder)})
        return
    count = plural(len(parents), "parent")
    terminal.note(f"{name} with {count} written to {folder}. Install it with: pip install -e {folder}")


async def _evaluated_seeds(settings: Settings, request: EvaluatorRequest) -> list[ParentProgram]:
    async with choose_evaluators(settings, queue="").open(request) as opened:
        return await seed_parents(request.problem, opened.evaluator)
