"""The errors of training.

EvolveError
└── TrainingError       training cannot begin or go on
    ├── CheckpointError     a checkpoint that cannot be read or written
    │   └── OtherRecipeError    the folder holds the training of another recipe
    ├── ModelError          a model folder that training cannot start from
    ├── NothingToLearnError     rewards that tell no completion from another
    └── StudyError          measurements of a study that cannot be read
"""

from evolve.errors import EvolveError


class TrainingError(EvolveError):
    """Training cannot begin or go on."""


class CheckpointError(TrainingError):
    """The checkpoint cannot be read or written."""


class OtherRecipeError(CheckpointError):
    """The folder holds the training of another recipe."""


class ModelError(TrainingError):
    """The model cannot be trained on."""


class NothingToLearnError(TrainingError):
    """Rewards tell no completion from another."""


class StudyError(TrainingError):
    """The measurements of a study cannot be read, or do not suffice."""
