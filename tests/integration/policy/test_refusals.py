"""Servers that refuse what others take: the policy learns from the refusal, says so once, and goes on."""

from dataclasses import replace

import pytest

from evolve.errors import PolicyRefused
from evolve.proposal import Answer, CompletedReply, Message, Prompt, Proposal
from service.policy.tokens import Count
from tests.fakes.openai_server import OpenAIServer, chain
from tests.fakes.refusing import KINDS
from tests.integration.policy.conftest import Make, build_prompt, proposal


def with_system(proposal: Proposal, *, count: Count, context_tokens: int) -> Prompt:
    prompt = build_prompt(proposal, count=count, context_tokens=context_tokens)
    return replace(prompt, messages=(Message(role="system", parts=("You improve programs.",)), *prompt.messages))


@pytest.fixture
def refused(server: OpenAIServer, request: pytest.FixtureRequest) -> OpenAIServer:
    server.refuse = KINDS[request.param].refuse
    server.respond = lambda body: [chain(f"x = {body.get('seed', 1)}{place}") for place in range(body.get("n", 1))]
    return server


@pytest.mark.parametrize(("refused", "name"), [(name, name) for name in KINDS], indirect=["refused"])
async def test_a_policy_learns_what_its_server_refuses_and_goes_on(
    refused: OpenAIServer, make: Make, name: str
) -> None:
    kind, policy = KINDS[name], make(max_tokens=1024, temperature=0.7, build=with_system)
    for _ in range(2):
        got = [reply async for reply in policy.propose(proposal())]
        assert len([reply for reply in got if isinstance(reply, Answer)]) == 2
        assert isinstance(got[-1], CompletedReply)
    assert tuple((notice.parameter, notice.action) for notice in policy.notices()) == kind.learnt
    assert policy.notices() == ()
    accepted = [request.body for request in refused.chats if kind.refuse(request.body) is None]
    assert len(refused.chats) - len(accepted) <= len(kind.learnt)
    for body in accepted:
        assert set(kind.given) <= body.keys()
        assert not set(kind.missing) & body.keys()


@pytest.mark.parametrize("refused", ["gemma"], indirect=True)
async def test_the_system_message_is_said_to_a_server_that_has_no_such_role(refused: OpenAIServer, make: Make) -> None:
    async for _ in make(build=with_system).propose(proposal()):
        pass
    before, after = refused.chats[0].body["messages"], refused.chats[-1].body["messages"]
    assert {message["role"] for message in before} == {"system", "user"}
    (only,) = after
    assert only["role"] == "user"
    assert all(message["content"] in only["content"] for message in before)


async def test_a_second_refusal_of_the_same_kind_is_final(server: OpenAIServer, make: Make) -> None:
    said = "Unsupported parameter: 'seed' is not supported with this model."
    server.refuse = lambda _: (400, {"error": {"message": said, "param": "seed"}})
    with pytest.raises(PolicyRefused, match="'seed' is not supported"):
        async for _ in make().propose(proposal()):
            pass
    assert ["seed" in request.body for request in server.chats] == [True, False]


async def test_a_refusal_that_names_nothing_is_final_at_once(server: OpenAIServer, make: Make) -> None:
    server.refuse = lambda _: (400, {"error": {"message": "Your request was flagged by our content policy."}})
    with pytest.raises(PolicyRefused, match="content policy"):
        async for _ in make().propose(proposal()):
            pass
    assert len(server.chats) == 1
