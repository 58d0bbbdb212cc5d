"""Chat templates: messages in, the text that a model reads out, as the libraries of the field render it."""

import json
from collections.abc import Mapping, Sequence
from typing import NoReturn

import jinja2
import jinja2.ext
import jinja2.nodes
import jinja2.parser
from jinja2.sandbox import ImmutableSandboxedEnvironment

from service.errors import UsageError

# What an expression of a template may end in, besides the errors of the template language.
_FAILURES = (jinja2.TemplateError, ArithmeticError, LookupError, TypeError, ValueError, AttributeError, RecursionError)


class ChatTemplate:
    """A template in the sandbox of its language. It sees only the messages and the names of the special tokens.

    Args:
        source: the template.
        tokens: texts of special tokens by their standard names, such as `bos_token`.

    Raises:
        UsageError: it is not a template.
    """

    def __init__(self, source: str, tokens: Mapping[str, str]) -> None:
        environment = ImmutableSandboxedEnvironment(
            trim_blocks=True, lstrip_blocks=True, extensions=[_Generation, jinja2.ext.loopcontrols], autoescape=False
        )
        environment.filters["tojson"] = _to_json
        environment.globals["raise_exception"] = _refuse
        self._tokens = dict(tokens)
        try:
            self._template = environment.from_string(source)
        except _FAILURES as error:
            raise UsageError(f"its chat template cannot be read: {_said(error)}") from error

    def render(self, messages: Sequence[Mapping[str, str]]) -> str:
        """The text that the model continues.

        Raises:
            UsageError: the template fails, or refuses these messages.
        """
        try:
            return self._template.render(
                messages=[dict(message) for message in messages],
                tools=None,
                documents=None,
                add_generation_prompt=True,
                **self._tokens,
            )
        except _FAILURES as error:
            raise UsageError(f"its chat template fails: {_said(error)}") from error


class _Generation(jinja2.ext.Extension):
    """`{% generation %}`, with which training marks the model's text. Here only its content counts."""

    tags = {"generation"}  # noqa: RUF012 - the base class fixes the form

    def parse(self, parser: jinja2.parser.Parser) -> list[jinja2.nodes.Node]:
        next(parser.stream)
        return parser.parse_statements(("name:endgeneration",), drop_needle=True)


def _to_json(
    value: object,
    ensure_ascii: bool = False,
    indent: int | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,
) -> str:
    # The filter of the language itself escapes what means something in HTML.
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def _refuse(message: object) -> NoReturn:
    raise jinja2.TemplateError(str(message))


def _said(error: BaseException) -> str:
    return " ".join(str(error).split())[:300] or type(error).__name__
