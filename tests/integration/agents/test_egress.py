"""The one way out of an agent's sandbox: to the model server alone, with the key added, and counted."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from evolve.errors import PolicyUnavailable
from evolve.money import Money
from service.sandbox import session
from tests.fakes.openai_server import OpenAIServer, Reply, openai_server
from tests.fakes.tls_server import tls_server
from tests.integration.agents.conftest import SINGLE, Make, asked, proposal

KEY = "sk-key-of-the-agents-4711"
PRICE = {"input": "1", "output": "2"}
# Asks for a completion, prints what came, and leaves the text of it.
ASKING = """
    import json, os, sys, urllib.error, urllib.request

    def ask(path="/chat/completions", **more):
        body = {"model": "fake", "n": 1, "seed": 1, "messages": [{"role": "user", "content": "hello"}], **more}
        headers = {"authorization": "Bearer " + os.environ["OPENAI_API_KEY"], "content-type": "application/json"}
        url = os.environ["OPENAI_BASE_URL"] + path
        request = urllib.request.Request(url, json.dumps(body).encode(), headers)
        try:
            return urllib.request.urlopen(request, timeout=20).read().decode()
        except urllib.error.HTTPError as error:
            return str(error.code) + " " + error.read().decode()
"""


def respond(body: Mapping[str, Any]) -> list[str]:
    return ["x = 2\n"] * body.get("n", 1)


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with openai_server(respond, key=KEY) as running:
        yield running


async def test_the_model_server_is_reached_and_the_key_stays_outside(make: Make, server: OpenAIServer) -> None:
    server.script(Reply(plain=True))
    policy = make(
        ASKING
        + """
    told = json.loads(ask(stream=False))
    open("p.py", "w").write(told["choices"][0]["message"]["content"])
    assert KEY not in json.dumps(dict(os.environ)), "the key is in the environment"
    """.replace("KEY", repr(KEY)),
        base_url=server.url,
        key=KEY,
        price=PRICE,
    )
    answers, completed = await asked(policy, proposal(SINGLE))
    assert len(answers) == 1, completed.completions
    (request,) = [one for one in server.requests if one.path.endswith("/chat/completions")]
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert "evolve" not in request.headers["authorization"]
    assert completed.usage.input > 0
    assert completed.usage.output > 0
    assert isinstance(completed.cost, Money)
    assert KEY not in repr(completed)


async def test_the_tokens_of_a_stream_are_asked_for_and_counted(make: Make, server: OpenAIServer) -> None:
    policy = make(ASKING + '\n    print(ask(stream=True).count("data:"))', base_url=server.url, key=KEY)
    _, completed = await asked(policy, proposal(SINGLE))
    (request,) = [one for one in server.requests if one.path.endswith("/chat/completions")]
    assert request.body["stream_options"] == {"include_usage": True}
    assert completed.usage.output > 0


async def test_a_session_ends_at_its_tokens_and_keeps_what_it_has(make: Make, server: OpenAIServer) -> None:
    policy = make(
        ASKING
        + """
    open("p.py", "w").write("x = 2\\n")
    replies = [ask(stream=False) for _ in range(5)]
    print([reply[:3] for reply in replies])
    print(replies[-1])
    """,
        base_url=server.url,
        key=KEY,
        max_session_tokens=1,
    )
    answers, completed = await asked(policy, proposal(SINGLE))
    assert len(answers) == 1
    assert len([one for one in server.requests if one.path.endswith("/chat/completions")]) == 1
    assert "this session has used its 1 tokens" in completed.completions[0]
    answers, completed = await asked(policy, proposal(SINGLE))
    assert len([one for one in server.requests if one.path.endswith("/chat/completions")]) == 2, "a new one begins at 0"


async def test_a_session_ends_at_its_money(make: Make, server: OpenAIServer) -> None:
    policy = make(
        ASKING + "\n    print(ask(stream=False)[:3], ask(stream=False))",
        base_url=server.url,
        key=KEY,
        price=PRICE,
        max_session_cost="0.000001",
    )
    _, completed = await asked(policy, proposal(SINGLE))
    assert "this session has used its 0.000001 USD" in completed.completions[0]


@pytest.mark.parametrize("path", ["/../admin", "/%2e%2e/admin", "//evil.example/v1", "/chat/completions/../../secrets"])
async def test_nothing_but_the_model_server_is_reached(make: Make, server: OpenAIServer, path: str) -> None:
    policy = make(ASKING + f"\n    print(ask({path!r}))", base_url=server.url, key=KEY)
    _, completed = await asked(policy, proposal(SINGLE))
    assert "403" in completed.completions[0], completed.completions
    assert server.requests == []


@pytest.mark.parametrize(
    ("line", "reply"),
    [
        ("GET http://example.com/v1/x HTTP/1.1", "403"),
        ("CONNECT example.com:443 HTTP/1.1", "403"),
        ("GET /latest/meta-data HTTP/1.1", "403"),
        ("no http at all", ""),
    ],
)
async def test_other_requests_are_refused(make: Make, server: OpenAIServer, line: str, reply: str) -> None:
    source = f"""
        import socket
        with socket.create_connection(("127.0.0.1", 8711), timeout=20) as line:
            line.sendall(({line!r} + "\\r\\nHost: x\\r\\n\\r\\n").encode())
            print("REPLY", line.recv(1000)[9:12].decode(), "END")
    """
    _, completed = await asked(make(source, base_url=server.url, key=KEY), proposal(SINGLE))
    assert f"REPLY {reply} END" in completed.completions[0]
    assert server.requests == []


@pytest.mark.parametrize(
    "source",
    [
        "import socket; socket.create_connection(('192.0.2.1', 80), timeout=5)",
        "import socket; socket.socket(socket.AF_UNIX)",
        "import socket; socket.socket(40, socket.SOCK_STREAM)",
        "import socket; socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)",
        "import socket; socket.getaddrinfo('example.com', 80)",
    ],
)
async def test_a_sandbox_with_a_way_out_has_no_other(make: Make, server: OpenAIServer, source: str) -> None:
    _, completed = await asked(make(source, base_url=server.url, key=KEY), proposal(SINGLE))
    assert completed.dropped[0].reason == "the agent ended with exit status 1, and changed no file of the program"


async def test_the_server_of_the_host_is_not_reached_directly(make: Make, server: OpenAIServer) -> None:
    source = f"import urllib.request; urllib.request.urlopen({server.url + '/models'!r}, timeout=5)"
    _, completed = await asked(make(source, base_url=server.url, key=KEY), proposal(SINGLE))
    assert "Connection refused" in completed.completions[0]
    assert server.requests == []


async def test_a_server_that_is_away_is_a_reply_of_the_proxy(make: Make, server: OpenAIServer) -> None:
    policy = make(ASKING + "\n    print(ask())", base_url="http://127.0.0.1:9/v1", key=KEY)
    _, completed = await asked(policy, proposal(SINGLE))
    assert "502" in completed.completions[0]
    assert json.dumps("the model server cannot be reached: ConnectError")[1:-1] in completed.completions[0]


async def test_a_machine_without_namespaces_says_so(
    make: Make, server: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where user namespaces are closed: nothing else keeps an agent from the network of the host."""
    whole = session._SessionPool._cell
    monkeypatch.setattr(
        session._SessionPool, "_cell", lambda self, number: replace(whole(self, number), namespaces=False)
    )
    policy = make("", base_url=server.url, key=KEY)
    with pytest.raises(PolicyUnavailable, match="network access through a proxy alone needs network namespaces"):
        await policy.check()


async def test_a_named_host_is_reached_by_tls_and_no_other(make: Make, tmp_path: Path) -> None:
    with tls_server(tmp_path) as server:
        policy = make(
            """
    import http.client, os, ssl
    host, port = os.environ["HTTPS_PROXY"].removeprefix("http://").split(":")
    def fetch(name, there):
        trusted = ssl.create_default_context(cadata=CERTIFICATE)
        connection = http.client.HTTPSConnection(host, int(port), context=trusted)
        connection.set_tunnel(name, there)
        connection.request("GET", "/simple")
        return connection.getresponse().read().decode()
    print(fetch("localhost", PORT))
    try:
        fetch("example.org", 443)
    except OSError as error:
        print("refused:", error)
    """.replace("PORT", str(server.port)).replace("CERTIFICATE", repr(server.certificate.read_text())),
            allow_hosts=[f"localhost:{server.port}"],
        )
        _, completed = await asked(policy, proposal(SINGLE))
    assert "a package of /simple" in completed.completions[0], completed.completions
    assert "refused: Tunnel connection failed: 403" in completed.completions[0]
