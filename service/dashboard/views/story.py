"""The story of the best candidate: its jumps from the seed, the biggest first, with the edit and the policy's words."""

import asyncio
import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass

from service.client import AsyncClient, calls
from service.dashboard.difference import differences
from service.dashboard.views.candidate import ComparedCandidates, if_any
from service.projections.gain_shares import gain_shares, shares_in_words
from service.schemas.candidates import Candidate, CandidateDiff, ProposalDetail
from service.schemas.runs import Run

JUMPS, MAX_LINE = 3, 1000
MAX_WORDS = 600
MAX_DIFF_LINES = 60
# Code in a completion: fenced, or an edit by search and replace.
_CODE = re.compile(r"```.*?(?:```|\Z)|<{7}.*?>{7}[^\n]*", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Jump:
    """A step to the best candidate that gained.

    Attributes:
        gain: of fitness, over its parent.
        share: of all that the line gained.
        words: of the policy, without code; empty: there are none.
    """

    candidate: Candidate
    before: Candidate
    gain: float
    share: float
    compared: ComparedCandidates | None = None
    words: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    """How the best candidate came about.

    Attributes:
        steps: of its line.
        gains: those that gained.
        sources: how much of the gain came from constants and from structure, in words.
    """

    best: Candidate
    steps: int
    gains: int
    jumps: Sequence[Jump]
    sources: str = ""


async def story_of(api: AsyncClient, run: Run) -> Story | None:
    """The story of a run's best candidate; None: it has none, or nothing was gained."""
    if run.best_candidate_id is None:
        return None
    lineage = await api.send(calls.get_lineage(run.best_candidate_id, limit=MAX_LINE))
    line = lineage.items[::-1]
    gains = gains_of(line)
    if not gains:
        return None
    jumps = await asyncio.gather(*(_told(api, jump) for jump in gains[:JUMPS]))
    sources = shares_in_words(gain_shares(line))
    return Story(best=line[-1], steps=len(line) - 1, gains=len(gains), jumps=jumps, sources=sources)


def gains_of(line: Sequence[Candidate]) -> list[Jump]:
    """The steps of a line from its seed that gained, the biggest first."""
    steps = [
        (after.fitness - before.fitness, before, after)
        for before, after in itertools.pairwise(line)
        if after.fitness is not None and before.fitness is not None and after.fitness > before.fitness
    ]
    total = sum(gain for gain, _, _ in steps)
    found = [Jump(candidate=after, before=before, gain=gain, share=gain / total) for gain, before, after in steps]
    return sorted(found, key=lambda jump: -jump.gain)


async def _told(api: AsyncClient, jump: Jump) -> Jump:
    candidate = jump.candidate
    diff = await if_any(api, calls.get_diff(candidate.id, against=jump.before.id))
    proposal = await if_any(api, calls.get_proposal(candidate.run_id, candidate.proposal_number))
    return Jump(
        candidate=candidate,
        before=jump.before,
        gain=jump.gain,
        share=jump.share,
        compared=_compared(diff) if diff else None,
        words=own_words(proposal, candidate.position) if proposal else "",
    )


def _compared(diff: CandidateDiff) -> ComparedCandidates:
    files = differences(diff.files, {}, MAX_DIFF_LINES)
    return ComparedCandidates(against=diff.against, files=files, added=diff.added, removed=diff.removed)


def own_words(proposal: ProposalDetail, position: int) -> str:
    """What the policy wrote beside code about an answer: its completion, or the start of its reasoning."""
    answers = int((proposal.form or {}).get("answers") or 1)
    chain = position // answers if position // answers < len(proposal.completions) else 0
    text = proposal.completions[chain] if proposal.completions else ""
    # The built-in mutator gives one line to each of its answers.
    line = re.search(rf"^{position + 1}\. (.+)$", text, re.MULTILINE)
    words = line[1] if line and not proposal.form else " ".join(_CODE.sub(" … ", text).split())
    if not words.replace("…", "").strip() and chain < len(proposal.reasoning):
        words = " ".join(proposal.reasoning[chain].split())
    return words if len(words) <= MAX_WORDS else f"{words[: MAX_WORDS - 1]}…"
