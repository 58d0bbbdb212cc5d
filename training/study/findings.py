"""All that a report is written from."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from evolve.multiobjective.scalarization import Floats
from evolve.statistics.intervals import Estimate
from training.study.bootstrap import Difference, difference, mean, ratio
from training.study.campaign import Campaign, SettingsScore, TriedSettings
from training.study.contenders import Contender
from training.study.gather import AT_ONE, LABELS, OWN, Compared, Gathering, PlainFigures
from training.study.plan import KINDS, PLAIN, SearchSettings, StudyScope
from training.study.results import MethodTable, common


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """The results of a study.

    Attributes:
        sampled: by kind of maze and label (`AT_ONE`, `OWN`), each method's figures.
        searched: by strategy and label, each method's searches on hard mazes.
        temperatures: by kind and method, the result of each temperature on validation mazes.
        heated: by method, the results of searches on validation mazes at each temperature.
        command: measures all of it again.
    """

    scope: StudyScope
    contenders: Sequence[Contender]
    sampled: Mapping[tuple[str, str], Compared]
    searched: Mapping[tuple[str, str], Compared]
    temperatures: Mapping[str, Mapping[str, Mapping[float, float]]]
    tried: Sequence[TriedSettings]
    heated: Mapping[str, Mapping[float, SettingsScore]]
    settings: SearchSettings
    plain: PlainFigures
    command: str

    @property
    def maximum(self) -> int:
        """The largest set that is looked at."""
        return self.scope.ks[-1]

    @property
    def search_labels(self) -> tuple[str, ...]:
        """The conditions of searches that differ: without own temperatures where all of these are 1."""
        own = [one.temperature for strategy in self.scope.strategies for one in self.searched[strategy, OWN].values()]
        return (AT_ONE,) if own and set(own) == {PLAIN} else LABELS

    @property
    def last(self) -> int:
        """The largest budget of searches."""
        return self.scope.budgets[-1]


def findings_of(campaign: Campaign, command: str) -> Findings:
    """Read all that was measured."""
    gathering, scope = Gathering(campaign=campaign), campaign.scope
    return Findings(
        scope=scope,
        contenders=campaign.contenders,
        sampled={(kind, label): gathering.sampled(kind, label) for kind in KINDS for label in LABELS},
        searched={
            (strategy, label): compared for label in LABELS for strategy, compared in gathering.searched(label).items()
        },
        temperatures={kind: campaign.by_temperature(kind) for kind in KINDS},
        tried=campaign.tried(),
        heated=campaign.by_search_temperature(),
        settings=campaign.settings(),
        plain=gathering.plain(),
        command=command,
    )


def estimate(found: MethodTable | None, name: str) -> Estimate | None:
    """A figure of a method. None if it was not measured."""
    return mean(found.tables[name]) if found is not None and name in found.tables else None


def lead(compared: Compared, method: str, other: str, name: str) -> Difference | None:
    """The difference of two methods in a figure, over their common training seeds."""
    pair = _pair(compared.get(method), compared.get(other), name)
    return difference(*pair) if pair else None


def gain(found: MethodTable | None, against: MethodTable | None, name: str) -> Estimate | None:
    """The ratio of two methods in a figure, over their common training seeds."""
    pair = _pair(found, against, name)
    return ratio(*pair) if pair else None


def _pair(one: MethodTable | None, other: MethodTable | None, name: str) -> tuple[Floats, Floats] | None:
    if one is None or other is None or name not in one.tables or name not in other.tables:
        return None
    seeds = common(one, other)
    return (one.rows(name, seeds), other.rows(name, seeds)) if seeds else None
