"""Policy kinds of the product keep the rules that those of users are held to; mistakes break them."""

import sys
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping
from dataclasses import replace
from importlib.util import find_spec
from typing import Any

import pytest

from evolve.extensions import ExtensionKind, Extensions, built_in_names
from evolve.policies import PolicyContext, PolicyKind
from evolve.ports import Policy
from evolve.proposal import Answer, CompletedReply, Proposal, Reply
from evolve.testing import POLICY_RULES, answers_several_at_once, answers_what_was_asked, can_be_left
from service.policy_settings.kind_traits import traits_of
from tests.fakes.openai_server import OpenAIServer, chain, openai_server
from tests.fakes.tiny_llama import write_model

KEY = "sk-of-a-test"
# Edits every file of its folder, each in another way.
AGENT = """
import pathlib
for number, path in enumerate(sorted(pathlib.Path().glob("**/*.py"))):
    path.write_text(path.read_text() + f"\\ny = {number}\\n")
"""


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    def respond(body: Mapping[str, Any]) -> list[str]:
        return [chain(f"x = {number}", "x = 9") for number in range(body["n"])]

    with openai_server(respond, key=KEY) as found:
        yield found


def settings_of(kind: str, request: pytest.FixtureRequest) -> dict[str, Any]:
    """What a policy of a kind cannot do without."""
    if kind in ("openai", "litellm"):
        found: OpenAIServer = request.getfixturevalue("server")
        return {"kind": kind, "base_url": found.url, "model": "openai/fake" if kind == "litellm" else found.models[0]}
    if kind == "bundled":
        return {"kind": kind, "model": str(write_model(request.getfixturevalue("tmp_path") / "tiny")), "max_tokens": 8}
    return {"kind": kind, "command": [sys.executable, "-c", AGENT]} if kind == "agent" else {"kind": kind}


@pytest.mark.parametrize("kind", built_in_names(ExtensionKind.POLICY))
@pytest.mark.parametrize("rule", POLICY_RULES)
def test_policy_kinds(kind: str, rule: Callable[[PolicyKind], None], request: pytest.FixtureRequest) -> None:
    if kind == "litellm" and find_spec("litellm") is None:
        pytest.skip("LiteLLM is not installed")
    found: PolicyKind = Extensions().resolve(ExtensionKind.POLICY, kind)[1]
    needed = settings_of(kind, request)
    acting = traits_of(kind).keys

    def opened(context: PolicyContext) -> Policy:
        given = {name: value for name, value in context.settings.items() if acting is None or name in acting}
        return found(replace(context, settings={**given, **needed}, key=KEY))

    rule(opened)


class Good:
    def __init__(self, context: PolicyContext) -> None:
        self.name = context.name
        self.answers = self.samples = self.concurrency = 2
        self.closed = self.checked = False

    async def check(self) -> None:
        self.checked = True

    async def close(self) -> None:
        self.closed = True

    async def propose(self, proposal: Proposal) -> AsyncGenerator[Reply, None]:
        assert self.checked
        for chain_number in range(min(2, proposal.limit)):
            yield Answer(chain=chain_number, index=0, text=f"x = {proposal.seed + chain_number}")
        yield CompletedReply(completions=("x", "x"))


@pytest.mark.parametrize("rule", POLICY_RULES)
def test_one_that_keeps_the_rules_passes(rule: Callable[[PolicyKind], None]) -> None:
    made: list[Good] = []

    def opened(context: PolicyContext) -> Policy:
        made.append(Good(context))
        return made[-1]

    rule(opened)
    assert made[0].closed


class Talkative(Good):
    async def propose(self, proposal: Proposal) -> AsyncGenerator[Reply, None]:
        for index in range(proposal.limit + 1):
            yield Answer(chain=0, index=index, text="x = 1")
        yield CompletedReply(completions=("x",))


class Endless(Good):
    async def propose(self, proposal: Proposal) -> AsyncGenerator[Reply, None]:
        yield Answer(chain=0, index=0, text="x = 1")


class Late(Good):
    async def propose(self, proposal: Proposal) -> AsyncGenerator[Reply, None]:
        yield CompletedReply(completions=("x",))
        yield Answer(chain=0, index=0, text="x = 1")


class Texts(Good):
    async def propose(self, proposal: Proposal) -> AsyncGenerator[Any, None]:
        yield "x = 1"


class Bytes(Good):
    async def propose(self, proposal: Proposal) -> AsyncGenerator[Any, None]:
        yield Answer(chain=0, index=0, text=b"x = 1")  # type: ignore[arg-type]  # the mistake


class Listed(Good):
    def propose(self, proposal: Proposal) -> Any:
        return [Answer(chain=0, index=0, text="x = 1")]


class Raising(Good):
    async def propose(self, proposal: Proposal) -> AsyncGenerator[Reply, None]:
        if proposal.limit:
            raise ValueError("no luck today")
        yield CompletedReply(completions=())


class Nobody(Good):
    def __init__(self, context: PolicyContext) -> None:
        super().__init__(context)
        self.answers = 0


class Busy(Good):
    asked = 0

    async def propose(self, proposal: Proposal) -> AsyncGenerator[Reply, None]:
        self.asked += 1
        if self.asked > 1:
            raise RuntimeError("one at a time")
        yield Answer(chain=0, index=0, text="x = 1")
        self.asked -= 1
        yield CompletedReply(completions=("x",))


@pytest.mark.parametrize(
    ("rule", "kind", "sentence"),
    [
        (answers_what_was_asked, Talkative, "it gave more than the 1 answers that were asked for"),
        (answers_what_was_asked, Endless, "its last reply is no CompletedReply"),
        (answers_what_was_asked, Late, "a reply came after the CompletedReply"),
        (answers_what_was_asked, Texts, "it replied a value of type str, no Answer"),
        (answers_what_was_asked, Bytes, "an answer is a value of type bytes, not a text"),
        (answers_what_was_asked, Listed, "propose returned a value of type list, not an async generator"),
        (answers_what_was_asked, Raising, "failed: ValueError: no luck today"),
        (answers_what_was_asked, Nobody, "its answers is 0, not a whole number from 1 on"),
        (answers_what_was_asked, object, "could not be made: TypeError"),
        (answers_what_was_asked, lambda _: None, "it made a value of type NoneType, which has no method propose"),
        (answers_what_was_asked, "no kind", "a value of type str cannot be called"),
        (can_be_left, Busy, "one at a time"),
        (answers_several_at_once, Raising, "failed: ValueError: no luck today"),
    ],
)
def test_mistakes_break_a_rule(rule: Callable[[Any], None], kind: Any, sentence: str) -> None:
    with pytest.raises(AssertionError, match=sentence):
        rule(kind)
