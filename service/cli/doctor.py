"""What this installation offers: interpreter, database, settings and the sandbox, each as found out by trying."""

import asyncio
import platform
import sys
from typing import Any

from evolve.version import __version__
from service.cli.database import standing
from service.cli.exit_codes import FAILED, OK
from service.cli.fact_table import facts, styled
from service.cli.terminal import Terminal, plain
from service.config import Settings, database_url, known_keys, load_settings, redacted
from service.errors import ServiceError
from service.sandbox.examination import SandboxReport, examine_sandbox
from service.user_folders import config_file


def examine(terminal: Terminal, db: str | None) -> int:
    """Print what holds and what does not; 1 when something that is needed is off."""
    settings = load_settings()
    found: dict[str, Any] = {
        "version": __version__,
        "python": {"version": platform.python_version(), "executable": sys.executable, "system": platform.platform()},
        "database": _database(database_url(settings, db), unused=db is None and _only_takes_tasks(settings)),
        "settings": {"file": str(config_file()), **{key: _setting(settings, key) for key in known_keys()}},
    }
    queue = settings.queue.url and settings.queue.url.get_secret_value()
    with terminal.doing("trying the sandbox"):
        report = asyncio.run(examine_sandbox(settings.sandbox))
        found["queue"] = asyncio.run(_queue(queue)) if queue else None
        found["containers"] = asyncio.run(_containers(settings))
    well = report.enough and found["database"]["ok"] and (not queue or found["queue"]["ok"])
    found |= {"sandbox": _sandbox_json(report), "ok": well}
    if terminal.as_json:
        terminal.emit(found)
    else:
        _show(terminal, found, report)
    return OK if well else FAILED


def _only_takes_tasks(settings: Settings) -> bool:
    """Whether a queue is set and no database, as for a worker."""
    return settings.queue.url is not None and "url" not in settings.database.model_fields_set


def _database(url: str, *, unused: bool) -> dict[str, Any]:
    if unused:
        return {"url": "", "state": "unset", "reason": "not set (a worker needs no database)", "ok": True}
    try:
        found = standing(url)
    except ServiceError as error:
        return {"url": redacted(url), "state": "unavailable", "reason": str(error), "ok": False}
    # A SQLite file is made by the first run; the tables of a server are made by hand.
    usable = found["state"] == "current" or (found["state"] == "absent" and url.startswith("sqlite:"))
    return {"url": found["database"], "state": found["state"], "reason": found["advice"], "ok": usable}


async def _queue(url: str) -> dict[str, Any]:
    from service.queue.connection import examine_queue

    try:
        await examine_queue(url)
    except ServiceError as error:
        return {"url": redacted(url), "reason": str(error), "ok": False}
    return {"url": redacted(url), "reason": "it answers", "ok": True}


async def _containers(settings: Settings) -> dict[str, Any]:
    """What runs the containers of `evaluator.image` here. Nothing else needs it."""
    from service.sandbox.container_runtime import find_runtime

    try:
        return {"runtime": str(await find_runtime(settings.sandbox.container_runtime)), "reason": ""}
    except ServiceError as error:
        return {"runtime": "", "reason": str(error)}


def _setting(settings: Settings, key: str) -> Any:
    if key == "database.url":
        return redacted(settings.database.url.get_secret_value())
    if key == "queue.url":
        return settings.queue.url and redacted(settings.queue.url.get_secret_value())
    group, _, name = key.partition(".")
    return getattr(getattr(settings, group), name)


def _sandbox_json(report: SandboxReport) -> dict[str, Any]:
    return {
        "level": report.level,
        "required": report.required,
        "reason": report.reason,
        "layers": [{"name": layer.name, "on": layer.on, "reason": layer.reason} for layer in report.layers],
    }


def _show(terminal: Terminal, found: dict[str, Any], report: SandboxReport) -> None:
    python, database, queue = found["python"], found["database"], found["queue"]
    enough = f"at least {report.required} is required"
    rows = [
        ("evolve", found["version"]),
        ("python", f"{python['version']} at {python['executable']}"),
        ("system", python["system"]),
        ("database", _verdict(database["ok"], ": ".join(filter(None, (database["url"], database["reason"]))))),
        (
            "queue",
            _verdict(queue["ok"], f"{queue['url']}: {queue['reason']}") if queue else "not set: this process evaluates",
        ),
        ("sandbox", _verdict(report.enough, f"{report.level}, {report.reason or enough}")),
        *((f"  {layer.name}", _verdict(layer.on, layer.reason)) for layer in report.layers),
        ("containers", found["containers"]["runtime"] or f"none for evaluator.image: {found['containers']['reason']}"),
        ("settings", found["settings"]["file"]),
        *((f"  {key}", _written(found["settings"][key])) for key in known_keys()),
    ]
    terminal.show(facts(rows))
    terminal.note(
        "Everything that is required works."
        if found["ok"]
        else "Something that is required does not work. See ✗ above."
    )


def _written(value: Any) -> str:
    """A setting as it would stand in the file of settings, or that it is not set."""
    if value is None or value in ("", ()):
        return "not set"
    if isinstance(value, bool):
        return str(value).lower()
    return ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)


def _verdict(well: bool, text: str) -> Any:
    return styled(f"{'✓' if well else '✗'} {plain(text)}", "green" if well else "red")
