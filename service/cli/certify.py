"""The commands `evolve certify` and `evolve verify`: a winner examined here, and again elsewhere."""

import asyncio
import platform
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

from evolve.evaluation import COMBINED
from evolve.version import __version__
from service.cli.listing import plain_table
from service.cli.records import find_run
from service.cli.terminal import Terminal, evolve, plain
from service.errors import CertificateError, NotFoundError
from service.ports import Bundle, CandidateRecord, RunRecord
from service.problems.bundle import open_bundle
from service.usecases.certificates import (
    DEVICE,
    FORMAT,
    IMAGE,
    MAX_BYTES,
    SCHEMA,
    ClaimedWinner,
    WinnerCheck,
    claimed_winner,
    digest_of,
    examine_winner,
    problem_document,
    program_document,
    read_certificate,
    sealed,
)

if TYPE_CHECKING:
    from rich.table import Table

    from service.projections.run_site import RunSite
    from service.usecases.control_runs import RunControl

_PACKAGES = ("numpy",)
LABEL = "certificate"


def certify_run(
    terminal: Terminal,
    site: "RunSite",
    bundles: Callable[[RunRecord], Bundle],
    run_id: str,
    output: Path | None,
    isolation: str | None,
) -> tuple[RunRecord, str]:
    """Examine the best candidate of a run, and write its certificate. Returns the run and the certificate's digest.

    Raises:
        CertificateError: an examination fails. Nothing is written.
        NotFoundError: the run has no best candidate yet.
    """
    run = find_run(site.reader, run_id)
    if run.best_candidate_id is None:
        raise NotFoundError(f"{run.id} has no best candidate yet: certify it when a program has a score")
    winner = site.reader.candidate(run.best_candidate_id)
    bundle = bundles(run)
    claimed = ClaimedWinner(
        bundle=bundle,
        problem_name=run.problem_name,
        program=site.reader.program(winner.id),
        claims=_claims(run, winner),
        held_out={},
    )
    with terminal.doing("scoring the winner by every check"):
        checks = asyncio.run(_examined(claimed, isolation, others=False))
    _require(checks, "the winner is not certified")
    line = list(reversed(site.reader.ancestors(winner.id)))
    document = _document(run, claimed, checks, [_ancestor(candidate) for candidate in line])
    place = output or Path(f"{run.id}-certificate.json")
    place.write_bytes(sealed(document))
    if terminal.as_json:
        terminal.emit({"run_id": run.id, "candidate_id": winner.id, "path": str(place), **_report(document, checks)})
        return run, digest_of(document)
    terminal.show(_table(checks))
    terminal.note(f"written: {place}, digest {digest_of(document)}")
    terminal.note(f"next, on any machine: {evolve()} verify {quote(str(place))}", style="dim")

    return run, digest_of(document)


def label_run(control: "RunControl", run: RunRecord, digest: str) -> None:
    """Note the digest of a certificate among the labels of its run, which pages and reports show."""
    from service.schemas.types import MAX_LABELS

    if LABEL in run.labels or len(run.labels) < MAX_LABELS:
        control.label(run, {**run.labels, LABEL: digest})


def verify_certificate(terminal: Terminal, place: Path, isolation: str | None) -> None:
    """Compare the hashes of a certificate with its content, and examine its program on this machine.

    Raises:
        CertificateError: it was changed, or an examination fails.
    """
    with place.open("rb") as file:
        content = file.read(MAX_BYTES + 1)
    if len(content) > MAX_BYTES:
        raise CertificateError(f"{place} is larger than {MAX_BYTES >> 20} MB: it is not a certificate")
    document = read_certificate(content, str(place))
    claimed = claimed_winner(document, str(place))
    with terminal.doing("scoring the program by every check"):
        checks = asyncio.run(_examined(claimed, isolation, others=True))
    if terminal.as_json:
        terminal.emit({"path": str(place), **_report(document, checks)})
    else:
        terminal.show(_table(checks))
    _require(checks, f"{place} does not hold on this machine")
    if not terminal.as_json:
        terminal.note(f"the certificate holds: {claimed.problem_name}, digest {document['digest']}")


async def _examined(claimed: ClaimedWinner, isolation: str | None, *, others: bool) -> list[WinnerCheck]:
    from service.bootstrap.evaluators import choose_evaluators
    from service.config import load_settings

    evaluators = choose_evaluators(load_settings(), queue="", require=isolation, serving=others)
    return [check async for check in examine_winner(claimed, evaluators, others=others)]


def _require(checks: Sequence[WinnerCheck], what: str) -> None:
    failed = [check for check in checks if not check.holds]
    if failed:
        raise CertificateError(f"{what}: {failed[0].name}: {failed[0].detail}")


def _claims(run: RunRecord, winner: CandidateRecord) -> dict[str, float]:
    names = [str(objective["name"]) for objective in run.objectives]
    if names:
        return {name: winner.scores[name] for name in names}
    return {} if winner.fitness is None else {COMBINED: winner.fitness}


def _document(
    run: RunRecord, claimed: ClaimedWinner, checks: Sequence[WinnerCheck], lineage: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    held_out = next((dict(check.scores) for check in checks if check.name == "holdout"), {})
    return {
        "format": FORMAT,
        "schema": SCHEMA,
        "made_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "problem": problem_document(run.problem_name, claimed.bundle, open_bundle(claimed.bundle)),
        "program": program_document(claimed.program),
        "claims": {"scores": dict(claimed.claims), "holdout": held_out, "known_best": run.known_best},
        "run": _run(run),
        "lineage": list(lineage),
        "versions": {**_versions(), **{check.name: check.detail for check in checks if check.name in (IMAGE, DEVICE)}},
        "checks": [asdict(check) for check in checks],
    }


def _run(run: RunRecord) -> dict[str, Any]:
    times = {name: getattr(run, name) for name in ("created_at", "started_at", "finished_at")}
    return {
        "id": run.id,
        "state": run.state,
        "reason": run.reason,
        "seed": run.seed,
        "config": dict(run.config),
        "policies": [dict(policy) for policy in run.policies],
        "isolation": run.isolation,
        "integrity": run.integrity,
        "counters": asdict(run.counters),
        "active_seconds": run.active_seconds,
        **{name: at.isoformat() if at else None for name, at in times.items()},
    }


def _ancestor(candidate: CandidateRecord) -> dict[str, Any]:
    return {
        "candidate_id": candidate.id,
        "program_id": candidate.program_id,
        "operator": candidate.operator,
        "policy": candidate.policy,
        "parents": [edge.candidate_id for edge in candidate.parents],
        "fitness": candidate.fitness,
        "scores": dict(candidate.scores),
        "created_at": candidate.created_at.isoformat(),
    }


def _versions() -> dict[str, str]:
    found = {"evolve": __version__, "python": platform.python_version(), "system": platform.system()}
    found |= {"machine": platform.machine()}
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def _report(document: Mapping[str, Any], checks: Sequence[WinnerCheck]) -> dict[str, Any]:
    return {
        "digest": digest_of(document),
        "holds": all(check.holds for check in checks),
        "claims": document["claims"],
        "checks": [asdict(check) for check in checks],
    }


def _table(checks: Sequence[WinnerCheck]) -> "Table":
    table = plain_table("check", "holds", "found")
    for check in checks:
        table.add_row(check.name, "✓" if check.holds else "✗", plain(check.detail))
    return table
