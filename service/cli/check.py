"""The command `evolve problem check`, here or by a service."""

from service.bootstrap.site import Where, open_client, server_of
from service.cli import figures
from service.cli.listing import plain_table
from service.cli.main import INVALID, OK
from service.cli.terminal import Terminal, plain
from service.config import load_settings
from service.problems.project import Project


def check_anywhere(terminal: Terminal, project: Project, where: Where) -> int:
    """Check a problem and explain every complaint; 8 when there is any."""
    server = server_of(load_settings(), where)
    if not server:
        from service.cli.problem import check

        return check(terminal, project)
    return _check_there(terminal, project, where, server)


def _check_there(terminal: Terminal, project: Project, where: Where, server: str) -> int:
    from service.cli.problem import show_warnings
    from service.cli.upload import upload_of
    from service.client import calls

    upload = upload_of(project)
    with open_client(load_settings(), where, server) as client, terminal.doing("running the seed"):
        report = client.send(calls.check_problem(upload))
    if terminal.as_json:
        found = report.model_dump(mode="json", include={"ok", "complaints", "warnings", "seeds"})
        terminal.emit({"problem": str(project.folder), **found})
        return OK if report.ok else INVALID
    show_warnings(terminal, report.warnings)
    for complaint in report.complaints:
        terminal.show(plain(f"✗ {complaint}"))
    if report.seeds:
        table = plain_table("seed", "outcome", "took>", "scores")
        for seed in report.seeds:
            scores = ", ".join(f"{plain(name)} {figures.number(value)}" for name, value in seed.scores.items())
            table.add_row(plain(seed.seed), seed.outcome, figures.duration(seed.seconds), scores)
        terminal.show(table)
    if not report.ok:
        terminal.note(f"{figures.plural(len(report.complaints), 'complaint')}: the problem cannot be searched on yet")
        return INVALID
    terminal.show("✓ the problem can be searched on")
    terminal.note(f"next: {terminal.command(f'run {project.words}')}", style="dim")
    return OK
