"""OpenEvolve projects, read as they are: `initial_program.*`, `evaluator.py` and `config.yaml`."""

import re
from collections.abc import Collection, Mapping
from pathlib import PurePosixPath
from typing import Any

from evolve.errors import ProblemError
from evolve.evaluation import COMBINED
from evolve.problem import EvaluatorSpec, Integrity, Limits, Measure, Problem
from evolve.problem_formats import ConversionError, ConvertedProblem, ProblemFolder, RecognisedFiles
from service.errors import InvalidProblemError
from service.problems import project
from service.problems.configuration import check_layer, known_keys
from service.problems.documents import DocumentError, read_document
from service.problems.folder import Folder
from service.problems.formats import openevolve_secrets
from service.problems.formats.openevolve_keys import KNOWN
from service.problems.formats.openevolve_policy import read_policies
from service.problems.formats.openevolve_values import Values
from service.problems.problem_document import problem_document
from service.problems.reader_result import ReaderResult
from service.problems.sources import check_evaluator, language_of, read_seed, stages

EVALUATOR = "evaluator.py"
EVALUATORS = (EVALUATOR, "evaluator/evaluator.py")
DEFAULT_BUDGET = "max_iterations is not given, so OpenEvolve's default of 10000 holds: --evaluations N sets another"
CONFIGS, _YAML = ("config.yaml", "config.yml"), (".yaml", ".yml")
CONTAINER = ("evaluator/Dockerfile", "evaluator/evaluate.sh")
_SKYDISCOVER = re.compile(r"^(search|diff_based_generation|max_solution_length|llm_as_judge):", re.MULTILINE)
_EVALUATES = re.compile(
    r"^[ \t]*(?:(?:async )?def evaluate(?:_stage1)?\b|from .*\bevaluate\b|evaluate\s*[=:])", re.MULTILINE
)
_TEMPLATES = (".jinja", ".j2")
_SEED = "initial_program"
_SEEDS = (_SEED, "init_program", "initial_prompt", "initial")
_BUILT_IN = {"complexity": "complexity", "diversity": "novelty", "score": "score"}
# None of them is a key of a run configuration, as `search` and `prompt` are.
CONFIG_KEYS = tuple(sorted({key.partition(".")[0] for key in KNOWN} - {key.partition(".")[0] for key in known_keys()}))
# OpenEvolve bounds nothing but the time; its evaluators use every core and write what they like.
_CORES = 16
_MEMORY_MB = 4096


class OpenEvolveFormat:
    """A project of OpenEvolve."""

    title = "an OpenEvolve project"
    config_keys = CONFIG_KEYS

    def recognise(self, folder: ProblemFolder) -> RecognisedFiles | None:
        """As the protocol says: an evaluator alone may be anybody's, and so may a file called `initial`."""
        evaluator = folder.options.get(project.EVALUATOR) or next((n for n in EVALUATORS if n in folder.files), "")
        named = project.EVALUATOR in folder.options or project.CONFIG in folder.options
        if has_skydiscovers_files(folder) and project.EVALUATOR not in folder.options:
            return None
        seeds = [name for name in folder.files if _is_seed(name) and (evaluator or _stem(name) != _SEEDS[-1])]
        seeds = seeds or (_seed_folders(folder.files) if evaluator else [])
        configs = [name for name in CONFIGS if seeds or evaluator or _has_own_keys(name, folder.files.get(name, b""))]
        configs = [name for name in configs if name in folder.files]
        found = (*seeds[:1], *([evaluator] if evaluator else []), *configs[:1])
        if not (seeds or configs or named or (evaluator and _seed_folders(folder.files))):
            return None
        whole = evaluator and (seeds or named or _seed_folders(folder.files))
        # An evaluator without such a function may be a command of another project, whose format then has the folder.
        return RecognisedFiles(files=found, complete=bool(whole and _EVALUATES.search(folder.text(evaluator))))

    def convert(self, folder: ProblemFolder) -> ConvertedProblem:
        """As the protocol says, by the defaults of OpenEvolve.

        Raises:
            ConversionError: with every complaint about the configuration, the program and the evaluator.
        """
        return convert_openevolve(folder)


