"""Problems: what is searched for, how it is scored, and within which limits."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from evolve.errors import ProblemError
from evolve.extensions import ExtensionKind, is_known, known_names
from evolve.program import Program
from evolve.repository import Repository

BUILT_IN_MEASURES = ("complexity", "novelty", "score")

# Numbers of a larger magnitude are refused at the door: sums, spans and ratios of those that remain are finite.
MAX_MAGNITUDE = 1e100
MAX_AUDITS = 1000
_IMAGE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/:@-]{0,254}")


class Direction(StrEnum):
    """Which way an objective is better."""

    MAXIMIZE = "maximize"
    MINIMIZE = "minimize"


class Integrity(StrEnum):
    """Whether the scorer ever shares a process with the program it scores."""

    SEPARATE = "separate"
    SHARED = "shared"


@dataclass(frozen=True, slots=True, kw_only=True)
class Objective:
    """Something optimised.

    Attributes:
        low, high: declared bounds in the objective's own unit; needed when there are several objectives.
        target: the score at which the run may end.
        reference: the worst score that counts in hypervolume; absent, the worse one of the declared bounds.
    """

    name: str
    direction: Direction = Direction.MAXIMIZE
    low: float | None = None
    high: float | None = None
    weight: float = 1.0
    target: float | None = None
    reference: float | None = None

    def __post_init__(self) -> None:
        _check_range(f"objective {self.name}", self.low, self.high)
        for name in ("target", "reference"):
            _check_size(f"objective {self.name}: {name}", getattr(self, name))
        if not 0 <= self.weight <= MAX_MAGNITUDE:
            raise ProblemError(f"objective {self.name}: weight must be a finite number of at least 0")

    @property
    def sign(self) -> float:
        """+1 when more is better, -1 when less is."""
        return 1.0 if self.direction is Direction.MAXIMIZE else -1.0

    @property
    def bounded(self) -> bool:
        """Whether bounds are declared."""
        return self.low is not None

    def signed(self, score: float) -> float:
        """Score with the direction's sign: more is better. Exact, so this is what dominance is decided by."""
        return self.sign * score

    def scale(self, score: float) -> float:
        """Score with the direction's sign, 0 to 1 over the declared bounds where there are any; never clipped.

        It never falls as the score gets better. Scores that differ by less than about 1e-16 of the bounds may become
        one reward, so dominance is decided by `signed`.
        """
        if self.low is None or self.high is None:
            return self.signed(score)
        share = (score - self.low) / (self.high - self.low)
        return share if self.direction is Direction.MAXIMIZE else 1.0 - share

    def normalise(self, score: float) -> float:
        """Score in [0, 1], 1 best, by the declared bounds; clipped to them."""
        if not self.bounded:
            raise ProblemError(f"objective {self.name} has no declared bounds")
        return min(1.0, max(0.0, self.scale(score)))

    @property
    def worst(self) -> float | None:
        """The worst score that counts in hypervolume, in the objective's own unit; None: there is no such score."""
        if self.reference is not None:
            return self.reference
        return self.low if self.direction is Direction.MAXIMIZE else self.high

    @property
    def floor(self) -> float | None:
        """The worst score that counts in hypervolume, scaled as rewards are; None: there is no such score."""
        return None if self.worst is None else self.scale(self.worst)

    def reached(self, score: float) -> bool:
        """Whether a score is at the objective's target or beyond."""
        return self.target is not None and self.signed(score) >= self.signed(self.target)


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """A behaviour descriptor, an axis of the MAP-Elites grid. It is never optimised.

    Attributes:
        low, high: fixed range of the axis; absent, the range of what was seen so far (running).
    """

    name: str
    bins: int = 10
    low: float | None = None
    high: float | None = None

    def __post_init__(self) -> None:
        if self.bins < 1:
            raise ProblemError(f"measure {self.name}: bins must be at least 1")
        _check_range(f"measure {self.name}", self.low, self.high)


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Limits of an evaluation."""

    wall_seconds: float = 20.0
    cpu_seconds: float = 20.0
    memory_mb: int = 1024
    processes: int = 32
    disk_mb: int = 64
    output_kb: int = 256
    network: bool = False
    gpu: bool = False

    def __post_init__(self) -> None:
        for name in ("wall_seconds", "cpu_seconds", "memory_mb", "processes", "disk_mb", "output_kb"):
            if not 0 < getattr(self, name) <= MAX_MAGNITUDE:
                raise ProblemError(f"limits: {name} must be a finite number above 0")


def lies_relative(path: str) -> bool:
    """Whether a path of a problem is meant from the problem's folder on."""
    return not path.startswith(("/", "~"))


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluatorSpec:
    """How a program is scored.

    Attributes:
        file: path of the evaluator inside the problem's bundle.
        entry: separate integrity, Python: the function of the program that is called.
        command: separate integrity, other languages: argv that runs the program, JSON in, JSON out; the word
            `{python}` stands for the interpreter of the evaluation.
        build: argv that prepares the program for `command`, once for all its inputs, such as a compiler.
        text: separate integrity: the program is a text that is scored as it stands; nothing of it is run.
        runtime: separate integrity, instead of `command` and `build`: the name of a runtime that gives both.
        python: interpreter of program and evaluator; empty: the worker's own.
        image: container image that program and evaluator run in; empty: in the file system of the worker.
        preload: modules imported once in the warm process.
        read: files and folders outside of the problem's that programs and evaluator may read, beside the system's.
        scorer_read: separate integrity: files and folders outside that the evaluator may read, and no program.
        path: folders of programs, as `read`, which stand first on PATH.
        warmups: how often a program is scored before that, to no effect unless it fails.
        repeats: how often a program is scored, and its mean taken.
        min_repeats: how often at least where it falls short of what it would have to beat; 0: always `repeats`.
        repeats_confidence: with which it must be seen to fall short before further repeats are spared.
        holdout: whether the evaluator's `holdout` scores the final front when a run has ended.
        audit: how often the best of a run is evaluated anew then, each time under other seeds.
        audit_tolerance: by how much a score may differ there: as a share of the objective's bounds, else of itself.
        stage_thresholds: what stage i must reach, objective -> threshold, for stage i + 1 to run.
        verifier: a second evaluator, by which `evolve certify` checks a winner independently; empty: there is none.
        lenient: whether results are read as OpenEvolve reads them; see `evolve.evaluation.read_result`.
    """

    file: str = "evaluator.py"
    integrity: Integrity = Integrity.SEPARATE
    entry: str = ""
    command: tuple[str, ...] = ()
    build: tuple[str, ...] = ()
    text: bool = False
    runtime: str = ""
    python: str = ""
    image: str = ""
    requirements: tuple[str, ...] = ()
    preload: tuple[str, ...] = ()
    read: tuple[str, ...] = ()
    scorer_read: tuple[str, ...] = ()
    path: tuple[str, ...] = ()
    warmups: int = 0
    repeats: int = 1
    min_repeats: int = 0
    repeats_confidence: float = 0.95
    stage_thresholds: tuple[Mapping[str, float], ...] = ()
    holdout: bool = False
    audit: int = 0
    audit_tolerance: float = 0.01
    verifier: str = ""
    lenient: bool = False

    def __post_init__(self) -> None:
        if self.repeats < 1:
            raise ProblemError("evaluator: repeats must be at least 1")
        if self.min_repeats and not 2 <= self.min_repeats <= self.repeats:
            raise ProblemError(
                f"evaluator: min_repeats must lie between 2 and repeats = {self.repeats}, or be 0 to make all repeats"
            )
        for number, thresholds in enumerate(self.stage_thresholds, start=1):
            for name, threshold in thresholds.items():
                _check_size(f"evaluator: threshold {name} of stage {number}", threshold)
        if not 0 <= self.audit <= MAX_AUDITS:
            raise ProblemError(f"evaluator: audit must lie between 0 and {MAX_AUDITS}")
        if not 0 <= self.audit_tolerance <= MAX_MAGNITUDE:
            raise ProblemError("evaluator: audit_tolerance must be a finite number of at least 0")
        if not 0.5 <= self.repeats_confidence < 1:
            raise ProblemError("evaluator: repeats_confidence must be at least 0.5 and below 1")
        ways = (bool(self.entry), bool(self.command), bool(self.runtime), self.text)
        if self.integrity is Integrity.SEPARATE and ways.count(True) != 1:
            raise ProblemError(
                "evaluator: name the program's entry function (entry), its command line (command) or the runtime of its"
                " language (runtime), or say that it is text that is not run (text = true)"
            )
        if self.runtime and self.integrity is Integrity.SHARED:
            raise ProblemError("evaluator: runtime has no meaning with shared integrity: leave it out")
        if self.runtime and not is_known(ExtensionKind.RUNTIME, self.runtime):
            known = ", ".join(known_names(ExtensionKind.RUNTIME))
            raise ProblemError(
                f"evaluator: the runtime {self.runtime[:80]!r} is not known: name one of {known}, or one of your own as"
                " module:function"
            )
        if self.scorer_read and self.integrity is Integrity.SHARED:
            raise ProblemError(
                "evaluator: scorer_read hides files from programs, which shared integrity cannot: a program runs in the"
                ' process of its scorer. Set integrity = "separate", or name them in read'
            )
        self._check_image()
        if self.build and not self.command:
            raise ProblemError("evaluator: build prepares programs that a command runs: add evaluator.command")

    def _check_image(self) -> None:
        if not self.image:
            return
        if not _IMAGE.fullmatch(self.image):
            raise ProblemError(
                f"evaluator: image = {self.image[:80]!r} does not name an image: write NAME:TAG or NAME@sha256:HASH"
            )
        for key in ("requirements", "path"):
            if getattr(self, key):
                raise ProblemError(
                    f"evaluator: {key} concerns this machine, and programs run in the image: put what they need into"
                    f" the image, and leave {key} out"
                )

    @property
    def races(self) -> bool:
        """Whether repeats may be spared."""
        return 0 < self.min_repeats < self.repeats


