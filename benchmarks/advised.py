"""Scripted models: an author that changes numbers of the parent and may take advice, and an advisor.

It is no language model. Where a prompt says that a line was replaced by another and the score rose, half of its
programs move the numbers of that line on in the same direction. So it shows whether facts reach an author that uses
them, and not whether a model would. Asked for a prompt, it writes one, but it reads no request: prompts change nothing.

The advisor proposes which number to change, at which scale and in which direction. The author realises each idea in
one program. A diverse advisor proposes other changes in each idea of a set, as a policy that is trained for sets does.
A sharp one varies a single change, as a policy that is trained for one answer does.
"""

import math
import random
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from evolve.prompt import TEMPLATES

_NUMBER = re.compile(r"(?<![\w.])\d+(?:\.\d+)?(?:e-?\d+)?(?![\w.])")
_PROGRAM = re.compile(r"# The parent program.*?(`{3,})[^\n]*\n(.*?)\n\1", re.DOTALL)
_REPLACED = re.compile(r"replaced `([^`\n]+)`(?:, `[^`\n]+`)*(?: and \d+ more lines)? by `([^`\n]+)`")
_IDEA = re.compile(r"Idea \d+:\n(`{3,})\nChange number (\d+), scale (\S+), (up|down)\.(?: Variant \d+\.)?\n\1")
WRITING = TEMPLATES["write_prompt"].text.partition("\n")[0]
COARSE, FINE = (0.3,), (0.3, 0.03, 0.003, 0.0003)


@dataclass
class AdvisedAuthor:
    """Writes programs for prompts, see `benchmarks.policy_server.Write`.

    Attributes:
        seed: of its draws.
        scales: of its steps, relative to the number that it changes.
    """

    seed: int
    scales: Sequence[float] = COARSE
    rng: random.Random = field(init=False)

    def __post_init__(self) -> None:
        self.rng = random.Random(self.seed)

    async def __call__(self, prompt: str, count: int) -> list[str]:
        if prompt.startswith(WRITING):
            return [f"<request>\nWrite better programs, as in attempt {self.rng.random()}.\n</request>"]
        found = _PROGRAM.search(prompt)
        parent = found.group(2) if found else ""
        facts = _REPLACED.findall(prompt)
        ideas = [(int(number), float(scale), way == "up") for _, number, scale, way in _IDEA.findall(prompt)][:count]
        realised = [self._realised(parent, *idea) for idea in ideas]
        return realised + [self._child(parent, facts) for _ in range(count - len(ideas))]

    def _realised(self, parent: str, number: int, scale: float, up: bool) -> str:
        numbers = list(_NUMBER.finditer(parent))
        if number >= len(numbers):
            return self._changed(parent)
        found, draw = numbers[number], abs(self.rng.gauss(0, 1))
        value = _stepped(found.group(), scale, draw if up else -draw)
        return parent[: found.start()] + value + parent[found.end() :]

    def _child(self, parent: str, facts: Sequence[tuple[str, str]]) -> str:
        moved = self._moved(parent, facts) if facts and self.rng.random() < 0.5 else None
        return moved or self._changed(parent)

    def _changed(self, parent: str) -> str:
        """The parent with another value of one number."""
        numbers = list(_NUMBER.finditer(parent))
        if not numbers:
            return parent
        drawn = self.rng.choice(numbers)
        value = _stepped(drawn.group(), self.rng.choice(self.scales), self.rng.gauss(0, 1))
        return parent[: drawn.start()] + value + parent[drawn.end() :]

    def _moved(self, parent: str, facts: Sequence[tuple[str, str]]) -> str | None:
        """The parent with a line moved on as a fact tells; None: it has no such line."""
        old, new = self.rng.choice(facts)
        steps = [float(after) - float(before) for before, after in zip(_numbers(old), _numbers(new), strict=False)]
        lines = parent.split("\n")
        alike = [place for place, line in enumerate(lines) if _NUMBER.sub("0", line.strip()) == _NUMBER.sub("0", new)]
        if not alike or not any(steps) or _NUMBER.sub("0", old) != _NUMBER.sub("0", new):
            return None
        place, share, rest = self.rng.choice(alike), 2 * self.rng.random(), iter(steps)
        lines[place] = _NUMBER.sub(lambda found: _added(found.group(), share * next(rest)), lines[place])
        return "\n".join(lines)


@dataclass
class ScriptedAdvisor:
    """Writes ideas for prompts, see `benchmarks.policy_server.Write`.

    Attributes:
        seed: of its draws.
        ideas: in a set.
        diverse: whether each idea of a set is another change.
    """

    seed: int
    ideas: int
    diverse: bool
    rng: random.Random = field(init=False)

    def __post_init__(self) -> None:
        self.rng = random.Random(self.seed)

    async def __call__(self, prompt: str, count: int) -> list[str]:
        found = _PROGRAM.search(prompt)
        numbers = len(_NUMBER.findall(found.group(2))) if found else 0
        return [self._set(numbers) for _ in range(count)]

    def _set(self, numbers: int) -> str:
        changes = [(number, scale, way) for number in range(numbers) for scale in FINE for way in ("up", "down")]
        if not changes:
            return "No idea."
        drawn = [self.rng.choice(changes)] * self.ideas
        if self.diverse:
            drawn = self.rng.sample(changes, min(self.ideas, len(changes)))
        said = [
            f"Change number {number}, scale {scale}, {way}." + ("" if self.diverse else f" Variant {variant}.")
            for variant, (number, scale, way) in enumerate(drawn)
        ]
        return "\n".join(f"<idea_{n}>\n{text}\n</idea_{n}>" for n, text in enumerate(said, 1))


def _numbers(line: str) -> list[str]:
    return _NUMBER.findall(line)


def _stepped(text: str, scale: float, draw: float) -> str:
    if text.isdigit():
        return str(max(0, int(text) + round(math.copysign(max(1.0, abs(draw) * scale * int(text)), draw))))
    return repr(float(text) + draw * scale * max(abs(float(text)), 0.01))


def _added(text: str, step: float) -> str:
    if text.isdigit():
        return str(max(0, int(text) + round(step)))
    return repr(max(0.0, float(text) + step))
