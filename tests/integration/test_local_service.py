"""Commands find the service of their user on this machine, and believe nothing that another could have written."""

import json
import os
import secrets
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from service.api.local_key import LocalKey
from service.client.local_service import announced, find_local_service, forget_ended_service
from service.errors import RefusedError
from service.keys import identity_proof, mint
from service.signer import Signer
from tests.e2e.evolving import Evolve, EvolveHere, make_problem
from tests.patience import PATIENCE_SECONDS

if TYPE_CHECKING:
    import subprocess

DATABASE = "sqlite:////srv/runs.db"
USING = "using your service at "


@pytest.fixture
def evolve(tmp_path: Path) -> Evolve:
    return EvolveHere(tmp_path)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the files of services are, in a data folder of the test."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    return tmp_path / "evolve" / "services"


@contextmanager
def serving(evolve: Evolve, *words: str) -> Iterator[tuple[str, "subprocess.Popen[str]"]]:
    process = evolve.start("serve", "--port", "0", "--slots", "2", "--json", *words)
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line, process.communicate()[1]
        yield json.loads(line)["url"], process
    finally:
        process.kill()
        process.communicate()


def made_key(url: str = "http://127.0.0.1:9") -> LocalKey:
    return LocalKey(url=url, text=mint(Signer("s" * 40)).text)


@pytest.fixture
def left(folder: Path) -> Path:
    """The file of a service that lives, as this process does, and listens nowhere."""
    with announced(DATABASE, made_key()) as reason:
        assert reason == ""
        (path,) = folder.iterdir()
        content = path.read_bytes()
    path.write_bytes(content)
    path.chmod(0o600)
    return path


def test_commands_use_the_service_and_there_is_one_list(evolve: Evolve, tmp_path: Path) -> None:
    toy = make_problem(tmp_path / "toy", evaluations=8)
    local = evolve.lines("run", str(toy), "--json")[-1]["run_id"]
    with serving(evolve) as (url, process):
        said = evolve.said("run", str(toy))
        assert said.code == 0
        assert said.err.splitlines()[0] == f"{USING}{url} (leave it out with --local)"
        assert url in said.out
        said = evolve.said("run", str(toy), "--json")
        assert (said.code, said.err) == (0, "")
        file = tmp_path / "sweep.toml"
        file.write_text('name = "two"\n[sweep]\nproblem = "toy"\nseeds = [1, 2]\n')
        said = evolve.said("batch", str(file))
        assert (said.code, USING in said.err, "Press Ctrl-C to stop waiting" in said.err) == (0, True, True)
        runs = evolve.lines("runs", "--json")
        assert ([run["run_id"] for run in runs][-1], len(runs)) == (local, 5)
        assert [run["source"].startswith("api:") for run in runs] == [True] * 4 + [False]
        assert evolve.lines("runs", "--json", "--local") == evolve.lines("--local", "runs", "--json") == runs
        said = evolve.said("run", str(toy), "--local")
        assert (said.code, USING in said.err, url in said.out) == (0, False, False)
        assert evolve.lines("runs", "--json", "--db", evolve.url)[0]["source"] == str(toy)
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE_SECONDS) == 0
    assert evolve.said("runs").err == ""
    assert list((tmp_path / ".local/share/evolve/services").iterdir()) == []


def test_a_service_that_was_killed_is_told_once_and_left_out(evolve: Evolve, tmp_path: Path) -> None:
    toy = make_problem(tmp_path / "toy", evaluations=8)
    with serving(evolve) as (url, process):
        process.kill()
        process.wait()
        said = evolve.said("runs", "--json")
        assert (said.code, said.out, said.err) == (0, "", "")
        said = evolve.said("run", str(toy))
        assert said.code == 0
        assert said.err.splitlines()[0] == f"your service at {url} was killed: continuing without it"
        assert "was killed" not in evolve.said("run", str(toy)).err
        with serving(evolve) as (again, _):
            assert f"{USING}{again}" in evolve.said("pause", "last").err


def test_what_a_service_does_not_take_is_refused_with_the_way_without_it(evolve: Evolve, tmp_path: Path) -> None:
    toy = make_problem(tmp_path / "toy", evaluations=8)
    with serving(evolve):
        for words in (["--queue", ""], ["--allow-unsandboxed"], ["--policy", "http://127.0.0.1:9/v1", "--model", "m"]):
            said = evolve.said("run", str(toy), *words)
            assert said.code in (2, 4)
            assert said.err.splitlines()[-1].endswith(". Or add --local to leave out your service")
        assert evolve.said("run", str(toy), "--local", "--queue", "").code == 0
        said = evolve.said("run", str(toy), "--local", "--server", "http://127.0.0.1:9")
        assert (said.code, "--local and --server exclude each other" in said.err) == (2, True)


