"""The maze as a domain: walks as answers, in words, letters or arrows."""

import re
from collections.abc import Hashable
from dataclasses import dataclass

from evolve.answers.chain import ChainFormat
from evolve.domains.blocks import check_count, fill, mentions, spoken, tagged, taken
from evolve.domains.domain import DomainReply
from evolve.domains.maze.grid import MAX_WALK, MOVES, Maze, Rules, render, walk
from evolve.domains.maze.reward import OBJECTIVES, reward
from evolve.domains.maze.words import brief, is_step, moves_of
from evolve.multiobjective.scalarization import Floats

_WORDS = {"UP": "U", "DOWN": "D", "LEFT": "L", "RIGHT": "R", "↑": "U", "↓": "D", "←": "L", "→": "R"}
_TAG = re.compile(r"</?[A-Za-z][^<>]{0,40}>")
_PART = re.compile(r"[↑↓←→]|[^\W_]+")
_RULE = re.compile(r"^[ \t]*-{3,}[ \t]*$", re.MULTILINE)
_NOTATION = (
    "There, cells are named as on a chess board from the top left, with a letter for the column and a number for the"
    " row. You may write a walk as moves with the cell that each leads to, such as `Rc4 Dc5`."
)
_EARNS = {
    Rules.OPEN: (
        "Four things count, each on its own: your last move ends on E, the share of the gold, the share of the"
        " diamonds, and how seldom you step onto lava (with three steps or more this is zero). You may cross E."
    ),
    Rules.EXIT: (
        "The walk ends on E, and nothing counts unless it gets there. Then four things count: reaching E, the share"
        " of the gold, the share of the diamonds, and the share of the lava cells that you avoid."
    ),
    Rules.CONVEX: (
        "The walk ends on E, and nothing counts unless it gets there. Then four things count: reaching E, and the"
        " shares of the gold, of the diamonds, and of the lava cells that you avoid. These shares are squared, and"
        " a visit to B makes each half as large again."
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class MazeDomain:
    """Walk through a maze: reach the exit, collect treasure, avoid lava. An answer is a string of `MOVES`."""

    name: str = "maze"

    def objectives(self, question: Maze) -> tuple[str, ...]:  # noqa: ARG002 - the shape all domains have
        """Completion, gold, diamond, avoid_lava."""
        return OBJECTIVES

    def task(self, question: Maze) -> str:
        """The drawn maze, its rules, and its short form, which small policies read."""
        return (
            f"Find a way from S to E.\n\n{render(question)}\n\n# wall, G gold, D diamond, L lava, B bonus, . empty."
            " A move is UP, DOWN, LEFT or RIGHT. A move against a wall or the border leads nowhere and counts as a"
            f" move. Only the first {question.limit} moves count. {_EARNS[question.rules]}\n\n"
            f"In short: {brief(question)}\n\n{_NOTATION}"
        )

    def prompt(self, question: Maze, m: int = 1) -> str:
        """The maze, its rules, and the form of the reply."""
        check_count(m)
        form = (
            "Write the moves, and nothing else, between <answer> and </answer>, such as <answer>UP UP RIGHT</answer>."
            if m == 1
            else f"Think briefly, then give {m} walks that differ in their aims. Write each with a full set of moves"
            f" of its own, between <route_1> and </route_1> to <route_{m}> and </route_{m}>, such as"
            " <route_1>UP UP RIGHT</route_1>. Write only moves inside of the tags."
        )
        return f"{self.task(question)}\n\n{form}\n"

    def parse(self, text: str, m: int = 1, cut: bool = False) -> DomainReply[str]:
        """Walks in `<route_i>` tags, else in `<answer>` tags, else between lines `---`, else one in the whole text.

        Moves are words, capital letters or arrows, or a capital letter with its destination cell, such as `Rc4`.
        Letters may be lower case if the text holds only moves. Other words are ignored and counted. `END` ends a walk.

        Raises:
            ConfigurationError: `m` is below 1.
        """
        check_count(m)
        said = spoken(text)
        for tag in ("route", "answer"):
            if mentions(said, tag):
                return fill(*tagged(said, ChainFormat(kind="tags", tag=tag), m, cut), m, _moves)
        parts = [part for part in _RULE.split(said) if _moves(part)[0]]
        dropped = ["no <route_i> tags: the completion was read without them"] if parts else []
        parts, beyond = taken(parts, m)
        return fill(parts, [*dropped, *beyond], m, _moves)

    def reward(self, question: Maze, answer: str) -> Floats:
        """Completion, gold, diamonds and avoided lava of the walk."""
        return reward(question, walk(question, answer))

    def scalar(self, vector: Floats) -> float:
        """The mean."""
        return float(vector.mean())

    def identity(self, answer: str, vector: Floats) -> Hashable:  # noqa: ARG002 - the shape all domains have
        """The moves."""
        return answer


def _moves(text: str) -> tuple[str | None, str]:
    parts = [part.group() for part in _PART.finditer(_TAG.sub(" ", text))]
    ends = next((place for place, part in enumerate(parts) if part == "END"), len(parts))
    parts = [moves_of([part]) if is_step(part) else part for part in parts[:ends]]
    capitals = [part.upper() for part in parts]
    plain = all(_is_move(part) for part in capitals)
    taken = [
        capital
        for part, capital in zip(parts, capitals, strict=True)
        if capital in _WORDS or _is_move(capital if plain else part)
    ]
    moves = "".join(_WORDS.get(part, part) for part in taken)
    if not moves:
        return None, "the answer holds no move"
    others = len(parts) - len(taken)
    notes = [f"{others} words that are not moves were ignored"] if others else []
    if len(moves) > MAX_WALK:
        notes.append(f"moves after the first {MAX_WALK} were left out")
    return moves[:MAX_WALK], "; ".join(notes)


def _is_move(word: str) -> bool:
    return word in _WORDS or set(word) <= set(MOVES)
