"""One run or one candidate, with everything that is known of it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evolve.program import Program
from evolve.search.assessment import Assessment
from service.cli import formatting
from service.cli.assessment import assessment_json, assessment_rows
from service.cli.end_reason import EndingLimit, ending_limit, limit_sources, limit_words
from service.cli.export import STDOUT, write_program
from service.cli.fact_table import Rows, facts, styled
from service.cli.failures import failed_seeds, failure_rows, failures_json, seed_rows, unreadable_words
from service.cli.listing import OUTCOME_STYLES, STATE_STYLES, outcome_word
from service.cli.records import (
    LAST,
    as_score,
    find_candidate,
    find_run,
    policy_names,
    proposal_json,
    run_json,
    run_name,
)
from service.cli.terminal import Terminal, plain
from service.cli.training_report import update_rows, updates_of
from service.errors import NotFoundError, UsageError
from service.identifiers import candidate_place
from service.ports import Bundle, CandidateRecord, ProposalRecord, ResultReader, RunRecord
from service.projections.candidates import candidate_json
from service.projections.choices import choices_of
from service.projections.front import Front
from service.projections.grouping import NAME
from service.projections.run_site import RunSite

if TYPE_CHECKING:
    from service.schemas.failures import RunFailures


def show_anything(
    terminal: Terminal,
    site: RunSite,
    identity: str,
    *,
    source: bool,
    prompt: bool,
    output: Path | None = None,
    bundles: Callable[[RunRecord], Bundle] | None = None,
) -> None:
    """Print a run or a candidate, whichever the id names.

    Args:
        terminal: where to.
        site: where they are.
        identity: id, its beginning, or `last`.
        source: whether the program of a candidate is shown, and nothing else unless `prompt` is.
        prompt: whether what was asked is shown, and what came back.
        output: where the program of a candidate is written to instead; `-` is stdout.
        bundles: gives the folder of a run's problem; None: it is not looked at.
    """
    reader = site.reader
    source = source or output is not None
    found = _find(reader, identity)
    if isinstance(found, CandidateRecord) and output is not None:
        _write_source(terminal, reader, found, output)
    elif isinstance(found, CandidateRecord):
        _show_candidate(terminal, reader, found, source=source, prompt=prompt)
    elif isinstance(found, ProposalRecord):
        if output is not None:
            raise UsageError("-o writes the program of a candidate: name a candidate (cnd_...)")
        show_proposal(terminal, found, prompt=prompt)
    elif source or prompt:
        raise UsageError(
            f"--source, --prompt and -o need a candidate: find one with evolve best {formatting.short(found.id)}"
        )
    elif terminal.as_json:
        terminal.emit(_run_json(site, found))
    else:
        named = replace(found, source=named_source(found, bundles))
        rows = run_rows(named, site.front(found), site.assessment(found), _limit(site, found), site.failures(found))
        configuration = next(place for place, (name, _) in enumerate(rows) if name == "configuration")
        told = [*update_rows(site, found), *seed_rows(failed_seeds(reader.candidates(found.id)))]
        rows[configuration:configuration] = told
        terminal.show(facts(rows))
        if found.best_candidate_id:
            terminal.note(f"next: {terminal.command(f'best {formatting.short(found.id)}')}", style="dim")


def named_source(run: RunRecord, bundles: Callable[[RunRecord], Bundle] | None) -> str:
    """Where a run's problem came from: of one whose folder was temporary, the files that the command named."""
    if bundles is None or not Path(run.source).is_absolute() or Path(run.source).exists():
        return run.source
    from service.problems.bundle import open_bundle
    from service.problems.source_files import command_sources

    return ", ".join(map(str, command_sources(open_bundle(bundles(run))))) or run.source


def _run_json(site: RunSite, run: RunRecord) -> dict[str, Any]:
    front, limit = site.front(run), _limit(site, run)
    return {
        **run_json(run),
        "front": None if front is None else asdict(front),
        "assessment": assessment_json(site.assessment(run)),
        "ended_by": None if limit is None else limit.as_json(),
        "failures": failures_json(site.failures(run)),
        "updates": [dict(update) for update in updates_of(site, run)],
    }


def _limit(site: RunSite, run: RunRecord) -> EndingLimit | None:
    """The limit that ended a run; its events are asked for only where one did."""
    return ending_limit(run, {}) and ending_limit(run, limit_sources(site.events(run.id, 0)))


