"""The command `evolve policy check`: what a model's server accepts, and what the model writes."""

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from service.bootstrap.runs import check_policies
from service.cli import formatting
from service.cli.exit_codes import FAILED, OK
from service.cli.fact_table import facts, styled
from service.cli.listing import plain_table
from service.cli.terminal import Terminal, plain
from service.config import load_settings
from service.errors import ConflictError, UsageError
from service.policy_settings.recommendation import advice, as_policy_file, recommended_settings
from service.usecases.check_policies import PolicyReport, all_usable
from service.usecases.plan import RunOrder

if TYPE_CHECKING:
    from rich.table import Table

    from evolve.search.format_yield import FormatYield
    from service.policy_settings.settings import PolicySettings

MAX_LOSSES = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyCheckOptions:
    """The words of one `evolve policy check`.

    Attributes:
        output: file for the recommended settings.
    """

    policies: tuple[str, ...]
    problem: Path | None = None
    model: str | None = None
    params: tuple[str, ...] = ()
    output: Path | None = None


def check_policy(terminal: Terminal, options: PolicyCheckOptions) -> int:
    """Ask each policy for a few answers and print what they are worth; 1 where a run could use none of one of them."""
    if options.output is not None and options.output.exists():
        raise ConflictError(f"{options.output} exists: name a new file with -o")
    order = RunOrder(problem=options.problem, policies=options.policies, model=options.model, params=options.params)
    reports = asyncio.run(check_policies(load_settings(), order, _announcer(terminal)))
    text = "\n".join(_recommended_file(report) for report in reports)
    if options.output is not None:
        _write(options.output, text)
    if terminal.as_json:
        terminal.emit({"policies": [report_json(report) for report in reports], "ok": all_usable(reports)})
        return OK if all_usable(reports) else FAILED
    for report in reports:
        _show(terminal, report)
    _conclude(terminal, options, text, usable=all_usable(reports))
    return OK if all_usable(reports) else FAILED


def _announcer(terminal: Terminal) -> Any:
    def announce(author: "PolicySettings", form: str) -> None:
        if not terminal.as_json:
            terminal.note(f"asking {author.name} for answers: {form}", style="dim")

    return announce


def _write(path: Path, text: str) -> None:
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}") from error


def _recommended_file(report: PolicyReport) -> str:
    if not report.yields:
        return ""
    best = report.best
    assert best is not None
    parsed = f"{best.valid} of {best.asked} answers were valid and new as {_form(best)}"
    return as_policy_file(recommended_settings(report.settings, report.yields, report.model), [parsed])


def _show(terminal: Terminal, report: PolicyReport) -> None:
    terminal.show(facts(_rows(report)), _table(report))
    losses = _losses(report)
    if losses:
        terminal.show(facts([("lost", line) for line in losses]))
    for sentence in advice(report.settings, report.yields):
        terminal.note(sentence, style="yellow")


def _rows(report: PolicyReport) -> list[tuple[str, Any]]:
    settings = report.settings
    source = "from the server" if report.tells_context else "context_tokens of the policy"
    tokens = [found.tokens for found in report.yields]
    sent, cached = sum(one["input"] for one in tokens), sum(one["cached"] for one in tokens)
    rows: list[tuple[str, Any]] = [
        ("policy", plain(settings.name)),
        ("server", plain(settings.base_url or settings.kind)),
        ("model", plain(report.model or settings.model)),
        ("context", f"{formatting.count(report.context_tokens)} tokens, {source}"),
        ("streaming", "yes" if report.streams else "no: answers are read at the end of a completion"),
        ("speed", _speed(report)),
        ("prompt cache", f"{formatting.share(cached / sent)} of the prompt tokens" if cached else "not reported"),
    ]
    return rows + [("adapted", plain(f"{one.parameter} {one.action}: {one.reason}")) for one in report.adapted]


def _speed(report: PolicyReport) -> str:
    written = sum(found.tokens["output"] for found in report.yields)
    seconds = sum(found.completed.seconds for found in report.yields if found.completed)
    return f"{written / seconds:.0f} tokens/s" if seconds else "unknown"


def _table(report: PolicyReport) -> "Table":
    table = plain_table("form", "asked>", "parsed>", "new>", "valid>", "tokens>", "valid/1,000 tokens>", "took>")
    for found in report.yields:
        table.add_row(
            _form(found),
            formatting.count(found.asked),
            formatting.count(found.parsed),
            formatting.count(found.new),
            styled(formatting.count(found.valid), "green" if found.valid else "red"),
            formatting.count(found.tokens["output"]),
            f"{found.valid_per_kilotoken:.2f}",
            formatting.duration(found.completed.seconds if found.completed else None),
        )
    return table


def _form(found: "FormatYield") -> str:
    return f"{found.form.edits}, {formatting.plural(found.form.answers, 'answer')} a completion"


def _losses(report: PolicyReport) -> list[str]:
    refused = [plain(f"refused: {found.refusal}") for found in report.yields if found.refusal]
    lines = [f"{count} x {reason}" for found in report.yields for reason, count in found.losses.most_common(2)]
    return refused + [plain(formatting.cut(line, 160)) for line in lines[:MAX_LOSSES]]


def _conclude(terminal: Terminal, options: PolicyCheckOptions, text: str, *, usable: bool) -> None:
    if options.output is None:
        terminal.note("recommended policy file (write it with -o FILE):", style="dim")
        terminal.show(plain(text.rstrip()))
    else:
        terminal.note(f"wrote the recommended settings to {options.output}")
    terminal.note("the policy is ready to use" if usable else "the policy cannot be used yet")


def report_json(report: PolicyReport) -> dict[str, Any]:
    """A report as `evolve policy check --json` gives it."""
    return {
        "policy": report.settings.name,
        "base_url": report.settings.base_url,
        "model": report.model,
        "context_tokens": report.context_tokens,
        "context_told": report.tells_context,
        "counts_tokens": report.counts_tokens,
        "streaming": report.streams,
        "adapted": [{"parameter": one.parameter, "action": one.action, "reason": one.reason} for one in report.adapted],
        "forms": [_yield_json(found) for found in report.yields],
        "recommended": recommended_settings(report.settings, report.yields, report.model) if report.yields else {},
        "advice": advice(report.settings, report.yields),
        "ok": report.usable,
    }


def _yield_json(found: "FormatYield") -> dict[str, Any]:
    return {
        "form": found.form.as_json(),
        "asked": found.asked,
        "parsed": found.parsed,
        "new": found.new,
        "valid": found.valid,
        "tokens": dict(found.tokens),
        "seconds": found.completed.seconds if found.completed else None,
        "finish_reasons": list(found.completed.finish_reasons) if found.completed else [],
        "losses": dict(found.losses.most_common()),
        "refusal": found.refusal,
    }