def test_what_was_begun_without_the_service_goes_on_without_it(evolve: Evolve, tmp_path: Path) -> None:
    toy = make_problem(tmp_path / "toy", evaluations=1_000_000)
    file = tmp_path / "sweep.toml"
    file.write_text('name = "two"\n[sweep]\nproblem = "toy"\nseeds = [1, 2]\n')
    interrupted(evolve.start("run", str(toy)), "searching")
    interrupted(evolve.start("batch", str(file)), "at once in this process")
    with serving(evolve):
        run = evolve.lines("runs", "--json")[-1]["run_id"]
        for words in (["run", "--resume", run], ["batch", "last"]):
            said = interrupted(
                evolve.start(*words), "started without the service, so it continues without it", "Ctrl-C"
            )
            assert USING in said
        assert {state["state"] for state in evolve.lines("runs", "--json")} == {"paused"}


def interrupted(process: "subprocess.Popen[str]", *words: str) -> str:
    """What a command says that is asked to stop once it has said some words."""
    assert process.stderr is not None
    said = ""
    for word in words:
        while word not in said:
            line = process.stderr.readline()
            assert line, said
            said += line
    process.send_signal(signal.SIGINT)
    said += process.communicate(timeout=PATIENCE_SECONDS)[1]
    assert process.returncode == 130, said
    return said


def test_a_service_of_another_database_is_not_used(evolve: Evolve, tmp_path: Path) -> None:
    other = f"sqlite:///{tmp_path / 'other.db'}"
    with serving(evolve, "--db", other):
        assert evolve.said("runs").err == "there is no run yet: start one with evolve run PROBLEM\n"
        evolve.environment["EVOLVE_DATABASE__URL"] = f"{tmp_path}/other.db"  # the same, in other words
        assert USING in evolve.said("batches").err


def test_of_two_services_on_one_database_the_first_is_found(evolve: Evolve) -> None:
    with serving(evolve) as (first, _):
        process = evolve.start("serve", "--port", "0")
        assert process.stderr is not None
        said = next(line for line in process.stderr if "commands" in line)
        assert "commands use your other service on this database" in said
        process.terminate()
        process.communicate()
        assert f"{USING}{first}" in evolve.said("batches").err


def test_the_key_opens_the_service_and_nothing_when_it_has_ended(evolve: Evolve, tmp_path: Path) -> None:
    with serving(evolve) as (url, process):
        (path,) = (tmp_path / ".local/share/evolve/services").iterdir()
        assert (path.stat().st_mode & 0o777, path.parent.stat().st_mode & 0o777) == (0o600, 0o700)
        key = json.loads(path.read_text())["key"]
        head = {"Authorization": f"Bearer {key}"}
        assert httpx.get(f"{url}/v1/api-keys", headers=head).json()["items"] == []
        wrong = {"Authorization": f"Bearer {mint(Signer('s' * 40)).text}"}
        assert httpx.get(f"{url}/v1/api-keys", headers=wrong).status_code == 401
        challenge = secrets.token_hex(32)
        answer = httpx.get(f"{url}/identity", params={"challenge": challenge})
        assert answer.json() == {"proof": identity_proof(key, url, challenge)}
        assert key not in answer.text
        process.kill()
        process.wait()
    with serving(evolve) as (url, _):
        assert httpx.get(f"{url}/v1/runs", headers=head).status_code == 401


class Impostor:
    """Somebody who listens where a service was, answers what he likes, and keeps what he is sent."""

    def __init__(self, answer: Callable[[str], Any]) -> None:
        heard: list[str] = []

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                heard.append(f"{self.requestline}\n{self.headers}")
                body = json.dumps(answer(self.path)).encode()
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                return

        self.heard = heard
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"