def show_proposal(terminal: Terminal, proposal: ProposalRecord, *, prompt: bool) -> None:
    """Print a proposal: who was asked for what, what came back, and what was dropped."""
    if terminal.as_json:
        terminal.emit(proposal_json(proposal))
        return
    spent = _tokens(proposal.tokens_input, proposal.tokens_cached, proposal.tokens_output)
    terminal.show(
        facts(
            [
                ("proposal", f"{proposal.id} ({proposal.number})"),
                ("state", plain(f"{proposal.state}: {proposal.reason}" if proposal.reason else proposal.state)),
                ("made by", plain(f"{proposal.operator}, policy {proposal.policy}")),
                ("asked for", _form(proposal.form)),
                ("tokens", spent),
                ("cost", proposal.cost),
                ("time", None if proposal.seconds is None else formatting.duration(proposal.seconds)),
            ]
        )
    )
    _show_proposal(terminal, proposal if prompt else replace(proposal, prompt=()))


def _form(form: Mapping[str, Any] | None) -> str | None:
    """The form in which a policy was asked to write."""
    if form is None:
        return None
    answers = formatting.plural(int(form.get("answers", 1)), "answer")
    return plain(f"{form.get('edits')} in {form.get('format')}, {answers} a completion")


def _find(reader: ResultReader, identity: str) -> RunRecord | CandidateRecord | ProposalRecord:
    if candidate_place(identity):
        return find_candidate(reader, identity)
    if identity == LAST or identity.startswith("run_"):
        return find_run(reader, identity)
    if identity.startswith("cnd_"):
        return reader.candidate(identity)
    if identity.startswith("prp_"):
        return reader.proposal_named(identity)
    if identity.startswith("bat_"):
        raise UsageError(f"{identity} is a batch: show its progress with evolve batch {identity} --detach")
    if "_" in identity:
        raise UsageError(f"{identity} is neither a run (run_...) nor a candidate (cnd_...) nor a proposal (prp_...)")
    for find in (reader.run, reader.candidate):
        try:
            return find(identity)
        except NotFoundError:
            continue
    raise NotFoundError(f"there is no run or candidate {identity}: list the runs with evolve runs")


def run_rows(
    run: RunRecord,
    front: Front | None = None,
    assessment: Assessment | None = None,
    limit: EndingLimit | None = None,
    failures: "RunFailures | None" = None,
) -> Rows:
    """What there is to say of a run."""
    counters = run.counters
    rows: Rows = [
        ("run", run.id),
        ("name", run_name(run) or None),
        ("labels", _labels(run)),
        ("problem", f"{plain(run.problem_name)} ({plain(run.source)})"),
        ("state", styled(_state(run), STATE_STYLES.get(run.state, ""))),
        ("ended by", plain(limit_words(limit)) if limit else None),
        ("best", f"{formatting.exact(as_score(run, run.best_fitness))}  {formatting.short(run.best_candidate_id)}"),
        ("front", front_words(front) if front else None),
        *assessment_rows(run, assessment),
        ("seed", formatting.exact(as_score(run, run.seed_fitness))),
        ("known best", formatting.exact(run.known_best) if run.known_best is not None else None),
        ("evaluated", f"{formatting.count(counters.evaluations)} ({counters.valid} valid, {counters.failed} failed)"),
        (
            "answers",
            f"{formatting.count(counters.answers)} ({formatting.plural(counters.duplicates, 'duplicate')},"
            f" {counters.rejected} rejected{unreadable_words(failures)})",
        ),
        *failure_rows(failures),
        ("tokens", _tokens(counters.tokens_input, counters.tokens_cached, counters.tokens_output)),
        ("cost", counters.cost if counters.tokens_input or counters.tokens_output else None),
        ("time", formatting.duration(run.active_seconds)),
        ("started", formatting.moment(run.started_at)),
        ("finished", formatting.moment(run.finished_at) if run.finished_at else None),
        ("objectives", ", ".join(_objective(entry) for entry in run.objectives) or "combined score"),
        ("policies", policy_names(run)),
        ("isolation", f"{run.isolation}, integrity {run.integrity}"),
        ("configuration", ""),
    ]
    return rows + [(f"  {key}", value) for key, value in _flat(run.config)]


