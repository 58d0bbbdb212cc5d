"""Run configurations in the document of the API: typed and described by the keys that `evolve.configuration` knows."""

from collections.abc import Mapping
from typing import Annotated

from pydantic import BaseModel

from evolve import configuration
from evolve.configuration import (
    ArchiveConfig,
    BudgetConfig,
    ConcurrencyConfig,
    DeterministicConfig,
    InsightsConfig,
    InspirationsConfig,
    LearningConfig,
    NoveltyConfig,
    PromptConfig,
    RunConfig,
    SelectionOptions,
    VariantConfig,
)
from evolve.configuration.archive import MAX_CELLS, MAX_NEIGHBOURS, TRUNCATIONS
from evolve.configuration.learning import MAX_K, MAX_UPDATES, MAX_VERSIONS
from evolve.configuration.pace import MAX_CALLS, MAX_EVALUATIONS, MAX_IN_ORDER
from evolve.configuration.run import MAX_ANSWERS, MAX_ISLANDS, MAX_PROMPTS
from evolve.problem import MAX_MAGNITUDE
from service.schemas.derived_models import DescribedAs, Keywords, model_of
from service.schemas.key_descriptions import CONFIGURATION_KEYS
from service.schemas.types import Object, Plain


def _among(*names: str) -> Keywords:
    return {"enum": list(names)}


def _named(*names: str) -> Keywords:
    """A built-in name, or that of an extension."""
    return {"examples": list(names)}


def _named_shares(*names: str) -> Keywords:
    return {"propertyNames": {"examples": list(names)}}


def _within(minimum: float, maximum: float) -> Keywords:
    return {"minimum": minimum, "maximum": maximum}


_POSITIVE, _FROM_0, _ABOVE_0 = {"minimum": 1}, {"minimum": 0}, {"exclusiveMinimum": 0}
# The bounds that the dataclasses refuse values beyond; a test tries each.
KEYWORDS: Mapping[str, Keywords] = {
    "strategy": _named(*configuration.STRATEGIES),
    "islands": _within(0, MAX_ISLANDS),
    "island_choice": _among(*configuration.ISLAND_CHOICES),
    "topology": _among(*configuration.TOPOLOGIES),
    "migration_interval": _POSITIVE,
    "migration_rate": _within(0, 1),
    "migrants": _among(*configuration.MIGRANTS),
    "reset_after": _FROM_0,
    "reset_from": _among(*configuration.RESETS),
    "archive.kind": _named(*configuration.ARCHIVES),
    "archive.size": _POSITIVE,
    "archive.front": _within(1, MAX_CELLS),
    "archive.truncation": _among(*TRUNCATIONS),
    "archive.neighbours": _within(1, MAX_NEIGHBOURS),
    "selection": _named_shares(*configuration.SELECTIONS),
    "selection_options.dirichlet_alpha": {"exclusiveMinimum": 0, "maximum": MAX_MAGNITUDE},
    "selection_options.objective_weights": {"additionalProperties": {"type": "number", **_within(0, MAX_MAGNITUDE)}},
    "selection_options.power_law_exponent": _within(0, MAX_MAGNITUDE),
    "selection_options.exploration": _within(0, MAX_MAGNITUDE),
    "selection_options.cases": {"exclusiveMinimum": 0, "maximum": 1},
    "operators": _named_shares(*configuration.OPERATORS),
    "operator_choice": _among(*configuration.OPERATOR_CHOICES),
    "policy_choice": _among(*configuration.POLICY_CHOICES),
    "prompt_pool": _within(0, MAX_PROMPTS),
    "novelty.kind": _among(*configuration.NOVELTIES),
    "novelty.min_distance": _within(0, 1),
    "inspirations.top": _FROM_0,
    "inspirations.diverse": _FROM_0,
    "answers": _within(0, MAX_ANSWERS),
    "samples": _within(0, MAX_ANSWERS),
    "prompt.feedback_kb": _FROM_0,
    "prompt.failures": _FROM_0,
    "prompt.rejections": _FROM_0,
    "insights.every": _FROM_0,
    "insights.tokens": _POSITIVE,
    "learning.every": _FROM_0,
    "learning.after": _FROM_0,
    "learning.updates": _within(1, MAX_UPDATES),
    "learning.versions": _within(1, MAX_VERSIONS),
    "learning.objective": _among(*configuration.LEARNING_OBJECTIVES),
    "learning.k": _within(1, MAX_K),
    "learning.last_k": _within(1, MAX_K),
    "learning.rate": {"exclusiveMinimum": 0, "maximum": 1},
    "learning.divergence": _FROM_0,
    "learning.replay": _FROM_0,
    "budget.evaluations": _POSITIVE,
    "budget.answers": _POSITIVE,
    "budget.tokens": _POSITIVE,
    "budget.wall_seconds": _ABOVE_0,
    "budget.patience": _POSITIVE,
    "seed": _FROM_0,
    "deterministic.window": _within(0, MAX_IN_ORDER),
    "concurrency.policy": _within(0, MAX_CALLS),
    "concurrency.evaluations": _within(0, MAX_EVALUATIONS),
}
_PREFIXES: Mapping[type, str] = {
    ArchiveConfig: "archive.",
    SelectionOptions: "selection_options.",
    NoveltyConfig: "novelty.",
    InspirationsConfig: "inspirations.",
    PromptConfig: "prompt.",
    InsightsConfig: "insights.",
    LearningConfig: "learning.",
    BudgetConfig: "budget.",
    DeterministicConfig: "deterministic.",
    ConcurrencyConfig: "concurrency.",
}
_NAMES: Mapping[type, str] = {kind: f"{kind.__name__.removesuffix('Config')}Keys" for kind in _PREFIXES}
_GROUPS: Mapping[type, type[BaseModel]] = {
    kind: model_of(kind, _NAMES[kind], CONFIGURATION_KEYS, prefix=prefix, keywords=KEYWORDS)
    for kind, prefix in _PREFIXES.items()
}
_VARIED = {**CONFIGURATION_KEYS, "islands": "numbers of the islands that differ, from 0"}
_VARIANT = model_of(
    VariantConfig,
    "VariantKeys",
    _VARIED,
    keywords={key: words for key, words in KEYWORDS.items() if key != "islands"},
    groups=_GROUPS,
)
RunConfiguration = model_of(
    RunConfig,
    "RunConfiguration",
    CONFIGURATION_KEYS,
    keywords=KEYWORDS,
    groups={**_GROUPS, VariantConfig: _VARIANT},
)
RunConfiguration.__doc__ = (
    "Keys of a run configuration. Unknown keys are refused with the nearest known one. A key of a group may also be"
    " written with a dot, as `budget.evaluations`."
)

BudgetKeys = _GROUPS[BudgetConfig]

# As it is sent: the room of problems validates it, with the layers below it.
AskedConfiguration = Annotated[Plain, DescribedAs(RunConfiguration)]
# As it is stored.
StoredConfiguration = Annotated[Object, DescribedAs(RunConfiguration)]