@dataclass(frozen=True, slots=True, kw_only=True)
class SeedOrigin:
    """What is known of a seed that an earlier run found.

    Attributes:
        name: in that run.
        parents: places of its ancestors among the seeds, each before its own.
        generation: None: it is not known.
        metrics: of that run, which count for nothing here.
    """

    name: str
    parents: tuple[int, ...] = ()
    generation: int | None = None
    metrics: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """A problem as the search sees it.

    Attributes:
        description: shown to the policy.
        seeds: the programs the search starts from.
        objectives: empty when the evaluator gives one scalar (`combined_score`, else the mean of its metrics).
        bundle: SHA-256 of the problem's folder; the evaluator is fetched by it.
        known_best: best known score of the one objective (of the scalar without objectives); with several, the best
            known fitness.
        main: path, inside a program of several files, that is handed to a shared evaluator; empty: the folder.
        origins: by their places, what is known of seeds that an earlier run found.
        repository: the commit over which the files of its programs lie; None: a program is whole by itself.
    """

    name: str
    description: str = ""
    language: str = "python"
    seeds: tuple[Program, ...]
    evaluator: EvaluatorSpec
    limits: Limits = field(default_factory=Limits)
    objectives: tuple[Objective, ...] = ()
    measures: tuple[Measure, ...] = ()
    known_best: float | None = None
    known_best_source: str = ""
    bundle: str = ""
    main: str = ""
    origins: Mapping[int, SeedOrigin] = field(default_factory=dict)
    repository: Repository | None = None

    def __post_init__(self) -> None:
        if not self.seeds:
            raise ProblemError("a problem needs at least one seed program")
        if any(parent >= place for place, origin in self.origins.items() for parent in origin.parents):
            raise ProblemError("the parents of a seed stand before it")
        _check_size("known_best", self.known_best)
        _refuse_repeats("objective", [objective.name for objective in self.objectives])
        _refuse_repeats("measure", [measure.name for measure in self.measures])
        unbounded = [objective.name for objective in self.objectives if not objective.bounded]
        if len(self.objectives) > 1 and unbounded:
            raise ProblemError(
                f"objective {unbounded[0]} needs low and high: with several objectives the fitness is a weighted sum"
                " over declared bounds, so that it never changes after the fact"
            )
        if self.objectives and not any(objective.weight for objective in self.objectives):
            raise ProblemError("at least one objective needs a weight above 0")

    @property
    def scalar(self) -> bool:
        """Whether the evaluator's one scalar is the only objective."""
        return not self.objectives

    @property
    def objective_names(self) -> tuple[str, ...]:
        """Names of the reward vector's components."""
        return tuple(objective.name for objective in self.objectives) or ("combined_score",)

    @property
    def reference_point(self) -> tuple[float, ...] | None:
        """Where hypervolume is measured from, signed as scores are; None when an objective has no such point."""
        worst = [(objective, objective.worst) for objective in self.objectives]
        known = tuple(objective.signed(score) for objective, score in worst if score is not None)
        return known if known and len(known) == len(worst) else None


def _check_range(what: str, low: float | None, high: float | None) -> None:
    _check_size(f"{what}: low", low)
    _check_size(f"{what}: high", high)
    if low is None and high is None:
        return
    if low is None or high is None:
        raise ProblemError(f"{what}: give both low and high, or neither")
    if not high - low > 1 / MAX_MAGNITUDE:
        raise ProblemError(f"{what}: low must be below high")


def _check_size(what: str, value: float | None) -> None:
    if value is not None and not abs(value) <= MAX_MAGNITUDE:
        raise ProblemError(f"{what} must lie between {-MAX_MAGNITUDE:g} and {MAX_MAGNITUDE:g}, not be {value}")


def _refuse_repeats(what: str, names: list[str]) -> None:
    for name in names:
        if names.count(name) > 1:
            raise ProblemError(f"two {what}s are called {name}")
