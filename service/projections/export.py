"""A run as lines: candidates as JSON or as rows of a table, answered proposals as training records, events."""

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from evolve.search.changes import MANUAL
from service.jsonlines import as_line
from service.ports import CandidateRecord, ProposalRecord, RunReader, RunRecord
from service.projections.candidates import candidate_json, candidate_pages, objectives_of, parent_of
from service.schemas.export_form import ExportForm

ANSWERED = "answered"
PROPOSALS = 50
_COLUMNS = (
    "candidate_id", "run_id", "proposal_number", "position", "program_id", "parent_id", "duplicate_of", "island",
    "operator", "policy", "status", "outcome", "reason", "fitness", "seconds", "created_at", "evaluated_at",
    "answer", "changed",
)  # fmt: skip
# A spreadsheet takes a cell that begins so for a formula and may run it.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def lines_of(reader: RunReader, run: RunRecord, form: ExportForm) -> Iterator[str]:
    """A run in a form: its candidates with their files or as a table, its training records, or its events."""
    if form == "csv":
        return table_lines(reader, run)
    if form == "events":
        return event_lines(reader, run.id)
    return training_lines(reader, run) if form == "training" else export_lines(reader, run.id)


def export_lines(reader: RunReader, run_id: str) -> Iterator[str]:
    """One JSON line per candidate, in order of age, with its files."""
    for page in candidate_pages(reader, run_id):
        programs = reader.programs([candidate.id for candidate in page])
        for candidate in page:
            program = programs.get(candidate.id)  # None: rejected before it became one
            yield as_line({**candidate_json(candidate), "files": dict(program.files) if program else None}) + "\n"


def table_lines(reader: RunReader, run: RunRecord) -> Iterator[str]:
    """One CSV row per candidate, in order of age, without files; the first row names the columns."""
    scores = [objective.name for objective in objectives_of(run)]
    measures = [str(measure.get("name", "")) for measure in run.measures]
    yield _row([*_COLUMNS, *(f"score_{name}" for name in scores), *(f"measure_{name}" for name in measures)])
    for page in candidate_pages(reader, run.id):
        for candidate in page:
            values = _flat(candidate)
            yield _row(
                [
                    *(values[name] for name in _COLUMNS),
                    *(candidate.scores.get(name) for name in scores),
                    *(candidate.measures.get(name) for name in measures),
                ]
            )


def event_lines(reader: RunReader, run_id: str) -> Iterator[str]:
    """One JSON line per event, in order: the run is their fold."""
    for event in reader.events(run_id):
        yield as_line(event.as_json()) + "\n"


def training_lines(reader: RunReader, run: RunRecord) -> Iterator[str]:
    """One JSON line per proposal that a policy answered: prompt, completions, what each answer was worth as a vector.

    The parent's files are there for those who train: new answers to the prompt are read as changes of them.
    """
    objectives = [objective.name for objective in objectives_of(run)]
    after = -1
    while page := reader.proposals(run.id, after, PROPOSALS, ANSWERED, texts=True):
        after = page[-1].number
        answers = _answers(reader, run.id, page[0].number, after)
        parents = {number: parent_of(own[0]) for number, own in answers.items()}
        programs = reader.programs(sorted({parent for parent in parents.values() if parent}))
        for proposal in page:
            if proposal.operator == MANUAL and not proposal.policy:  # a person wrote the program
                continue
            parent = parents.get(proposal.number)
            program = programs.get(parent) if parent else None
            record = _training(run, objectives, proposal, answers.get(proposal.number, []))
            files = None if program is None else {"candidate_id": parent, "files": dict(program.files)}
            yield as_line({**record, "asked": _asked(run, proposal), "parent": files}) + "\n"


def _training(
    run: RunRecord, objectives: Sequence[str], proposal: ProposalRecord, answers: Sequence[CandidateRecord]
) -> dict[str, Any]:
    return {
        "run_id": run.id,
        "problem": run.problem_name,
        "proposal_id": proposal.id,
        "number": proposal.number,
        "operator": proposal.operator,
        "policy": proposal.policy,
        "selection": proposal.selection,
        "weights": proposal.weights,
        "rationale": proposal.rationale,
        "objectives": objectives,
        "messages": proposal.prompt,
        "completions": proposal.completions,
        "reasoning": proposal.reasoning,
        "finish_reasons": proposal.finish_reasons,
        "dropped": proposal.dropped,
        "answers": [_answer(candidate) for candidate in answers],
    }


def _asked(run: RunRecord, proposal: ProposalRecord) -> dict[str, Any]:
    """In what form answers were asked for; null where the policy was no language model."""
    authors = [one for one in run.policies if one.get("role", "author") == "author"]
    # A version that the run trained is asked as the policy that it descends from, which is the only author.
    start = authors[0] if len(authors) == 1 else {}
    policy = next((one for one in run.policies if one.get("name") == proposal.policy), start)
    counts = {name: run.config.get(name) or policy.get(name) for name in ("answers", "samples")}
    return {"format": policy.get("format"), "edits": policy.get("edits"), **counts, **(proposal.form or {})}


def _answer(candidate: CandidateRecord) -> dict[str, Any]:
    return {
        "candidate_id": candidate.id,
        "position": candidate.position,
        "status": candidate.status,
        "outcome": candidate.outcome,
        "rewards": candidate.rewards,
        "fitness": candidate.fitness,
        "duplicate_of": candidate.duplicate_of,
    }


def _answers(reader: RunReader, run_id: str, first: int, last: int) -> Mapping[int, list[CandidateRecord]]:
    """Candidates of the proposals from one number to another, by number."""
    found: dict[int, list[CandidateRecord]] = {}
    after = (first, -1)
    while page := reader.candidates(run_id, after, 500):
        for candidate in page:
            if candidate.proposal_number > last:
                return found
            found.setdefault(candidate.proposal_number, []).append(candidate)
        after = (page[-1].proposal_number, page[-1].position)
    return found


def _flat(candidate: CandidateRecord) -> Mapping[str, Any]:
    return {**candidate_json(candidate), "parent_id": parent_of(candidate), "duplicate_of": candidate.duplicate_of}


def _row(values: Sequence[Any]) -> str:
    line = io.StringIO()
    csv.writer(line, lineterminator="\r\n").writerow([_cell(value) for value in values])
    return line.getvalue()


def _cell(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    text = value.encode("utf-8", "backslashreplace").decode()
    return f"'{text}" if text.startswith(_FORMULA) else text
