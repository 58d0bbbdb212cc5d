"""What a prompt shows."""

from dataclasses import dataclass

from evolve.configuration.checks import at_least


@dataclass(frozen=True, slots=True, kw_only=True)
class InspirationsConfig:
    """Numbers of further programs in a prompt: the island's best, and different programs."""

    top: int = 2
    diverse: int = 2

    def __post_init__(self) -> None:
        at_least("inspirations.top", self.top, 0)
        at_least("inspirations.diverse", self.diverse, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptConfig:
    """Contents of a prompt.

    Attributes:
        system: system message; empty: the template's.
        template_dir: folder whose files replace the built-in templates of the same name.
        feedback_kb: most kilobytes of the parent's feedback shown.
        failures: how many recent failures of the island are shown.
        rejections: how many reasons are shown why the policy's last answers could not be used.
    """

    system: str = ""
    template_dir: str = ""
    feedback_kb: float = 4.0
    failures: int = 3
    rejections: int = 3

    def __post_init__(self) -> None:
        at_least("prompt.feedback_kb", self.feedback_kb, 0)
        at_least("prompt.failures", self.failures, 0)
        at_least("prompt.rejections", self.rejections, 0)
