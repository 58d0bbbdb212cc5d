"""The configuration of a run: every key a user may set, with its default."""

from evolve.configuration.archive import ARCHIVES, MEASURED, TRUNCATIONS, ArchiveConfig
from evolve.configuration.defaults import default_keys
from evolve.configuration.learning import LEARNING_OBJECTIVES, LearningConfig
from evolve.configuration.pace import BudgetConfig, ConcurrencyConfig, DeterministicConfig
from evolve.configuration.prompt import InsightsConfig, InspirationsConfig, PromptConfig
from evolve.configuration.run import (
    BASELINES,
    ISLAND_CHOICES,
    MIGRANTS,
    OPERATOR_CHOICES,
    OPERATORS,
    POLICY_CHOICES,
    RESETS,
    STRATEGIES,
    TOPOLOGIES,
    RunConfig,
    VariantConfig,
)
from evolve.configuration.selection import NOVELTIES, SELECTIONS, NoveltyConfig, SelectionOptions

__all__ = [
    "ARCHIVES",
    "BASELINES",
    "ISLAND_CHOICES",
    "LEARNING_OBJECTIVES",
    "MEASURED",
    "MIGRANTS",
    "NOVELTIES",
    "OPERATORS",
    "OPERATOR_CHOICES",
    "POLICY_CHOICES",
    "RESETS",
    "SELECTIONS",
    "STRATEGIES",
    "TOPOLOGIES",
    "TRUNCATIONS",
    "ArchiveConfig",
    "BudgetConfig",
    "ConcurrencyConfig",
    "DeterministicConfig",
    "InsightsConfig",
    "InspirationsConfig",
    "LearningConfig",
    "NoveltyConfig",
    "PromptConfig",
    "RunConfig",
    "SelectionOptions",
    "VariantConfig",
    "default_keys",
]
