"""The words of the small maze policies, and the files from which transformers, vLLM and `evolve` read them.

A policy reads the short form of the maze (`evolve.domains.maze.brief`), a parent with its reward vector if there is
one, and the number of walks. It writes walks of steps in `<route_i>` tags. Every word is a token.
"""

import json
from collections.abc import Iterator, Sequence
from itertools import pairwise, takewhile
from pathlib import Path

import numpy as np

from evolve.domains.maze import MOVES, OBJECTIVES, Maze, Rules, brief
from evolve.domains.maze.words import COLUMNS, THINGS
from evolve.multiobjective.scalarization import Floats

MAX_SIDE = 9
MAX_MOVES = 64
MAX_ANSWERS = 8
TAUGHT = (1, 2, 3, 4)  # lengths of chains in the warm start, unless it is told others: policies know no other
_SPARE = 2  # steps beyond the limit that a reply has room for, each walk
SHARES = 8  # rewards are read in eighths

BOS, EOS, PAD, UNKNOWN = "<bos>", "<eos>", "<pad>", "<unk>"
_SPECIAL = (BOS, EOS, PAD, UNKNOWN)
_EQUAL = 1 / len(OBJECTIVES)
_SIDES = range(2, MAX_SIDE + 1)
_CELLS = [f"{column}{row}" for row in range(1, MAX_SIDE + 1) for column in COLUMNS[:MAX_SIDE]]

WORDS: tuple[str, ...] = (
    *_SPECIAL,
    *(f"{thing}:{cell}" for cell in _CELLS for thing in THINGS),
    *(f"{move}{cell}" for cell in _CELLS for move in MOVES),
    *(f"{height}x{width}" for height in _SIDES for width in _SIDES),
    *(str(number) for number in range(1, MAX_MOVES + 1)),
    *Rules,
    *(f"{share}/{SHARES}" for share in range(SHARES + 1)),
    *(f"m{count}" for count in range(1, MAX_ANSWERS + 1)),
    *(f"<{closing}route_{number}>" for number in range(1, MAX_ANSWERS + 1) for closing in ("", "/")),
    "<parent>",
    "</parent>",
)
IDS = {word: number for number, word in enumerate(WORDS)}
_STEPS = frozenset(f"{move}{cell}" for cell in _CELLS for move in MOVES)

# Takes out of the prompt of a run what the policy reads: the line of the maze, the parent as far as it is written in
# steps that count, its scores if all of them are there, and how many answers the form of the reply shows. What others
# wrote stands behind that form, and adds no word that is no step.
CHAT_TEMPLATE = """\
{%- set said = messages[-1]['content'] -%}
{%- set maze = (said.split('\\nIn short: ', 1)[1:] | join).split('\\n', 1)[0].split() -%}
{%- if maze | length < 3 -%}
{{- raise_exception('This policy answers mazes only: the prompt holds no line that begins with "In short: ".') -}}
{%- endif -%}
{%- if maze[0] | length != 3 or maze[0][0] not in 'SIDES' or maze[0][2] not in 'SIDES' -%}
{{- raise_exception('This policy answers mazes of up to SIDExSIDE cells: this one is ' ~ maze[0] ~ '.') -}}
{%- endif -%}
{%- set form = (said.split('\\n# Form of the reply', 1)[1:] | join).split('\\n# ', 1)[0] or said -%}
{%- set parent = said.split('\\n# The parent program')[1:][-1:] | join -%}
{%- set fence = parent.split('```') -%}
{%- set found = namespace(answers=1, steps='', shares='', scores=0) -%}
{%- for number in range(2, ANSWERS + 1) -%}
{%- if '<route_' ~ number ~ '>' in form -%}{%- set found.answers = number -%}{%- endif -%}
{%- endfor -%}
{%- for step in ((fence[1:2] | join).split('\\n', 1)[1:] | join).split()[:maze[1] | int] -%}
{%- if step | length == 3 and step[0] in 'MOVES' and step[1] in 'COLUMNS' and step[2] in 'ROWS' -%}
{%- set found.steps = found.steps ~ ' ' ~ step -%}
{%- endif -%}
{%- endfor -%}
{%- for name in OBJECTIVES -%}
{%- set score = (fence[0].split('\\n- ' ~ name ~ ': ', 1)[1:] | join).split() -%}
{%- if score -%}
{%- set share = [0, [1, score[0] | float] | min] | max -%}
{%- set found.shares = found.shares ~ ' ' ~ ((share * SHARES) | round | int) ~ '/SHARES' -%}
{%- set found.scores = found.scores + 1 -%}
{%- endif -%}
{%- endfor -%}
AIMED{%- set taught = TAUGHT | select('ge', found.answers) | list -%}
{%- set shown = found.steps and found.scores == OBJECTIVES | length -%}
{{- '<bos> ' ~ maze | join(' ') ~ (' <parent>' ~ found.steps ~ ' </parent>' ~ found.shares if shown else '') -}}
AIM{{- ' m' ~ (taught or TAUGHT)[0 if taught else -1] ~ ' ' -}}
"""

