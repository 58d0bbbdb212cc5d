"""What the sandbox reaches on this machine, opened once on a problem of no weight."""

from dataclasses import dataclass

from evolve.problem import EvaluatorSpec, Problem
from evolve.program import Program
from service.config import SandboxSettings
from service.errors import RefusedError, ServiceError
from service.sandbox import scratch
from service.sandbox.evaluator import open_evaluator
from service.sandbox.layers import IsolationLevel, Layer
from service.sandbox.read_paths import private_places, with_paths
from service.sandbox.selftest import refusal

_EVALUATOR = "def score(outputs, program):\n    return {}\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxReport:
    """What the sandbox reaches here.

    Attributes:
        enough: whether that is what the settings require.
        reason: why it is not enough, with the layers that are missing; empty: it is.
    """

    level: str
    required: str
    enough: bool
    layers: tuple[Layer, ...] = ()
    reason: str = ""


async def require_sandbox(settings: SandboxSettings) -> SandboxReport:
    """What the sandbox reaches here, where that is enough.

    Raises:
        RefusedError: this machine offers less isolation than is required.
    """
    report = await examine_sandbox(settings)
    if not report.enough:
        raise RefusedError(f"{report.reason}: evolve doctor shows every layer")
    return report


async def examine_sandbox(settings: SandboxSettings) -> SandboxReport:
    """Open the sandbox, let it test itself, and report what holds."""
    required = IsolationLevel(settings.own)
    problem = Problem(
        name="doctor",
        seeds=(Program.of({"main.py": "def run():\n    return None\n"}),),
        evaluator=EvaluatorSpec(entry="run"),
    )
    with scratch.folder("doctor") as folder:
        (folder / problem.evaluator.file).write_text(_EVALUATOR, encoding="utf-8")
        try:
            problem = with_paths(problem, settings, private=private_places(), others=True)
            async with open_evaluator(problem, folder, 1, require=None) as evaluator:
                enough = evaluator.level.reaches(required)
                return SandboxReport(
                    level=str(evaluator.level),
                    required=str(required),
                    enough=enough,
                    layers=evaluator.layers,
                    reason="" if enough else refusal(evaluator.report, required),
                )
        except ServiceError as error:
            return SandboxReport(
                level=str(IsolationLevel.NONE), required=str(required), enough=False, reason=str(error)
            )
