"""Labels of a run, as a user writes them: checked by the type that the API holds them to."""

from collections.abc import Mapping, Sequence

from service.errors import UsageError
from service.projections.grouping import NAME

_KEY = "a key is at most 63 lower-case letters, digits, `_`, `.` and `-`, and begins with a letter or digit"
_VALUE = "a value is at most 200 characters without NUL"


def read_labels(name: str | None, words: Sequence[str]) -> dict[str, str]:
    """The labels that the options `--name` and `--label` give.

    Args:
        name: value of the label `name`; None: the run has none.
        words: `KEY=VALUE` each.

    Raises:
        UsageError: a word is not a pair, a key comes twice, or a label does not fit.
    """
    found: dict[str, str] = {}
    for word in words:
        key, separator, value = word.partition("=")
        if not separator:
            raise UsageError(f"--label {word[:60]!r}: write KEY=VALUE, such as --label team=blue")
        if key in found:
            raise UsageError(f"--label {key[:60]!r} is given twice: give each key once")
        found[key] = value
    return named(name, found)


def named(name: str | None, labels: Mapping[str, str]) -> dict[str, str]:
    """Labels with the name of a run, which is the label `name`.

    Raises:
        UsageError: the name is blank, contradicts the label, or a label does not fit.
    """
    own = check_labels(labels)
    if name is None:
        return own
    if not name.strip():
        raise UsageError("the name of the run is blank: give it a word, or leave it out")
    if own.get(NAME, name) != name:
        raise UsageError(f"the run is named {name[:60]!r} and has the label name={own[NAME][:60]!r}: give one of them")
    return check_labels({**own, NAME: name})


def check_labels(labels: Mapping[str, str]) -> dict[str, str]:
    """The labels, where the API would take them.

    Raises:
        UsageError: there are too many, or a key or a value does not fit.
    """
    if not labels:
        return {}
    if not isinstance(labels, Mapping):
        raise UsageError(f"labels are a {type(labels).__name__}: give a mapping of keys to texts")
    from pydantic import TypeAdapter, ValidationError

    from service.schemas.types import MAX_LABELS, Labels  # a command without labels does not wait for its import

    if len(labels) > MAX_LABELS:
        raise UsageError(f"a run has at most {MAX_LABELS} labels, not {len(labels)}")
    try:
        return TypeAdapter(Labels).validate_python(dict(labels), strict=True)
    except ValidationError as error:
        key, *part = error.errors(include_url=False, include_input=False)[0]["loc"]
        rule = _KEY if "[key]" in part else _VALUE
        raise UsageError(f"the label {str(key)[:60]!a} cannot be stored: {rule}") from None