# Of a goal-conditioned policy: the weights that the prompt names, equal ones if it names none. A search writes them
# behind the weights' own sentence, a data set behind its own.
_AIMED = """\
{%- set named = (said.split('one that matters most first: ')[1:][-1:] | join).split('. ', 1)[0] -%}
{%- set named = named or (said.split('\\nWeights of the objectives: ')[1:][-1:] | join).split('.\\n', 1)[0] -%}
{%- set aim = namespace(shares='', count=0) -%}
{%- for name in OBJECTIVES -%}
{%- set weight = ((', ' ~ named).split(', ' ~ name ~ ' ', 1)[1:] | join).split(',', 1)[0] -%}
{%- if weight -%}
{%- set share = [0, [1, weight | float] | min] | max -%}
{%- set aim.shares = aim.shares ~ ' ' ~ ((share * SHARES) | round | int) ~ '/SHARES' -%}
{%- set aim.count = aim.count + 1 -%}
{%- endif -%}
{%- endfor -%}
"""
_AIM = """\
{{- aim.shares if aim.count == OBJECTIVES | length else ' EQUAL' * (OBJECTIVES | length) -}}
"""


def parts_of(word: str) -> tuple[str, ...]:
    """The parts of a word for its initial embedding: its meaning, its column and its row, or else the word itself."""
    if word.endswith(tuple(_CELLS)) and word not in _SPECIAL:
        return word[:-2], word[-2], word[-1]
    return (word,)


def prompt_words(
    maze: Maze,
    answers: int,
    parent: Sequence[str] = (),
    rewards: Floats | None = None,
    goal: Floats | None = None,
) -> list[str]:
    """The input of a policy: the maze, a parent with its rewards (4,) if there is one, and the number of walks.

    Only the counting steps of a parent are shown. A goal, weights of the objectives (4,) of a goal-conditioned policy,
    stands before the number of walks.
    """
    counting = parent[: maze.limit]
    shown = (
        ["<parent>", *counting, "</parent>", *(share_word(reward) for reward in rewards)] if rewards is not None else []
    )
    aimed = [] if goal is None else [share_word(weight) for weight in goal]
    return [BOS, *brief(maze).split(), *shown, *aimed, f"m{answers}"]


def share_word(reward: float) -> str:
    """A reward of 0 to 1 in eighths, rounded to even at ties (as Python and Jinja round)."""
    return f"{int(np.rint(reward * SHARES))}/{SHARES}"


def answer_words(walks: Sequence[Sequence[str]]) -> list[str]:
    """The output of a policy: each walk in its numbered tags, then the end."""
    tagged = [[f"<route_{number}>", *walk, f"</route_{number}>"] for number, walk in enumerate(walks, start=1)]
    return [word for words in tagged for word in words] + [EOS]


def max_reply(asked: Sequence[Maze], answers: int) -> int:
    """The token limit for a number of walks through given mazes, with their tags, some additional steps, and the end.

    Without the additional steps, a walk that is too long would cost the chain its last answer.
    """
    return answers * (max(maze.limit for maze in asked) + 2 + _SPARE) + 1


