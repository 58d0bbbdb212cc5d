"""The errors of training.

EvolveError
└── TrainingError       training cannot start or continue
    ├── CheckpointError     a checkpoint that cannot be read or written
    │   └── OtherRecipeError    the folder holds the training of another recipe
    ├── ModelError          a model folder that training cannot start from
    ├── NothingToLearnError     all completions have the same rewards
    └── StudyError          measurements of a study that cannot be read
"""

from evolve.errors import EvolveError


class TrainingError(EvolveError):
    """Training cannot start or continue."""


class CheckpointError(TrainingError):
    """The checkpoint cannot be read or written."""


class OtherRecipeError(CheckpointError):
    """The folder holds the training of another recipe."""


class ModelError(TrainingError):
    """The model cannot be trained on."""


class NothingToLearnError(TrainingError):
    """All completions have the same rewards."""


class StudyError(TrainingError):
    """The measurements of a study cannot be read, or do not suffice."""
