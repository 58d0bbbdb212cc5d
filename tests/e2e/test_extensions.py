"""Extensions on the command line: modules and packages take part in stored runs; what is missing has a sentence."""

from decimal import Decimal
from pathlib import Path

import pytest

from tests.e2e.evolving import EvolveHere, make_problem
from tests.fakes.plugin import ENTRY_POINTS, MODULE, NAME, VERSION, install, uninstall


@pytest.fixture
def evolve(tmp_path: Path) -> EvolveHere:
    return EvolveHere(tmp_path)


@pytest.fixture
def problem(tmp_path: Path) -> str:
    return str(make_problem(tmp_path / "problem", evaluations=12))


def test_a_package_takes_part_and_a_run_without_it_is_not_resumed(
    evolve: EvolveHere, problem: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    unknown = evolve.said("run", problem, "--set", "selection.greedy=1")
    assert unknown.code == 2
    assert "selection = 'greedy' is unknown: choose one of" in unknown.err
    install(tmp_path, monkeypatch)
    words = ["--set", "selection.greedy=1", "--set", f"archive.kind={MODULE}:Newest", "--set", "strategy=islands"]
    done = evolve.said("run", problem, *words, "--json")
    assert done.code == 0, done.err
    (started,) = [line for line in done.lines if line.get("kind") == "run.started"]
    assert [(one["name"], one["package"], one["version"]) for one in started["extensions"]] == [
        (f"{MODULE}:Newest", "", ""),
        ("greedy", NAME, VERSION),
    ]
    uninstall(monkeypatch)
    gone = evolve.said("run", "--resume", "last", "--evaluations", "20")
    assert gone.code == 2
    assert f"uses the selection greedy of {NAME} {VERSION}, which is not installed here" in gone.err
    assert evolve.said("show", "last").code == 0
    install(tmp_path / "again", monkeypatch)
    again = evolve.said("run", "--resume", "last", "--evaluations", "20", "--json")
    assert again.code == 0, again.err
    assert again.lines[-1]["evaluations"] == 20


def test_what_fails_ends_the_run_with_its_sentence_and_goes_on_when_it_is_mended(
    evolve: EvolveHere, problem: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(tmp_path, monkeypatch)
    failed = evolve.said("run", problem, "--set", f"selection.{MODULE}:Failing=1")
    assert failed.code == 1
    assert f"the selection {MODULE}:Failing failed: ValueError: no luck today" in failed.err + failed.out
    assert "Traceback" not in failed.err + failed.out
    before = evolve.said("show", "last", "--json").lines[0]
    assert (before["state"], before["reason"]) == ("failed", "extension_failed")
    module = tmp_path / NAME / f"{MODULE}.py"
    module.write_text(module.read_text().replace("> 5", "> 10**9"))
    uninstall(monkeypatch)
    install(tmp_path / "mended", monkeypatch, source=module.read_text())
    mended = evolve.said("run", "--resume", "last", "--json")
    assert mended.code == 0, mended.err
    assert mended.lines[-1]["evaluations"] == 12


def test_a_module_that_is_not_there_starts_no_run(evolve: EvolveHere, problem: str) -> None:
    said = evolve.said("run", problem, "--set", "archive.kind=nowhere_at_all:Any")
    assert said.code == 2
    assert "the archive nowhere_at_all:Any is not there: Python finds no module nowhere_at_all" in said.err
    assert evolve.said("runs").out == ""


def test_plugins_are_listed_with_what_is_allowed(
    evolve: EvolveHere, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert evolve.said("plugins").out == "no installed package has extensions\n"
    offered = {**ENTRY_POINTS, "evolve.archives": {"newest": f"{MODULE}:Newest", "top": f"{MODULE}:Newest"}}
    install(tmp_path, monkeypatch, entry_points=offered)
    evolve.environment["EVOLVE_EXTENSIONS__ALLOW"] = f"greedy,gready,{MODULE}:Newest"
    said = evolve.said("plugins")
    assert [line.split()[:4] for line in said.out.splitlines()[1:]] == [
        ["greedy", "selection", NAME, VERSION],
        ["newest", "archive", NAME, VERSION],
        ["top", "archive", NAME, VERSION],
        ["hill_climber", "strategy", NAME, VERSION],
        ["speed_up", "operator", NAME, VERSION],
        ["soon", "stopping", "rule", NAME],
        ["doubler", "policy", "kind", NAME],
        ["awk", "runtime", NAME, VERSION],
    ]
    assert f"several packages use the name: write {MODULE}:Newest" in said.out
    assert said.err == "extensions.allow names gready, but no installed package has it\n"
    found = evolve.said("plugins", "--json").lines[0]
    assert {one["name"]: (one["allowed"], one["usable"]) for one in found["extensions"]} == {
        "greedy": (True, True), "newest": (False, True), "top": (False, False), "hill_climber": (False, True),
        "soon": (False, True), "speed_up": (False, True), "doubler": (False, True), "awk": (False, True),
    }  # fmt: skip
    assert found["not_installed"] == ["gready"]


def test_a_policy_kind_writes_a_run_and_a_run_without_it_is_not_resumed(
    evolve: EvolveHere, problem: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(tmp_path, monkeypatch)
    done = evolve.said("run", problem, "--policy", "doubler", "--param", "factor=3", "--evaluations", "4", "--json")
    assert done.code == 0, done.err
    (started,) = [line for line in done.lines if line.get("kind") == "run.started"]
    assert [(one["kind"], one["name"], one["package"]) for one in started["extensions"]] == [
        ("policy kind", "doubler", NAME)
    ]
    best = evolve.json("show", "last")
    assert best["policies"][0]["kind"] == "doubler"
    assert best["policies"][0]["params"] == {"factor": 3}
    assert "a = 3 * " in evolve.call("best", "last", "-o", "-")
    uninstall(monkeypatch)
    gone = evolve.said("run", "--resume", "last", "--evaluations", "8")
    assert gone.code == 2
    assert f"uses the policy kind doubler of {NAME} {VERSION}, which is not installed here" in gone.err


def test_a_policy_kind_is_named_as_a_module_and_its_failure_ends_the_run(
    evolve: EvolveHere, problem: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(tmp_path, monkeypatch)
    failed = evolve.said("run", problem, "--policy", f"{MODULE}:Mute")
    assert failed.code == 1
    assert f"the policy kind {MODULE}:Mute failed: ValueError: no luck today" in failed.err + failed.out
    assert "Traceback" not in failed.err + failed.out
    said = evolve.said("run", problem, "--policy", f"{MODULE}:Nobody")
    assert said.code == 2
    assert f"the policy kind {MODULE}:Nobody is not there: the module {MODULE} has no Nobody" in said.err


def test_a_runtime_of_a_package_runs_programs(
    evolve: EvolveHere, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(tmp_path, monkeypatch)
    folder = make_problem(tmp_path / "squares", evaluations=3)
    (folder / "program.py").rename(folder / "program.awk")
    (folder / "program.awk").write_text("{ print $1 * 2.5 }\n")
    text = (folder / "problem.toml").read_text().replace("program.py", "program.awk")
    (folder / "problem.toml").write_text(text.replace('entry = "give"', 'runtime = "awk"'))
    (folder / "evaluator.py").write_text(
        "def inputs(): return [4]\ndef score(outputs, program): return {'value': outputs[0]['value']}\n"
    )
    done = evolve.said("run", str(folder), "--json")
    assert done.code == 0, done.err
    (started,) = [line for line in done.lines if line.get("kind") == "run.started"]
    assert [(one["kind"], one["name"]) for one in started["extensions"]] == [("runtime", "awk")]
    assert evolve.json("show", "last")["best_fitness"] >= 10.0
    uninstall(monkeypatch)
    unknown = evolve.said("run", str(folder))
    assert unknown.code == 8
    assert "the runtime 'awk' is not known: name one of bash, c, cpp" in unknown.err


def test_the_price_of_a_policy_of_a_users_kind_is_what_its_run_costs(
    evolve: EvolveHere, problem: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(tmp_path, monkeypatch)
    policies = tmp_path / "policies.toml"
    policies.write_text(
        '[[policies]]\nname = "mine"\nkind = "doubler"\nprice = { input = "2", output = "4", currency = "EUR" }\n'
    )
    evolve.call("run", problem, "--policy", str(policies), "--evaluations", "3")
    run = evolve.json("show", "last")
    asked = run["counters"]["proposals"]
    # 1,000 tokens at 2 EUR and 500 tokens at 4 EUR a million: 0.004 EUR for each proposal
    amount, currency = run["counters"]["cost"].split()
    assert (Decimal(amount), currency) == (asked * Decimal("0.004"), "EUR")
    assert asked > 0


def test_a_policy_of_a_users_kind_is_checked_and_its_recommended_file_is_read(
    evolve: EvolveHere, problem: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(tmp_path, monkeypatch)
    file = tmp_path / "recommended.toml"
    said = evolve.said("policy", "check", problem, "--policy", "doubler", "-o", str(file))
    assert said.code == 0, said.err
    assert "the policy is ready to use" in said.out + said.err
    assert 'kind = "doubler"' in file.read_text()
    evolve.call("run", problem, "--policy", str(file), "--evaluations", "2")