def in_form(ids: Sequence[int], m: int) -> Sequence[int]:
    """The complete answers at the start of a reply in the form of the warm start.

    An answer is numbered in order, holds only steps, and is followed by the next answer or by the end.
    """
    words = [WORDS[number] for number in ids]
    kept = 0
    for number in range(1, m + 1):
        opened, closed, further = f"<route_{number}>", f"</route_{number}>", f"<route_{number + 1}>"
        closing = kept + 1 + sum(1 for _ in takewhile(_STEPS.__contains__, words[kept + 1 :]))
        ways_on = [[closed, EOS], [closed, further]][: 1 + (number < m)]
        if words[kept : kept + 1] != [opened] or words[closing : closing + 2] not in ways_on:
            break
        kept = closing + 1
    return ids[:kept]


def answer_places(ids: Sequence[int], m: int) -> Iterator[tuple[int, int, int]]:
    """Where the answers of a reply stand, from the opening tag to the closing one: (answer, start, end), from 0."""
    end = len(in_form(ids, m))
    opened = {IDS[f"<route_{number}>"] for number in range(1, m + 1)}
    starts = [place for place, word in enumerate(ids[:end]) if word in opened]
    for answer, (start, stop) in enumerate(pairwise([*starts, end])):
        yield answer, start, stop


def encode(words: Sequence[str]) -> list[int]:
    """Token ids. A word outside of `WORDS` is unknown."""
    unknown = IDS[UNKNOWN]
    return [IDS.get(word, unknown) for word in words]


def decode(ids: Sequence[int]) -> str:
    """The text of token ids, without special words."""
    return " ".join(WORDS[number] for number in ids if number >= len(_SPECIAL))


def chat_template(*, goals: bool = False, taught: Sequence[int] = TAUGHT) -> str:
    """The chat template of the policies.

    Args:
        goals: that of goal-conditioned ones, which read weights.
        taught: lengths of chains that the policy knows.
    """
    sides = "".join(map(str, _SIDES))
    filled = {"OBJECTIVES": str(list(OBJECTIVES)), "SHARES": str(SHARES), "ANSWERS + 1": str(MAX_ANSWERS + 1)}
    filled |= {"SIDES": sides, "SIDE": str(MAX_SIDE), "MOVES": MOVES, "COLUMNS": COLUMNS[:MAX_SIDE]}
    filled |= {"ROWS": "".join(map(str, range(1, MAX_SIDE + 1)))}
    filled |= {"TAUGHT": str(list(taught))}
    filled = {"AIMED": _AIMED if goals else "", "AIM": _AIM if goals else "", "EQUAL": share_word(_EQUAL), **filled}
    text = CHAT_TEMPLATE
    for name, value in filled.items():
        text = text.replace(name, value)
    return text


def write_tokenizer(folder: Path, *, goals: bool = False, taught: Sequence[int] = TAUGHT) -> None:
    """Write `tokenizer.json` and `tokenizer_config.json`, which transformers and vLLM read."""
    added = [
        {"id": IDS[word], "content": word, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
        | {"special": True}
        for word in _SPECIAL
    ]
    tokenizer = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": added,
        "normalizer": None,
        "pre_tokenizer": {"type": "WhitespaceSplit"},
        "post_processor": None,
        "decoder": None,
        "model": {"type": "WordLevel", "vocab": IDS, "unk_token": UNKNOWN},
    }
    configuration = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "bos_token": BOS,
        "eos_token": EOS,
        "pad_token": PAD,
        "unk_token": UNKNOWN,
        "clean_up_tokenization_spaces": False,
        "model_max_length": 1024,
        "chat_template": chat_template(goals=goals, taught=taught),
    }
    for name, value in (("tokenizer.json", tokenizer), ("tokenizer_config.json", configuration)):
        (folder / name).write_text(json.dumps(value, indent=1) + "\n", encoding="utf-8")
