"""Policy kinds: what opens a policy that a configuration names, built in or brought by a user."""

from collections.abc import AsyncGenerator, Callable, Iterator, Mapping
from contextlib import aclosing, contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from evolve.errors import ExtensionError, PolicyError
from evolve.extensions import Extension, ExtensionKind, Extensions, built_in_names, guarded
from evolve.money import Money
from evolve.ports import Policy
from evolve.problem import Problem
from evolve.proposal import Answer, CompletedReply, Prompt, Proposal, Reply, Usage


def _unknown(_: Usage) -> Money | None:
    return None


class BuildPrompt(Protocol):
    """Writes the prompt of a proposal, as a model behind a server gets it."""

    def __call__(self, proposal: Proposal, *, count: Callable[[str], int] = ..., context_tokens: int = ...) -> Prompt:
        """Build it; `count` gives the tokens of a text, `context_tokens` is the room for the whole.

        Raises:
            PolicyRefused: the parent does not fit.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyContext:
    """What a policy is opened from.

    Attributes:
        name: the policy's name in records.
        problem: whose programs it changes.
        settings: the keys of the policy that act, such as `answers`, `samples`, `concurrency`, `model` and `params`.
        build_prompt: writes the prompt of a proposal.
        cost: what the tokens of a reply cost by the price in the settings; a reply without a cost of its own gets it.
        key: the API key that the settings name; None: they name none.
        transport: an `httpx` transport that reaches permitted addresses alone; None: every address is permitted.
    """

    name: str
    problem: Problem
    settings: Mapping[str, Any]
    build_prompt: BuildPrompt
    cost: Callable[[Usage], Money | None] = _unknown
    key: str | None = field(default=None, repr=False)
    transport: Any = field(default=None, repr=False)


class PolicyKind(Protocol):
    """Opens policies of a kind: a class, or a function that makes a policy.

    A policy may have `async def check()`, which is awaited before the first proposal, and `async def close()`, which is
    awaited after the last one.
    """

    def __call__(self, context: PolicyContext, /) -> Policy:
        """Open a policy."""


def open_policy(kind: str, context: PolicyContext, extensions: Extensions) -> Policy:
    """The policy of a kind.

    Raises:
        MissingExtensionError, ExtensionError: the kind is an extension that is not there, or makes no policy.
    """
    extension, found = extensions.resolve(ExtensionKind.POLICY, kind)
    if extension.built_in:
        built_in: PolicyKind = found
        return built_in(context)
    return GuardedPolicy(extension, found, context)


def is_free(kind: str) -> bool:
    """Whether the answers of a kind cost nothing; of an extension, its policies' price alone tells that."""
    if kind not in built_in_names(ExtensionKind.POLICY):
        return False
    return bool(Extensions().resolve(ExtensionKind.POLICY, kind)[1].free)


class GuardedPolicy:
    """A policy of an extension, held to the contract of `evolve.ports.Policy`.

    Args:
        extension: names it in errors.
        found: the kind.
        context: what it opens a policy from.

    Raises:
        ExtensionError: it makes no policy.
    """

    def __init__(self, extension: Extension, found: object, context: PolicyContext) -> None:
        self._extension = extension
        self.name, self._cost = context.name, context.cost
        if not callable(found):
            raise self._broken(f"a value of type {type(found).__name__} cannot be called")
        with guarded(extension, "could not be made"):
            self._policy = found(context)
        if not callable(getattr(self._policy, "propose", None)):
            raise self._broken(f"it made a value of type {type(self._policy).__name__}, which has no method propose")
        for attribute in ("answers", "samples", "concurrency"):
            self._count(attribute)

    @property
    def answers(self) -> int:
        """m: answers asked of one chain."""
        return self._count("answers")

    @property
    def samples(self) -> int:
        """n: chains asked of one proposal."""
        return self._count("samples")

    @property
    def concurrency(self) -> int:
        """Proposals it answers at once with profit."""
        return self._count("concurrency")

    async def check(self) -> None:
        """Let it look whether it can answer.

        Raises:
            PolicyUnavailable, PolicyDenied: it cannot.
            ExtensionError: it raised something else.
        """
        if callable(check := getattr(self._policy, "check", None)):
            with self._guarded():
                await check()

    async def close(self) -> None:
        """Let it close what it has opened.

        Raises:
            ExtensionError: it raised something.
        """
        if callable(close := getattr(self._policy, "close", None)):
            with self._guarded():
                await close()

    async def propose(self, proposal: Proposal) -> AsyncGenerator[Reply, None]:
        """Answer a proposal: answers as they complete, at last one `CompletedReply`.

        Raises:
            PolicyError: no answer came.
            ExtensionError: the policy raised something else, or replied what it may not.
        """
        with self._guarded():
            replies = self._policy.propose(proposal)
        if not isinstance(replies, AsyncGenerator):
            raise self._broken(f"propose returned a value of type {type(replies).__name__}, not an async generator")
        answers, completed = 0, False
        async with aclosing(replies):
            while (reply := await self._following(replies)) is not None:
                if completed:
                    raise self._broken("a reply came after the CompletedReply")
                answers += isinstance(reply, Answer)
                completed = isinstance(reply, CompletedReply)
                self._check(reply, answers, proposal.limit)
                yield self._priced(reply)
        if not completed:
            raise self._broken("its last reply is no CompletedReply")

    async def _following(self, replies: AsyncGenerator[Reply, None]) -> Reply | None:
        with self._guarded():
            return await anext(replies, None)

    def _priced(self, reply: Reply) -> Reply:
        if isinstance(reply, CompletedReply) and reply.cost is None:
            return replace(reply, cost=self._cost(reply.usage))
        return reply

    def _check(self, reply: object, answers: int, limit: int) -> None:
        if not isinstance(reply, Answer | CompletedReply):
            raise self._broken(f"it replied a value of type {type(reply).__name__}, no Answer and no CompletedReply")
        if isinstance(reply, Answer) and not isinstance(reply.text, str):
            raise self._broken(f"an answer is a value of type {type(reply.text).__name__}, not a text")
        if answers > limit:
            raise self._broken(f"it gave more than the {limit} answers that were asked for")

    def _count(self, attribute: str) -> int:
        value = getattr(self._policy, attribute, None)
        if not isinstance(value, int) or value < 1:
            raise self._broken(f"its {attribute} is {value!r:.80}, not a whole number from 1 on")
        return value

    @contextmanager
    def _guarded(self) -> Iterator[None]:
        errors: list[PolicyError] = []
        with guarded(self._extension):
            try:
                yield
            except PolicyError as error:  # a word of the contract
                errors.append(error)
        if errors:
            raise errors[0]

    def _broken(self, what: str) -> ExtensionError:
        return ExtensionError(f"{self._extension} breaks the contract of policies: {what}")
