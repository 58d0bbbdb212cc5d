"""Certificates: the winner of a run, with all that is needed to score it again elsewhere, and what was found there."""

import base64
import hashlib
import json
import math
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from evolve.answers.regions import enforce
from evolve.answers.repository_edits import repository_complaint
from evolve.errors import AnswerError, ProgramError
from evolve.evaluation import COMBINED, Evaluation, ScoringRequest, fitness
from evolve.problem import Objective, Problem
from evolve.program import Program
from service.errors import CertificateError
from service.ports.evaluators import EvaluatorFactory, EvaluatorRequest
from service.ports.values import Bundle
from service.problems.bundle import pack
from service.problems.folder import Folder
from service.problems.load import LoadedProblem, load_bundle

FORMAT, SCHEMA = "evolve-certificate", 1
MAX_BYTES = 256 * 1024 * 1024
OTHER_SEEDS = 3
IMAGE, DEVICE = "image", "device"
_PARTS = ("format", "schema", "made_at", "problem", "program", "claims", "run", "lineage", "versions", "checks")


@dataclass(frozen=True, slots=True, kw_only=True)
class WinnerCheck:
    """What one examination of a winner found.

    Attributes:
        name: `regions`, `image`, `scores`, `other seeds`, `holdout`, `device` or `verifier`.
        detail: one sentence.
        scores: that were found.
    """

    name: str
    holds: bool
    detail: str
    scores: Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimedWinner:
    """A winner, with the problem that it solves and the scores that are claimed for it.

    Attributes:
        claims: score by objective; of a problem without objectives, its fitness.
        held_out: those on what was held out; empty: not scored before.
        image: digest of the container image that it was certified in; empty: in none, or not before.
        device: what was told of the devices that it was certified on; empty: on none, or not before.
    """

    bundle: Bundle
    problem_name: str
    program: Program
    claims: Mapping[str, float]
    held_out: Mapping[str, float]
    image: str = ""
    device: str = ""


def problem_document(name: str, bundle: Bundle, folder: Folder) -> dict[str, Any]:
    """A problem's folder as JSON: every file by its content and hash."""
    return {
        "name": name,
        "bundle": bundle.hash,
        "files": {path: _file(path, content, folder.executable) for path, content in sorted(folder.files.items())},
    }


def _file(path: str, content: bytes, executable: frozenset[str]) -> dict[str, Any]:
    try:
        body = {"text": content.decode()}
    except UnicodeDecodeError:
        body = {"base64": base64.b64encode(content).decode()}
    marked = {"executable": True} if path in executable else {}
    return {**body, "sha256": hashlib.sha256(content).hexdigest(), **marked}


def program_document(program: Program) -> dict[str, Any]:
    """A program as JSON."""
    return {"id": program.id, "files": dict(program.files)}


def sealed(document: Mapping[str, Any]) -> bytes:
    """The file of a certificate: canonical JSON, with the SHA-256 of all the rest."""
    return _rendered({**document, "digest": digest_of(document)})


def digest_of(document: Mapping[str, Any]) -> str:
    """SHA-256 of a certificate without its digest."""
    rest = {key: value for key, value in document.items() if key != "digest"}
    return hashlib.sha256(_rendered(rest)).hexdigest()


def _rendered(document: Mapping[str, Any]) -> bytes:
    return (json.dumps(document, sort_keys=True, indent=1, ensure_ascii=False, allow_nan=False) + "\n").encode()