@pytest.mark.parametrize("answer", [{}, {"proof": "0" * 64}, {"proof": 3}, [], "proof"])
def test_an_impostor_is_not_believed_and_sees_no_key(folder: Path, answer: Any) -> None:
    impostor = Impostor(lambda _: answer)
    key = made_key(impostor.url)
    thread = threading.Thread(target=impostor.server.serve_forever)
    thread.start()
    try:
        with announced(DATABASE, key):
            found = find_local_service(DATABASE)
            forget_ended_service(DATABASE)  # its process lives: this one
            assert find_local_service(DATABASE) is not None
    finally:
        impostor.server.shutdown()
        thread.join()
        impostor.server.server_close()
    assert found is not None
    assert (found.key, found.outage) == ("", f"your service at {impostor.url} does not answer with the right identity")
    assert len(impostor.heard) == 2
    assert not [text for text in impostor.heard if key.text in text or "authorization" in text.lower()]


def test_a_proof_holds_at_one_address_alone(folder: Path) -> None:
    """A service that lives elsewhere is no help to whoever passes challenges on."""
    key = made_key("http://127.0.0.1:1")
    passed_on = Impostor(lambda path: {"proof": key.prove(path.rpartition("=")[2])})
    thread = threading.Thread(target=passed_on.server.serve_forever)
    thread.start()
    try:
        with announced(DATABASE, LocalKey(url=passed_on.url, text=key.text)):
            found = find_local_service(DATABASE)
    finally:
        passed_on.server.shutdown()
        thread.join()
        passed_on.server.server_close()
    assert found is not None
    assert found.outage


def linked(path: Path) -> None:
    path.rename(path.with_suffix(".real"))
    path.symlink_to(path.with_suffix(".real"))


def piped(path: Path) -> None:
    path.unlink()
    os.mkfifo(path, 0o600)


def replaced(**values: Any) -> Callable[[Path], int]:
    return lambda path: path.write_text(json.dumps(json.loads(path.read_text()) | values))


@pytest.mark.parametrize(
    "harm",
    [
        linked,
        piped,
        lambda path: path.chmod(0o644),
        lambda path: path.chmod(0o620),
        lambda path: path.with_suffix(".twin").hardlink_to(path),
        lambda path: path.write_text("{"),
        lambda path: path.write_text("[1]"),
        lambda path: path.write_text(json.dumps({"url": "http://127.0.0.1:9", "pad": "x" * 5000})),
        lambda path: path.write_bytes(b"\xff\x00"),
        replaced(url="http://203.0.113.7:8000"),
        replaced(url="https://evolve.example"),
        replaced(url="http://127.0.0.1:9/?x"),
        replaced(key="short"),
        replaced(key=None),
        replaced(process=7),
        lambda path: path.parent.chmod(0o755),
        lambda path: path.parent.chmod(0o770),
    ],
)
def test_a_file_that_another_could_have_written_is_refused_in_a_sentence(
    left: Path, harm: Callable[[Path], Any]
) -> None:
    harm(left)
    with pytest.raises(RefusedError, match=r"services.*: remove it, or add --local or --server URL$"):
        find_local_service(DATABASE)


@pytest.mark.root
@pytest.mark.parametrize("folder_itself", [False, True])
def test_what_another_user_owns_is_refused(left: Path, folder_itself: bool) -> None:
    os.chown(left.parent if folder_itself else left, 12345, 12345)
    with pytest.raises(RefusedError, match="of yours alone"):
        find_local_service(DATABASE)


def test_a_folder_that_is_a_link_is_refused(left: Path, tmp_path: Path) -> None:
    left.parent.rename(tmp_path / "elsewhere")
    left.parent.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(RefusedError, match="without a link"):
        find_local_service(DATABASE)
    with announced(DATABASE, made_key()) as reason:  # a service serves all the same, and says why it is not found
        assert "without a link" in reason


def test_a_command_ends_with_the_sentence_and_the_words_pass_it_by(evolve: Evolve, tmp_path: Path) -> None:
    with serving(evolve):
        (path,) = (tmp_path / ".local/share/evolve/services").iterdir()
        path.chmod(0o604)
        said = evolve.said("runs")
        assert (said.code, said.out, len(said.err.splitlines())) == (4, "", 1)
        assert "is not a file of yours alone" in said.err
        assert evolve.said("runs", "--local").code == evolve.said("runs", "--db", evolve.url).code == 0
        said = evolve.said("runs", "--json")
        assert json.loads(said.err)["error"]["code"] == "refused"


def test_without_a_service_nothing_is_made_and_nothing_said(folder: Path) -> None:
    assert find_local_service(DATABASE) is None
    assert not folder.exists()
    folder.parent.write_text("no folder")
    assert find_local_service(DATABASE) is None
