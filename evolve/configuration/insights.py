"""The insights of a run: a short text of what worked, what failed and what is untried."""

from dataclasses import dataclass

from evolve.configuration.checks import MAX_PLAIN_CHARACTERS, at_least, plain_text


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
