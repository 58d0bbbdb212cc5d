"""Certificates are verified against the name that was asked for, though the connection goes to a checked address."""

import http.server
import ssl
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from service.net.transport import PinnedTransport


class Silent(http.server.BaseHTTPRequestHandler):
    """Answers with the host that it was asked for."""

    def do_GET(self) -> None:
        body = self.headers["host"].encode()
        self.send_response(200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class names it
        pass


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    """A certificate for name.example alone, with its key in the same file."""
    file = tmp_path / "name.pem"
    words = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=name.example"]
    words += ["-addext", "subjectAltName=DNS:name.example", "-keyout", str(tmp_path / "key.pem"), "-out", str(file)]
    subprocess.run(words, check=True, capture_output=True)
    file.write_text(file.read_text() + (tmp_path / "key.pem").read_text())
    return file


@pytest.fixture
def tls_port(certificate: Path) -> Iterator[int]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    server = http.server.HTTPServer(("127.0.0.1", 0), Silent)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server.server_port
    server.shutdown()
    server.server_close()
    thread.join()


async def test_a_certificate_is_that_of_the_name_and_not_of_the_address(
    certificate: Path, tls_port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    transport = PinnedTransport(private=True, resolve=lambda *_: ["127.0.0.1"])
    async with httpx.AsyncClient(transport=transport) as client:
        answer = await client.get(f"https://name.example:{tls_port}/")
        assert answer.text == f"name.example:{tls_port}"
        with pytest.raises(httpx.ConnectError, match=r"other\.example"):
            await client.get(f"https://other.example:{tls_port}/")