def convert_openevolve(folder: ProblemFolder, taken: Collection[str] = ()) -> ConvertedProblem:
    """A project of OpenEvolve in Evolve's own form.

    Args:
        folder: the project.
        taken: keys in the section `search` of its configuration that the caller honours.

    Raises:
        ConversionError: with every complaint about the configuration, the program and the evaluator.
    """
    files = Folder(files=folder.files)
    try:
        reading = read_openevolve(files, folder.name, taken)
    except InvalidProblemError as error:
        raise ConversionError(*error.complaints) from error
    document = problem_document(reading, [_seed_of(files)])
    return ConvertedProblem(files=files.files, document=document, warnings=reading.warnings)


def has_skydiscovers_files(folder: ProblemFolder) -> bool:
    """Whether a folder in OpenEvolve's layout is one of SkyDiscover."""
    inside = any(path in folder.files for path in (EVALUATORS[1], *CONTAINER))
    return inside or any(_SKYDISCOVER.search(folder.text(name)) for name in CONFIGS)


def seeds_in(files: Mapping[str, bytes]) -> list[str]:
    """The files that are called as first programs are, else folders of such a name."""
    return [name for name in files if _is_seed(name)] or _seed_folders(files)


def _has_own_keys(name: str, content: bytes) -> bool:
    """Whether a YAML file has keys of an OpenEvolve configuration that no run configuration has; not, if unreadable."""
    try:
        document = read_document(name, content)
    except DocumentError:
        return False
    return not set(CONFIG_KEYS).isdisjoint(document)


def without_keys(folder: Folder) -> Folder:
    """The folder without the keys that stand in its configuration.

    Raises:
        InvalidProblemError: one cannot be taken out.
    """
    return openevolve_secrets.without_keys(folder, [name for name in folder.files if name.endswith(_YAML)])


def read_openevolve(folder: Folder, name: str, taken: Collection[str] = ()) -> ReaderResult:
    """Read an OpenEvolve project by its own defaults; keys that are not honoured become warnings.

    Args:
        folder: the project.
        name: the problem's name.
        taken: keys in the section `search` of its configuration that the caller honours.

    Raises:
        InvalidProblemError: with every complaint about the configuration, the program and the evaluator.
    """
    named = project.named_in(folder)
    values = _values(folder, named.get(project.CONFIG, ""), taken)
    path = named.get(project.SEED) or _seed_path(folder, values)
    seed = read_seed(folder, path, values.complaints) if path else None
    file = named.get(project.EVALUATOR) or next((name for name in EVALUATORS if name in folder.files), EVALUATOR)
    source = check_evaluator(folder, file, {}, values.complaints)
    if source and not stages(source, "evaluate_stage"):
        check_evaluator(folder, file, {"evaluate": "write evaluate(program_path)"}, values.complaints)
    evaluator = EvaluatorSpec(
        file=file,
        integrity=Integrity.SHARED,
        lenient=True,
        preload=values.names("evaluator.preload"),
        stage_thresholds=_thresholds(values, source),
    )
    limits, measures, search, policies = _limits(values), _measures(values), _search(values), read_policies(values)
    language = values.text("language")
    values.complaints += check_layer(values.file, search)
    if values.complaints or seed is None:
        raise InvalidProblemError(values.complaints)
    try:
        problem = Problem(
            name=name or "problem",
            language=language or language_of(seed),
            seeds=(seed,),
            evaluator=evaluator,
            limits=limits,
            measures=measures,
        )
    except ProblemError as error:
        raise InvalidProblemError([f"{values.file}: {error}"]) from error
    return ReaderResult(problem=problem, search=search, policies=policies, warnings=tuple(values.warnings))


def _values(folder: Folder, named: str, taken: Collection[str] = ()) -> Values:
    found = named or _config_path(folder)
    if not found:
        values = Values(CONFIGS[0], {})
        values.warn("there is none, so OpenEvolve's defaults hold")
        return values
    try:
        values = Values(found, read_document(found, folder.files[found]), taken)
    except DocumentError as error:
        raise InvalidProblemError([str(error)]) from error
    if not named and found not in CONFIGS:
        values.warn("is taken for the configuration, since there is no config.yaml: --config names another")
    return values


def _config_path(folder: Folder) -> str:
    """The configuration of a project: config.yaml, else the first that lies beside it or in configs/."""
    others = [
        name for name in folder.files if name.endswith(_YAML) and PurePosixPath(name).parent.name in ("", "configs")
    ]
    return next(
        (name for name in (*CONFIGS, *sorted(others, key=lambda name: "/" in name)) if name in folder.files), ""
    )


def _is_seed(name: str) -> bool:
    return "/" not in name and _stem(name) in _SEEDS and PurePosixPath(name).suffix not in _TEMPLATES