def read_certificate(content: bytes, place: str) -> dict[str, Any]:
    """The document in a certificate's file.

    Raises:
        CertificateError: it is not a certificate, or a byte of it has changed.
    """
    try:
        document = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise CertificateError(f"{place} is not a certificate: it is not JSON") from error
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise CertificateError(f"{place} is not a certificate: make one with evolve certify")
    if document.get("schema") != SCHEMA:
        raise CertificateError(f"{place} has the schema {document.get('schema')!r}, and this version reads {SCHEMA}")
    try:
        same = document.get("digest") == digest_of(document) and _rendered(document) == content
    except (ValueError, UnicodeError, RecursionError) as error:
        raise CertificateError(f"{place} holds what no certificate can: get it again") from error
    missing = [part for part in _PARTS if part not in document]
    if not same or missing:
        raise CertificateError(f"{place} was changed after it was made: its digest does not match. Get it again")
    return document


def claimed_winner(document: Mapping[str, Any], place: str) -> ClaimedWinner:
    """The winner of a certificate, after its hashes were compared with its content.

    Raises:
        CertificateError: a hash does not match, or a part is missing.
    """
    try:
        problem, claims = document["problem"], document["claims"]
        files = {path: _content(path, entry, place) for path, entry in problem["files"].items()}
        executable = frozenset(path for path, entry in problem["files"].items() if entry.get("executable"))
        bundle = pack(Folder(files=files, executable=executable))
        program = Program.of(document["program"]["files"])
        winner = ClaimedWinner(
            bundle=bundle,
            problem_name=str(problem["name"]),
            program=program,
            claims={str(name): _number(score) for name, score in claims["scores"].items()},
            held_out={str(name): _number(score) for name, score in claims["holdout"].items()},
            image=str(document["versions"].get(IMAGE, "")),
            device=str(document["versions"].get(DEVICE, "")),
        )
        hashes = (problem["bundle"], document["program"]["id"], document["lineage"][-1]["program_id"])
    except (KeyError, IndexError, TypeError, ValueError, AttributeError, ProgramError) as error:
        raise CertificateError(
            f"{place} lacks a part of a certificate, or has it in another form: get it again"
        ) from error
    if hashes != (bundle.hash, program.id, program.id):
        raise CertificateError(f"{place}: the hash of its problem or program does not match the content: get it again")
    return winner


def _content(path: str, entry: Mapping[str, Any], place: str) -> bytes:
    content = entry["text"].encode() if "text" in entry else base64.b64decode(entry["base64"], validate=True)
    if not isinstance(content, bytes) or hashlib.sha256(content).hexdigest() != entry["sha256"]:
        raise CertificateError(f"{place}: the hash of {path} does not match its content: get it again")
    return content


