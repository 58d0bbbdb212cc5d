"""The value that OpenEvolve's evaluators may return instead of a dict of metrics."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass
class EvaluationResult:
    """Metrics of one evaluation and, for the next prompt, its artifacts.

    Attributes:
        metrics: numbers by name; other values become feedback.
        artifacts: text or bytes by name.
    """

    metrics: dict[str, float]
    artifacts: dict[str, str | bytes] = field(default_factory=dict)

    @classmethod
    def from_dict(cls, metrics: Mapping[str, float]) -> "EvaluationResult":
        """Wrap a plain dict of metrics."""
        return cls(metrics=dict(metrics))

    def to_dict(self) -> dict[str, float]:
        """The metrics alone."""
        return self.metrics

    def has_artifacts(self) -> bool:
        """Whether anything came beside the metrics."""
        return bool(self.artifacts)

    def get_artifact_keys(self) -> list[str]:
        """Names of the artifacts."""
        return list(self.artifacts)

    def get_artifact_size(self, key: str) -> int:
        """Bytes of one artifact; 0 when there is none of that name."""
        value = self.artifacts.get(key, b"")
        return len(value.encode() if isinstance(value, str) else value)

    def get_total_artifact_size(self) -> int:
        """Bytes of all artifacts."""
        return sum(map(self.get_artifact_size, self.artifacts))