def _labels(run: RunRecord) -> str | None:
    """The labels of a run but for its name."""
    return ", ".join(plain(f"{key}={value}") for key, value in run.labels.items() if key != NAME) or None


def _state(run: RunRecord) -> str:
    state = f"{run.state} ({run.reason})" if run.reason else run.state
    waiting = f", waiting: {run.waiting.get('reason', '')}" if run.waiting else ""
    failure = f": {run.failure}" if run.failure else ""
    return plain(state + waiting + failure)


def _objective(entry: Mapping[str, Any]) -> str:
    return plain(f"{entry.get('name')} ({entry.get('direction', 'maximize')})")


def _tokens(sent: int, cached: int, written: int) -> str | None:
    if not sent and not written:
        return None
    return f"{formatting.count(sent)} in ({formatting.count(cached)} cached), {formatting.count(written)} out"


def _flat(config: Mapping[str, Any], prefix: str = "") -> Rows:
    rows: Rows = []
    for key, value in config.items():
        if isinstance(value, Mapping):
            rows += _flat(value, f"{prefix}{key}.")
        elif value not in (None, "", [], ()):
            rows.append((f"{prefix}{key}", plain(str(value))))
    return rows


def _show_candidate(
    terminal: Terminal, reader: ResultReader, candidate: CandidateRecord, *, source: bool, prompt: bool
) -> None:
    proposal = (
        reader.proposal(candidate.run_id, candidate.proposal_number) if prompt and candidate.proposal_number else None
    )
    if prompt and proposal is None and not terminal.as_json:
        raise UsageError(f"{candidate.id} is a seed, so it has no prompt")
    if terminal.as_json:
        value = candidate_json(candidate)
        value |= {"files": dict(reader.program(candidate.id).files)} if source else {}
        terminal.emit(value | ({"proposal": proposal_json(proposal) if proposal else None} if prompt else {}))
        return
    if source and not prompt:
        _show_program(terminal, reader.program(candidate.id))
        return
    terminal.show(facts(candidate_rows(candidate)))
    if candidate.feedback:
        terminal.show("", "feedback", *(f"  {line}" for line in plain(candidate.feedback).splitlines()))
    if source:
        _show_source(terminal, reader, candidate)
    if proposal is not None:
        _show_proposal(terminal, proposal)


def _show_program(terminal: Terminal, program: Program) -> None:
    """A program and nothing else, so that it can be redirected; files of several have a line with their path."""
    for path, text in program.files:
        if not program.single:
            terminal.show(styled(f"── {path}", "bold"))
        terminal.write(plain(text) if terminal.out.is_terminal else text)


def _write_source(terminal: Terminal, reader: ResultReader, candidate: CandidateRecord, output: Path) -> None:
    written = write_program(terminal, reader.program(candidate.id), output)
    if terminal.as_json and output != STDOUT:
        terminal.emit({**candidate_json(candidate), "written": written})
    elif written:
        terminal.note(f"written: {', '.join(written)}", style="dim")


def candidate_rows(candidate: CandidateRecord) -> Rows:
    """What there is to say of a candidate."""
    word = outcome_word(candidate)
    numbers = {**candidate.scores, **candidate.measures}
    parents = [f"{formatting.short(edge.candidate_id)} ({edge.role})" for edge in candidate.parents]
    rows: Rows = [
        ("candidate", f"{formatting.short(candidate.id)}  {candidate.id}"),
        ("run", candidate.run_id),
        ("outcome", styled(word, OUTCOME_STYLES.get(word, "red"))),
        ("reason", plain(candidate.reason) or None),
        ("fitness", None if candidate.fitness is None else formatting.exact(candidate.fitness)),
        *((f"  {plain(name)}", _spread(value, candidate.spread.get(name))) for name, value in numbers.items()),
        ("answer", None if candidate.answer is None else plain(candidate.answer)),
        ("repeats", f"{candidate.repeats}, of which scores are the means" if candidate.repeats > 1 else None),
        ("cases", _cases(candidate.cases)),
        (
            "origin",
            "seed" if not candidate.proposal_number else f"proposal {candidate.proposal_number}",
        ),
        ("made by", f"{candidate.operator}, policy {plain(candidate.policy)}" if candidate.proposal_number else None),
        ("changed", candidate.changed or None),
        ("parents", "\n".join(parents) or None),
        ("island", str(candidate.island)),
        ("lives on", _islands(candidate.islands) if candidate.outcome == "ok" else None),
        ("evaluated", _evaluated(candidate)),
        ("isolation", candidate.isolation or None),
        ("program", candidate.program_id),
    ]
    return rows