def _number(value: object) -> float:
    """A claim. No score differs from one that is not a number."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError("not a number")
    return float(value)


async def examine_winner(
    winner: ClaimedWinner, evaluators: EvaluatorFactory, *, others: bool
) -> AsyncIterator[WinnerCheck]:
    """Examine a winner in new processes, and tell what each examination found.

    Args:
        winner: the program, with its problem and claims.
        evaluators: score programs.
        others: whether somebody else wrote the problem.

    Raises:
        InvalidProblemError: the problem cannot be read, or its evaluator cannot be used.
        RefusedError: the machine does not offer the isolation that is required.
    """
    loaded = load_bundle(winner.bundle, winner.problem_name)
    problem = replace(loaded.problem, bundle=winner.bundle.hash)
    yield _regions(problem, winner.program)
    async with evaluators.open(_request(problem, loaded, winner.bundle, others)) as opened:
        if opened.image:
            yield _image(opened.image, winner.image)
        for name, scoring in _scorings(problem):
            evaluation = await opened.evaluator.evaluate(winner.program, f"{name} {scoring.draw}", scoring)
            yield _compared(problem, name, evaluation, winner.held_out if scoring.holdout else winner.claims)
        if devices := opened.devices():
            yield _device("; ".join(map(str, devices)), winner.device)
    if file := problem.evaluator.verifier:
        second = replace(problem, measures=(), evaluator=replace(problem.evaluator, file=file))
        async with evaluators.open(_request(second, loaded, winner.bundle, others)) as opened:
            evaluation = await opened.evaluator.evaluate(winner.program, "verifier", ScoringRequest())
        yield _compared(second, "verifier", evaluation, winner.claims)


def _request(problem: Problem, loaded: LoadedProblem, bundle: Bundle, others: bool) -> EvaluatorRequest:
    return EvaluatorRequest(problem=problem, bundle=bundle, source=loaded.place, slots=1, others=others)


def _scorings(problem: Problem) -> Sequence[tuple[str, ScoringRequest]]:
    drawn = [("other seeds", ScoringRequest(draw=number)) for number in range(1, OTHER_SEEDS + 1)]
    held_out = [("holdout", ScoringRequest(holdout=True))] if problem.evaluator.holdout else []
    return [("scores", ScoringRequest()), *drawn, *held_out]


def _image(here: str, certified: str) -> WinnerCheck:
    """Which image the scores come from. Another one may have equal scores, and a rebuilt one has another digest."""
    other = f"{here} here, {certified} when it was certified"
    return WinnerCheck(name=IMAGE, holds=True, detail=other if certified not in ("", here) else here, scores={})


def _device(here: str, certified: str) -> WinnerCheck:
    """What scored, and whether its clocks were locked: a time is only as good as they are."""
    other = f"here: {here}. When it was certified: {certified}"
    return WinnerCheck(name=DEVICE, holds=True, detail=other if certified not in ("", here) else here, scores={})


def _regions(problem: Problem, program: Program) -> WinnerCheck:
    """Whether the program changes nothing outside of the regions of one of its seeds, or what a repository allows."""
    if problem.repository is not None:
        complaint = repository_complaint(problem.repository, program, problem.language)
        detail = complaint or "only files and regions that may change differ"
        return WinnerCheck(name="regions", holds=not complaint, detail=detail, scores={})
    for seed in problem.seeds:
        try:
            kept = enforce(seed, program, problem.language).program == program
        except AnswerError:
            kept = False
        if kept:
            return WinnerCheck(name="regions", holds=True, detail="only the regions that may change differ", scores={})
    detail = "the program differs from every seed outside of the EVOLVE-BLOCK regions"
    return WinnerCheck(name="regions", holds=False, detail=detail, scores={})


def _compared(problem: Problem, name: str, evaluation: Evaluation, claims: Mapping[str, float]) -> WinnerCheck:
    if not evaluation.ok:
        return WinnerCheck(name=name, holds=False, detail=f"{evaluation.outcome}: {evaluation.reason}", scores={})
    found = scores_of(problem, evaluation)
    if unclaimed := [score for score in found if score not in claims] if claims or name != "holdout" else []:
        return WinnerCheck(name=name, holds=False, detail=f"no claim of {unclaimed[0]}", scores=found)
    bounds = {objective.name: objective for objective in problem.objectives}
    for score, claimed in claims.items():
        allowed = problem.evaluator.audit_tolerance * _unit(claimed, bounds.get(score))
        if score not in found or abs(found[score] - claimed) > allowed:
            detail = f"{score} is {found.get(score)!r}, not {claimed!r}"
            return WinnerCheck(name=name, holds=False, detail=detail, scores=found)
    within = f"within the tolerance, evaluator.audit_tolerance = {problem.evaluator.audit_tolerance:g}"
    same = "equal to the claim" if found == claims else within if claims else "scored for the first time"
    return WinnerCheck(name=name, holds=True, detail=same, scores=found)


def _unit(claimed: float, objective: Objective | None) -> float:
    if objective is not None and objective.low is not None and objective.high is not None:
        return objective.high - objective.low
    return abs(claimed)


def scores_of(problem: Problem, evaluation: Evaluation) -> dict[str, float]:
    """What an evaluation says of the objectives; without objectives, the fitness."""
    if problem.objectives:
        return {name: evaluation.scores[name] for name in problem.objective_names if name in evaluation.scores}
    value = fitness(problem, evaluation)
    return {} if value is None else {COMBINED: value}
