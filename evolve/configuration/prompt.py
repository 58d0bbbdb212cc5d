"""What a prompt shows."""

from dataclasses import dataclass

from evolve.configuration.checks import MAX_PLAIN_CHARACTERS, at_least, plain_text


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


@dataclass(frozen=True, slots=True, kw_only=True)
class InsightsConfig:
    """When a run writes insights, and how much of them prompts show.

    Attributes:
        every: evaluated candidates between two versions; 0: the run writes none.
        tokens: the most of them in a prompt.
        text: the first version, of an earlier run or a person; empty: there is none.
    """

    every: int = 0
    tokens: int = 500
    text: str = ""

    def __post_init__(self) -> None:
        at_least("insights.every", self.every, 0)
        at_least("insights.tokens", self.tokens, 1)
        plain_text("insights.text", self.text, MAX_PLAIN_CHARACTERS)
