"""A real HTTPS server on a loopback port, whose certificate is for localhost."""

import http.server
import ssl
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class TlsServer:
    """Where it is, and the certificate by which clients know it."""

    port: int
    certificate: Path

    @property
    def trusting(self) -> ssl.SSLContext:
        """What a client trusts that knows this server alone."""
        return ssl.create_default_context(cafile=str(self.certificate))


class _Package(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        body = b"a package of " + self.path.encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class names it
        pass


@contextmanager
def tls_server(folder: Path) -> Iterator[TlsServer]:
    """The server, with its certificate in a folder."""
    key, certificate = folder / "tls_key.pem", folder / "tls_certificate.pem"
    words = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"]
    words += ["-addext", "subjectAltName=DNS:localhost", "-keyout", str(key), "-out", str(certificate)]
    subprocess.run(words, check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Package)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield TlsServer(port=server.server_port, certificate=certificate)
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
