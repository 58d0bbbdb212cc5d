"""A campaign: an installation at work, the faults that befall it, and what its record must hold in the end.

It runs as a command of its own, in namespaces where they can be had.
"""

import argparse
import json
import random
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from service.bootstrap.storage import open_storage
from service.config import load_settings
from tests.fakes.openai_server import OpenAIServer, openai_server
from tests.faults import orphans, record
from tests.faults.clients import Crowd
from tests.faults.faults import Faults
from tests.faults.installation import Installation, installed
from tests.faults.kinds import kinds
from tests.faults.problems import SHAPES, model

ENDING_SECONDS = 120.0
LEAVING_SECONDS = 20.0
GONE_SECONDS = 10.0
# The line of a request in the audit follows its answer, and the database may be away by then.
MAY_FAIL = ("audit.failed",)
COMPLAINTS = "complaints"


def weathered(place: Installation, server: OpenAIServer, seconds: float, seed: int) -> tuple[Crowd, Faults]:
    """Have everybody use the installation while faults go on, then let every run come to its end."""
    crowd = Crowd(place.url, place.key, place.postgres.socket_url, server, seed)
    draw = random.Random(f"{seed}/faults")
    faults = Faults(kinds(place.victims, draw, crowd.submit_soon), place.victims, draw)
    try:
        crowd.start()
        faults.rage(seconds)
        crowd.close()
        late = crowd.await_ends(ENDING_SECONDS)
        crowd.failures += [f"run {run_id} has not ended after {ENDING_SECONDS:g} s without faults" for run_id in late]
    finally:
        crowd.leave()
    return crowd, faults


def recorded(place: Installation, crowd: Crowd) -> tuple[list[record.Run], list[str]]:
    """Every run, and what breaks a rule."""
    with open_storage(load_settings(), place.postgres.socket_url) as storage:
        records = storage.reader.runs(limit=10_000)
        complaints = list(record.submissions(records, crowd.runs))
        runs = [record.read(storage, told) for told in crowd.runs.values()]
    for run in runs:
        complaints += [
            f"{run.told.shape.name} run {run.record.id}: {complaint}"
            for rule in record.RULES
            for complaint in rule(run)
        ]
    return runs, [*complaints, *record.repeats(runs)]


def ended(place: Installation) -> list[str]:
    """End every role in order; what is left of them, or was said by them that must not be."""
    for role in place.roles:
        role.end(LEAVING_SECONDS)
    for server in (place.postgres, place.redis):
        server.end()
    complaints = [complaint for role in place.roles for complaint in role.complaints]
    complaints += [
        f"{role.name} said: {line[:1500]}"
        for role in place.roles
        for line in role.log.read_text(errors="replace").splitlines()
        if "Traceback" in line or ('"level": "error"' in line and not any(word in line for word in MAY_FAIL))
    ]
    deadline = time.monotonic() + GONE_SECONDS
    while (left := orphans.living()) and time.monotonic() < deadline:
        time.sleep(0.1)  # what other processes do is only seen by looking
    complaints += [f"process {pid} is left over: {command}" for pid, command in left.items()]
    return complaints + [f"{entry.name} is left over" for entry in sorted(place.scratch.iterdir())]


def logged(place: Installation) -> Counter[str]:
    """How often the roles logged what."""
    counts: Counter[str] = Counter()
    for role in place.roles:
        for line in role.log.read_text(errors="replace").splitlines():
            if line.startswith("{"):
                event = json.loads(line)
                counts[event.get("event", "")] += 1
                counts["redeliveries"] += event.get("event") == "evaluation.begun" and event["delivery"] > 1
    return counts


def report(place: Installation, faults: Faults, crowd: Crowd, runs: Sequence[record.Run]) -> str:
    """What happened, in a few lines."""
    said = logged(place)
    figures = {
        "faults": dict(sorted(faults.counts.items())) | {"redis came back empty": place.redis.emptied},
        "runs": dict(Counter(f"{run.told.shape.name} {run.record.state}" for run in runs)),
        "record": {
            "runs": len(runs),
            "events": sum(len(run.events) for run in runs),
            "proposals": sum(len(run.proposals) for run in runs),
            "candidates": sum(len(run.candidates) for run in runs),
            "evaluations": sum(run.evaluations.total() for run in runs),
            "evaluations lost": sum(run.lost for run in runs),
            "takeovers": sum(record.takeovers(run) for run in runs),
        },
        "queue": {
            "redeliveries": said["redeliveries"],
            "sent again": said["evaluation.sent_again"],
            "results not taken": said["evaluation.lost"],
        },
        "starts": dict(Counter({role.name: role.starts for role in place.roles})),
        "starts refused": sum(len(role.refusals) for role in place.roles),
        "clients": dict(sorted(crowd.counts.items())),
    }
    return "\n".join(f"{name:15} {json.dumps(value)}" for name, value in figures.items())


def ran(folder: Path, home: Path, seconds: float, seed: int) -> list[str]:
    """Run a campaign, and print what happened; the complaints, and the story behind them where there are any.

    Args:
        folder: for logs, which stay.
        home: for what servers and sandboxes keep, on a short path.
        seconds: for which faults happen.
        seed: of everything that is drawn.
    """
    with (
        orphans.adopted(),
        openai_server(model(random.Random(f"{seed}/model"))) as server,
        installed(folder, home, server.url, random.Random(f"{seed}/redis")) as place,
    ):
        crowd, faults = weathered(place, server, seconds, seed)
        runs, complaints = recorded(place, crowd)
        complaints += [*crowd.failures, *ended(place)]
        print(report(place, faults, crowd, runs), flush=True)
    if faults.counts.total() < seconds / 10:
        complaints.append(f"{faults.counts.total()} faults befell it in {seconds:g} s")
    if len(runs) < len(SHAPES):
        complaints.append(f"{len(runs)} runs were submitted, and there are {len(SHAPES)} kinds of them")
    return [*complaints, "", *faults.told] if complaints else []


def main(words: Sequence[str]) -> int:
    """Run a campaign; 1 where something is wrong, which is in the file COMPLAINTS then."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("home", type=Path)
    parser.add_argument("seconds", type=float)
    parser.add_argument("seed", type=int)
    given = parser.parse_args(words)
    complaints = ran(given.folder, given.home, given.seconds, given.seed)
    (given.folder / COMPLAINTS).write_text("\n".join(complaints))
    return bool(complaints)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
