"""`evolve certify` and `evolve verify` on a real run, as on two machines."""

import json
import os
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import service.sandbox.selftest
from evolve.program import Program
from service.errors import CertificateError
from service.problems.catalogue import init_from_catalogue
from service.sandbox.layers import IsolationLevel
from service.usecases.certificates import FORMAT, read_certificate, sealed
from tests.command_line import Said, call_here
from tests.fresh_environment import TOP, make_environment
from tests.repositories import make_problem, make_repository

KEPT = ("PATH", "LANG", "LC_ALL", "VIRTUAL_ENV")


def evolve(home: Path, *words: str) -> Said:
    return call_here(words, {key: os.environ[key] for key in KEPT if key in os.environ} | {"HOME": str(home)})


@pytest.fixture(scope="module")
def certified(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The certificate of a short run, made once."""
    home = tmp_path_factory.mktemp("home")
    init_from_catalogue(home / "points", "distance-ratio-2d-16")
    database = f"sqlite:///{home / 'evolve.db'}"
    said = evolve(home, "run", str(home / "points"), "--evaluations", "20", "--seed", "1", "--db", database, "--json")
    assert said.code == 0, said.err
    said = evolve(home, "certify", "last", "--db", database, "-o", str(home / "winner.json"), "--json")
    assert said.code == 0, said.err
    report = json.loads(said.out)
    assert report["holds"]
    assert [check["name"] for check in report["checks"]] == [
        "regions", "scores", "other seeds", "other seeds", "other seeds", "verifier",
    ]  # fmt: skip
    return home / "winner.json"


def document_of(certificate: Path) -> dict[str, Any]:
    document = json.loads(certificate.read_bytes())
    assert isinstance(document, dict)
    return document


def test_certificate_holds_elsewhere_without_the_database_and_tells_what_was_spent(
    certified: Path, tmp_path: Path
) -> None:
    copy = tmp_path / "copied.json"
    copy.write_bytes(certified.read_bytes())
    said = evolve(tmp_path, "verify", str(copy))
    assert said.code == 0, said.err
    assert "the certificate holds: distance-ratio-2d-16" in said.err
    document = document_of(copy)
    assert document["digest"] in said.err
    assert document["run"]["counters"]["evaluations"] == 20
    assert document["run"]["counters"]["cost"] == "0"
    assert document["run"]["active_seconds"] > 0
    assert document["lineage"][0]["operator"] == "seed"
    assert document["lineage"][-1]["program_id"] == document["program"]["id"]
    assert {"evolve", "python", "machine"} <= document["versions"].keys()


def test_certificate_holds_in_the_sandbox_of_an_environment_made_anew(certified: Path, tmp_path: Path) -> None:
    program = make_environment(tmp_path / "fresh")
    home = tmp_path / "stranger"
    home.mkdir()
    copy = home / "copied.json"
    copy.write_bytes(certified.read_bytes())
    environment = {"HOME": str(home), "PATH": os.defpath}

    def call(*words: str | Path) -> subprocess.CompletedProcess[str]:
        return subprocess.run(words, cwd=home, env=environment, capture_output=True, text=True, check=False)

    where = "import evolve, importlib.util as u, sys; print(evolve.__file__, u.find_spec('pytest'), *sys.path)"
    found = call(program.with_name("python"), "-c", where)
    assert found.stdout.startswith(f"{tmp_path / 'fresh'}{os.sep}"), found.stderr
    assert " None " in found.stdout
    assert str(TOP) not in found.stdout
    said = call(program, "verify", copy)
    assert said.returncode == 0, said.stderr
    assert f"the certificate holds: distance-ratio-2d-16, digest {document_of(copy)['digest']}" in said.stderr
    document = document_of(copy)
    better(document)
    copy.write_bytes(sealed(document))
    refused = call(program, "verify", copy)
    assert refused.returncode == 1
    assert "scores: squared_ratio is" in refused.stderr


def test_run_and_its_report_name_the_certificate_by_its_digest(certified: Path, tmp_path: Path) -> None:
    digest, database = document_of(certified)["digest"], f"sqlite:///{certified.parent / 'evolve.db'}"
    shown = evolve(certified.parent, "runs", "--json", "--db", database)
    assert json.loads(shown.out)["labels"]["certificate"] == digest
    report = tmp_path / "report.html"
    assert evolve(certified.parent, "report", "last", "--db", database, "-o", str(report)).code == 0
    assert f"Certificate: <code>{digest}</code>" in report.read_text()


def test_a_changed_byte_is_found_wherever_it_stands(certified: Path) -> None:
    content = certified.read_bytes()
    for place in range(0, len(content), 97):
        changed = bytearray(content)
        changed[place] ^= 1
        with pytest.raises(CertificateError):
            read_certificate(bytes(changed), "winner.json")
    for changed_length in (content + b"\n", content[:-1], content.replace(b"\n ", b"\n  ", 1)):
        with pytest.raises(CertificateError):
            read_certificate(changed_length, "winner.json")


def better(document: dict[str, Any]) -> None:
    document["claims"]["scores"]["squared_ratio"] = 12.0


def other_program(document: dict[str, Any]) -> None:
    (path,) = document["program"]["files"]
    document["program"]["files"][path] += "\n"


def other_scorer(document: dict[str, Any]) -> None:
    document["problem"]["files"]["evaluator.py"]["text"] += "\n"


def without_claims(document: dict[str, Any]) -> None:
    del document["claims"]["scores"]


def no_number(document: dict[str, Any]) -> None:
    document["claims"]["scores"]["squared_ratio"] = "nan"


def no_claim(document: dict[str, Any]) -> None:
    document["claims"]["scores"] = {}


def other_line(document: dict[str, Any]) -> None:
    document["lineage"][-1]["program_id"] = "pgm_" + "0" * 32


@pytest.mark.parametrize(
    ("forge", "sentence"),
    [
        (no_number, "lacks a part of a certificate, or has it in another form"),
        (no_claim, "scores: no claim of squared_ratio"),
        (other_line, "the hash of its problem or program does not match"),
        (better, "scores: squared_ratio is"),
        (other_program, "the hash of its problem or program does not match"),
        (other_scorer, "the hash of evaluator.py does not match its content"),
        (without_claims, "lacks a part of a certificate"),
    ],
)
def test_a_forged_certificate_with_a_new_digest_is_refused(
    certified: Path, tmp_path: Path, forge: Callable[[dict[str, Any]], None], sentence: str
) -> None:
    document = document_of(certified)
    forge(document)
    forged = tmp_path / "forged.json"
    forged.write_bytes(sealed(document))
    said = evolve(tmp_path, "verify", str(forged))
    assert said.code == 1
    assert sentence in said.err
    assert len(said.err.strip().splitlines()) == 1


def test_a_certificate_of_others_needs_the_isolation_of_others(
    certified: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One's own runs are content with less, and a scorer in a file from elsewhere is not one's own."""
    weak = IsolationLevel.WEAK
    whole = service.sandbox.selftest.judge

    async def judged(*given: Any) -> Any:
        return replace(await whole(*given), level=weak)

    monkeypatch.setattr(service.sandbox.selftest, "judge", judged)
    said = evolve(tmp_path, "verify", str(certified))
    assert said.code == 4, said.err
    assert "weak" in said.err
    assert evolve(tmp_path, "verify", str(certified), "--require-isolation", "weak").code == 0


def test_a_change_of_a_repository_outside_of_its_mutable_paths_is_found(tmp_path: Path) -> None:
    make_repository(tmp_path / "library")
    make_problem(tmp_path / "problem")
    database = f"sqlite:///{tmp_path / 'evolve.db'}"
    said = evolve(tmp_path, "run", str(tmp_path / "problem"), "--evaluations", "1", "--db", database, "-q")
    assert said.code == 0, said.err
    certificate = tmp_path / "winner.json"
    said = evolve(tmp_path, "certify", "last", "--db", database, "-o", str(certificate))
    assert said.code == 0, said.err
    assert evolve(tmp_path, "verify", str(certificate)).code == 0
    document = document_of(certificate)
    document["program"]["files"]["sitecustomize.py"] = "UNSEEN = 1\n"
    document["program"]["id"] = Program.of(document["program"]["files"]).id
    document["lineage"][-1]["program_id"] = document["program"]["id"]
    certificate.write_bytes(sealed(document))
    said = evolve(tmp_path, "verify", str(certificate))
    assert said.code == 1
    assert "regions: sitecustomize.py may not change" in said.err


def test_lists_of_any_depth_are_no_certificate() -> None:
    for depth in range(50, 2000, 50):
        deep = f'{{"format": "{FORMAT}", "schema": 1, "run": ' + "[" * depth + "]" * depth + "}"
        with pytest.raises(CertificateError):
            read_certificate(deep.encode(), "winner.json")


def test_what_is_not_a_certificate_is_named(tmp_path: Path) -> None:
    (tmp_path / "text.json").write_text("no JSON")
    (tmp_path / "other.json").write_text("{}")
    cases: Mapping[str, tuple[int, str]] = {
        "text.json": (1, "is not JSON"),
        "other.json": (1, "make one with evolve certify"),
        "absent.json": (3, "no such file"),
    }
    for name, (code, sentence) in cases.items():
        said = evolve(tmp_path, "verify", str(tmp_path / name))
        assert (said.code, sentence in said.err) == (code, True)


def test_a_winner_on_which_scorer_and_verifier_disagree_is_not_certified(tmp_path: Path) -> None:
    folder = tmp_path / "points"
    init_from_catalogue(folder, "distance-ratio-2d-16")
    verifier = (folder / "verify.py").read_text()
    (folder / "verify.py").write_text(verifier + (
        "\n\nexact = score\n\n\ndef score(outputs, program):\n"
        '    return {"squared_ratio": exact(outputs, program)["squared_ratio"] + 1e-9}\n'
    ))  # fmt: skip
    database = f"sqlite:///{tmp_path / 'evolve.db'}"
    assert evolve(tmp_path, "run", str(folder), "--evaluations", "1", "--db", database, "-q").code == 0
    output = tmp_path / "winner.json"
    said = evolve(tmp_path, "certify", "last", "--db", database, "-o", str(output))
    assert said.code == 1
    assert "the winner is not certified: verifier: squared_ratio is" in said.err
    assert not output.exists()
