"""A package with extensions, laid into a folder as an installer does: a module, and a dist-info with entry points."""

import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

NAME, VERSION, MODULE = "evolve-greedy", "1.2", "evolve_greedy"
ENTRY_POINTS = {
    "evolve.selections": {"greedy": f"{MODULE}:Greedy"},
    "evolve.archives": {"newest": f"{MODULE}:Newest"},
    "evolve.strategies": {"hill_climber": f"{MODULE}:HillClimber"},
    "evolve.operators": {"speed_up": f"{MODULE}:SPEED_UP"},
    "evolve.stopping_rules": {"soon": f"{MODULE}:soon"},
    "evolve.policies": {"doubler": f"{MODULE}:Doubler"},
    "evolve.runtimes": {"awk": f"{MODULE}:run_awk"},
}
SOURCE = """\
from collections import deque

from evolve.archives import Insertion, Status
from evolve.credit.operators import Operator
from evolve.archives.population import Population
from evolve.proposal import Answer, CompletedReply, Usage
from evolve.runtimes import RuntimeCommand
from evolve.selection import Selected
from evolve.search.strategies import ProposalPlan


SPEED_UP = Operator(request="Write $count, each faster than the parent.", parents=2)


class Greedy:
    def __call__(self, view, rng, knobs):
        return Selected(place=view.ranked(0), rationale={"rank": 0})


class Newest:
    def __init__(self, problem, config, seed):
        self.members = Population(len(problem.objectives))
        self.order = deque()
        self.size = config.size

    def offer(self, individual):
        if individual.candidate_id in self.members:
            return Insertion(status=Status.DUPLICATE)
        full = len(self.members) >= self.size
        return Insertion(status=Status.ADDED, displaced=(self.order[0],) if full else ())

    def apply(self, individual, insertion):
        for candidate_id in insertion.displaced:
            self.members.remove(candidate_id)
            self.order.remove(candidate_id)
        if insertion.kept:
            self.members.add(individual)
            self.order.append(individual.candidate_id)

    def remove(self, candidate_id):
        self.members.remove(candidate_id)
        self.order.remove(candidate_id)


class HillClimber:
    def __init__(self, problem, config, seeds, credit):
        pass

    def plan(self, number, islands, latest, rng):
        island = islands[number % len(islands)]
        return ProposalPlan(island=island.number, operator="mutate", parent=island.archive.members.best()[0])


def soon(progress):
    return progress.evaluations >= 10


class Doubler:
    def __init__(self, context):
        self.name, self.answers, self.samples, self.concurrency = context.name, 1, 1, 1
        self.factor = context.settings.get("params", {}).get("factor", 2)
        self.closed = False

    async def propose(self, proposal):
        [(path, text)] = proposal.parent.program.files
        text = text.replace("a = ", f"a = {self.factor} * ", 1)
        yield Answer(chain=0, index=0, text=text)
        yield CompletedReply(completions=(text,), usage=Usage(input=1000, output=500))


class Mute(Doubler):
    async def propose(self, proposal):
        raise ValueError("no luck today")
        yield


def run_awk(context):
    return RuntimeCommand(command=("awk", "-f", context.main))


class Failing:
    calls = 0

    def __call__(self, view, rng, knobs):
        Failing.calls += 1
        if Failing.calls > 5:
            raise ValueError("no luck today")
        return Selected(place=0)
"""


def install(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    *,
    name: str = NAME,
    source: str = SOURCE,
    entry_points: Mapping[str, Mapping[str, str]] = ENTRY_POINTS,
) -> None:
    """Install the package into a folder of its own, where Python looks from now on."""
    module, target = name.replace("-", "_"), folder / name
    information = target / f"{module}-{VERSION}.dist-info"
    information.mkdir(parents=True)
    (target / f"{module}.py").write_text(source)
    (information / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {VERSION}\n")
    lines = [
        f"[{group}]\n" + "".join(f"{key} = {value}\n" for key, value in of.items())
        for group, of in entry_points.items()
    ]
    (information / "entry_points.txt").write_text("\n".join(lines))
    monkeypatch.syspath_prepend(str(target))
    monkeypatch.delitem(sys.modules, module, raising=False)


def uninstall(monkeypatch: pytest.MonkeyPatch, *, name: str = NAME) -> None:
    """Python finds the package no longer."""
    monkeypatch.setattr(sys, "path", [place for place in sys.path if not place.endswith(name)])
    monkeypatch.delitem(sys.modules, name.replace("-", "_"), raising=False)