def _stem(name: str) -> str:
    return PurePosixPath(name).stem


def _seed_folders(files: Mapping[str, bytes]) -> list[str]:
    """Seeds of several files."""
    tops = {name.partition("/")[0] for name in files if "/" in name}
    return [f"{name}/" for name in _SEEDS if name in tops]


def _seed_of(folder: Folder) -> str:
    """The seed of a project that was read."""
    named = project.named_in(folder)
    return named.get(project.SEED) or _seed_path(folder, _values(folder, named.get(project.CONFIG, "")))


def _seed_path(folder: Folder, values: Values) -> str:
    found = seeds_in(folder.files)
    wanted = f"{_SEED}{values.text('file_suffix', '.py')}"
    if not found:
        values.complaints.append(
            f"{wanted} is missing: put the seed program beside {EVALUATOR}, or name both (evolve run PROGRAM EVALUATOR)"
        )
        return ""
    path = wanted if wanted in found else found[0]
    if len(found) > 1:
        values.warn(f"{path} is taken of {', '.join(found)}: file_suffix names another")
    return path


def _thresholds(values: Values, source: str) -> tuple[Mapping[str, float], ...]:
    on = values.flag("evaluator.cascade_evaluation", True)
    raw = values.any("evaluator.cascade_thresholds")
    listed = [0.5, 0.75, 0.9] if raw is None else raw
    if not isinstance(listed, list):
        values.complain("evaluator.cascade_thresholds should be a list of numbers")
        listed = []
    read = [
        values.as_number(f"evaluator.cascade_thresholds[{number}]", value, 0.0, float("-inf"))
        for number, value in enumerate(listed, 1)
    ]
    if not on:
        return ()
    return tuple({COMBINED: threshold} for threshold in read[: stages(source, "evaluate_stage")])


def _limits(values: Values) -> Limits:
    seconds = values.number("evaluator.timeout", 300.0) or 300.0
    return Limits(
        wall_seconds=seconds,
        cpu_seconds=seconds * _CORES,
        memory_mb=values.whole("evaluator.memory_limit_mb", _MEMORY_MB, 1),
        processes=256,
        disk_mb=1024,
        output_kb=16_384,
    )


def _measures(values: Values) -> tuple[Measure, ...]:
    names = values.names("database.feature_dimensions", ["complexity", "diversity"])
    bins = values.any("database.feature_bins")
    table = bins if isinstance(bins, Mapping) else {}
    common = 10 if isinstance(bins, Mapping) else values.whole("database.feature_bins", 10, 1)
    measures = []
    for name in names:
        count = values.as_number(f"database.feature_bins.{name}", table.get(name, common), common, 1)
        measures.append(Measure(name=_BUILT_IN.get(name, name), bins=int(count)))
    return tuple(measures)


def _search(values: Values) -> dict[str, Any]:
    """The run configuration that says what OpenEvolve's says, by OpenEvolve's defaults."""
    if not values.given("max_iterations"):
        values.warn(DEFAULT_BUDGET)
    islands = values.whole("database.num_islands", 5, 1)
    kilobytes = values.number("prompt.max_artifact_bytes", 20 * 1024) / 1024
    budget: dict[str, Any] = {"evaluations": values.whole("max_iterations", 10_000, 1) + 1}  # the seed is evaluated too
    if values.number("early_stopping_patience", -1.0, low=float("-inf")) > 0:  # below: never
        budget["patience"] = values.whole("early_stopping_patience", 1, 1)
    search: dict[str, Any] = {
        "islands": islands,
        "migration_interval": values.whole("database.migration_interval", 50, 1),
        "migration_rate": values.number("database.migration_rate", 0.1),
        "archive": {"size": max(1, values.whole("database.population_size", 1000, 1) // islands)},
        "inspirations": {
            "top": values.whole("prompt.num_top_programs", 3),
            "diverse": values.whole("prompt.num_diverse_programs", 2),
        },
        "prompt": {"feedback_kb": kilobytes if values.flag("prompt.include_artifacts", True) else 0.0},
        "budget": budget,
        "seed": values.whole("random_seed", values.whole("database.random_seed", 42)),
    }
    system = values.text("prompt.system_message") or values.text("llm.system_message")
    if system and system != "system_message":  # OpenEvolve's name for its own template
        search["prompt"]["system"] = system
    if values.given("evaluator.parallel_evaluations"):
        search["concurrency"] = {"evaluations": values.whole("evaluator.parallel_evaluations", 1, 1)}
    return search
