"""Rows of the published data sets as questions of the domains, field by field."""

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from evolve.domains import ToolRL, eureqa, livecodebench, musique, toolrl
from evolve.errors import ProblemError
from service.errors import InvalidProblemError

_METHOD = re.compile(r"^[ \t]*(?:async[ \t]+)?def[ \t]+([A-Za-z_]\w{0,99})[ \t]*\(", re.MULTILINE | re.ASCII)
Row = Mapping[str, Any]

# What is read of a row.
FIELDS: Mapping[str, tuple[str, ...]] = {
    "musique": ("question", "paragraphs", "question_decomposition", "answer", "answer_aliases"),
    "eureqa": ("question", "entity_masks", "entities"),
    "toolrl": ("prompt", "reward_model"),
    "livecodebench": ("question_content", "starter_code", "public_test_cases", "private_test_cases", "metadata"),
}


class _RowError(Exception):
    """An invalid row. Its text continues a sentence that starts with the row's place."""


def read_question(name: str, row: Row, place: str) -> Any:
    """A row of a data set as a question of the domain of that name.

    Args:
        name: musique, eureqa, toolrl or livecodebench.
        row: with the fields of the published data set. Other fields are ignored.
        place: its place, for people.

    Raises:
        InvalidProblemError: the row is not a valid question, in a sentence.
    """
    try:
        return _READERS[name](row)
    except (_RowError, ProblemError) as error:
        raise InvalidProblemError([f"{place}: {error}"]) from error


def _musique(row: Row) -> musique.MusiqueQuestion:
    """`question`, `paragraphs` [{idx, title, paragraph_text}], `question_decomposition` [{paragraph_support_idx}]."""
    paragraphs = _objects(row, "paragraphs")
    places = {_index(one, "idx", "paragraphs", place): place for place, one in enumerate(paragraphs)}
    hops = _objects(row, "question_decomposition")
    support = [_index(hop, "paragraph_support_idx", "question_decomposition", None) for hop in hops]
    lost = [place for place in support if place not in places]
    if lost:
        raise _RowError(f"question_decomposition names the paragraph {lost[0]}, which does not exist")
    return musique.MusiqueQuestion(
        text=_text(row, "question"),
        paragraphs=tuple((_text(one, "title"), _text(one, "paragraph_text")) for one in paragraphs),
        support=tuple(places[place] for place in support),
        answer=_text(row, "answer"),
        aliases=tuple(_texts(row, "answer_aliases")) if row.get("answer_aliases") else (),
    )


def _eureqa(row: Row) -> eureqa.EureqaQuestion:
    """`question` [sentences], `entity_masks` and `entities`, with the first five of each."""
    five = len(eureqa.LETTERS)
    narrative = row.get("question")
    return eureqa.EureqaQuestion(
        narrative=narrative if isinstance(narrative, str) else "\n".join(_texts(row, "question")),
        masks=tuple(_texts(row, "entity_masks")[:five]),
        entities=tuple(_texts(row, "entities")[:five]),
    )


def _toolrl(row: Row) -> toolrl.ToolTask:
    """`prompt` [{role, content}] and `reward_model` {ground_truth}, a reply with the expected calls."""
    turns = _objects(row, "prompt")
    model = row.get("reward_model")
    if not isinstance(model, Mapping):
        raise _RowError("reward_model should be an object with ground_truth")
    wanted = ToolRL().parse(_text(model, "ground_truth"), 1)
    (attempt,), (reason,) = wanted.answers, wanted.reasons
    if attempt is None or reason:
        raise _RowError(f"reward_model.ground_truth is not a readable reply: {reason}")
    said = {role: [_text(turn, "content") for turn in turns if turn.get("role") == role] for role in ("system", "user")}
    if not said["user"]:
        raise _RowError("prompt has no message of the user")
    return toolrl.ToolTask(user="\n\n".join(said["user"]), system="\n\n".join(said["system"]), calls=attempt.calls)


def _livecodebench(row: Row) -> livecodebench.CodingTask:
    """`question_content`, `starter_code`, `public_test_cases`, `private_test_cases` and `metadata`, these as JSON."""
    tests = [*_tests(row, "public_test_cases"), *_tests(row, "private_test_cases")]
    starter = row.get("starter_code") or ""
    if not isinstance(starter, str):
        raise _RowError(f"starter_code should be a text, not {_shown(starter)}")
    metadata = _packed(row, "metadata") if row.get("metadata") else {}
    named = metadata.get("func_name") if isinstance(metadata, Mapping) else None
    found = _METHOD.findall(starter)
    function = named if isinstance(named, str) and named.isidentifier() else found[-1] if found else ""
    if starter and not function:
        raise _RowError("starter_code defines no function, and metadata names none as func_name")
    return livecodebench.CodingTask(
        statement=_text(row, "question_content"),
        tests=livecodebench.choose(tests),
        starter=starter,
        function=function if starter else "",
    )


def _tests(row: Row, name: str) -> list[livecodebench.Test]:
    if not row.get(name):
        return []
    value = _packed(row, name)
    if not isinstance(value, list) or not all(isinstance(test, Mapping) for test in value):
        raise _RowError(f"{name} should be a list of tests, each with input and output")
    return [livecodebench.Test(input=_text(test, "input"), output=_text(test, "output")) for test in value]


def _packed(row: Row, name: str) -> Any:
    """A field with JSON, or JSON as text. Other packed data may run code when it is unpacked."""
    value = row[name]
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        raise _RowError(
            f"{name} is not JSON text: if it is a pickle, which can run code, convert it to JSON with the data set's"
            " own program, or leave it empty"
        ) from None


def _text(row: Row, name: str) -> str:
    value = row.get(name)
    if not isinstance(value, str):
        raise _RowError(f"{name} should be a text, not {_shown(value)}")
    return value


def _texts(row: Row, name: str) -> list[str]:
    value = row.get(name)
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise _RowError(f"{name} should be a list of texts, not {_shown(value)}")
    return value


def _objects(row: Row, name: str) -> list[Row]:
    value = row.get(name)
    if not isinstance(value, list) or not value or not all(isinstance(one, Mapping) for one in value):
        raise _RowError(f"{name} should be a list of objects, not {_shown(value)}")
    return value


def _index(row: Row, name: str, within: str, default: int | None) -> int:
    value = row.get(name, default)
    if not isinstance(value, int) or isinstance(value, bool):
        raise _RowError(f"{within}: {name} should be the number of a paragraph, not {_shown(value)}")
    return value


def _shown(value: object) -> str:
    text = "nothing" if value is None else repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


_READERS: Mapping[str, Callable[[Row], Any]] = {
    "musique": _musique, "eureqa": _eureqa, "toolrl": _toolrl, "livecodebench": _livecodebench,
}  # fmt: skip