def _islands(islands: Sequence[int]) -> str:
    if not islands:
        return "no island now"
    return f"island{'s' if len(islands) > 1 else ''} {', '.join(map(str, islands))}"


def _evaluated(candidate: CandidateRecord) -> str | None:
    if candidate.evaluated_at is None:
        return None
    took = "" if candidate.seconds is None else f", took {formatting.duration(candidate.seconds)}"
    return formatting.moment(candidate.evaluated_at) + took


def _spread(value: float, spread: float | None) -> str:
    return formatting.exact(value) if spread is None else f"{formatting.exact(value)} ± {formatting.number(spread, 3)}"


def _cases(cases: Mapping[str, float]) -> str | None:
    if not cases:
        return None
    full = sum(value == 1 for value in cases.values())
    return f"{full} of {len(cases)} at 1, mean {formatting.number(sum(cases.values()) / len(cases), 4)}"


def _show_source(terminal: Terminal, reader: ResultReader, candidate: CandidateRecord) -> None:
    program = reader.program(candidate.id)
    for path, text in program.files:
        terminal.show("", styled(f"── {path}", "bold"), *plain(text).splitlines())


def proposal_rows(proposal: ProposalRecord) -> Rows:
    """What decided for a proposal, wherever there was a choice."""
    rows: Rows = [
        ("operator", f"drawn with {formatting.share(proposal.probability)}" if proposal.probability < 1 else None),
        ("selection", plain(proposal.selection) or None),
        ("weights", _told(proposal.weights) or None),
    ]
    choices = choices_of(proposal.rationale)
    return rows + [(f"why this {plain(name).replace('_', ' ')}", _decided(values)) for name, values in choices]


def _decided(values: Mapping[str, Any]) -> str:
    return "; ".join(f"{plain(name)} {_told(value)}" for name, value in values.items())


def _told(value: Any) -> str:
    if isinstance(value, Sequence) and not isinstance(value, str):
        return ", ".join(_told(one) for one in value)
    return formatting.number(value, 4) if value is None or isinstance(value, int | float) else plain(str(value))


def _show_proposal(terminal: Terminal, proposal: ProposalRecord) -> None:
    terminal.show("", facts(proposal_rows(proposal)))
    for message in proposal.prompt:
        terminal.show("", styled(f"── {message.get('role', '')}", "bold cyan"))
        terminal.show(*plain(message.get("content", "")).splitlines())
    for chain, completion in enumerate(proposal.completions):
        reason = proposal.finish_reasons[chain] if chain < len(proposal.finish_reasons) else ""
        if thought := "".join(proposal.reasoning[chain : chain + 1]):
            terminal.show("", styled(f"── reasoning of completion {chain + 1}", "dim"), *plain(thought).splitlines())
        terminal.show("", styled(f"── completion {chain + 1} {reason}".rstrip(), "bold green"))
        terminal.show(*plain(completion).splitlines())
    for dropped in proposal.dropped:
        terminal.show("", styled(f"dropped: {plain(str(dropped.get('reason', '')))}", "yellow"))
    for charge in proposal.charges:
        terminal.show("", styled(_paid(charge), "dim"))


def _paid(charge: Mapping[str, Any]) -> str:
    """What was paid beside the completion: to whom, for what, and how much."""
    tokens = charge["tokens"]
    cost = f", {charge['cost']}" if charge.get("cost") not in (None, "0") else ""
    counted = _tokens(tokens["input"], tokens["cached"], tokens["output"]) or "nothing"
    return f"{charge['purpose']} by {plain(str(charge['policy']))}: tokens {counted}{cost}"


def front_words(front: Front) -> str:
    """A front in a few words."""
    told = f"{formatting.plural(front.size, 'candidate')} that no other dominates"
    if front.hypervolume is None:
        return told
    return f"{told}, hypervolume {'' if front.exact else 'about '}{formatting.number(front.hypervolume)}"
