"""`evaluator.read` and `evaluator.path` of a problem of one's own: what they mean, and what they may not open."""

import json
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from evolve.problem import Problem
from evolve.program import Program
from service.bootstrap.evaluators import open_sandbox
from service.bootstrap.runs import check_folder
from service.config import DatabaseSettings, PoliciesSettings, SandboxSettings, Settings
from service.errors import InvalidProblemError, UsageError
from service.problems.load import load_bundle, load_problem
from service.sandbox.read_paths import private_places, with_paths
from tests.unit.problems.folders import NATIVE, native

READS = "import os\ndef solve():\n    return float(open(os.environ['EVOLVE_READ'] + '/number').read())\n"
SCORES = "def score(outputs, program):\n    return {'gain': outputs[0]['value']}\n"


def asking(**keys: list[str]) -> str:
    lines = "".join(f"{key} = {json.dumps(value)}\n" for key, value in keys.items())
    return NATIVE.replace('entry = "solve"\n', f'entry = "solve"\n{lines}')


@pytest.fixture
def place(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder that all may pass: a home, data, a program, and the installation's own things."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        folder.chmod(0o755)
        for path in ("home/data", "home/bin", "home/.config/evolve", "home/.local/share/evolve", "installation"):
            (folder / path).mkdir(parents=True)
        (folder / "home" / "data" / "number").write_text("2.5")
        for file in ("installation/runs.db", "installation/policies.toml", "installation/key"):
            (folder / file).write_text("secret")
        monkeypatch.setenv("HOME", str(folder / "home"))
        monkeypatch.delenv("XDG_DATA_HOME", raising=False)
        monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
        monkeypatch.setenv("EVOLVE_API_KEY_FILE", str(folder / "installation" / "key"))
        yield folder


def settings(place: Path) -> Settings:
    inside = place / "installation"
    return Settings(
        database=DatabaseSettings(url=f"sqlite:///{inside}/runs.db"),
        policies=PoliciesSettings(file=inside / "policies.toml"),
    )


def resolved(place: Path, problem: Problem, sandbox: SandboxSettings | None = None) -> Problem:
    private = private_places(settings(place))
    return with_paths(
        problem, sandbox or SandboxSettings(), private=private, others=False, source=place / "home" / "problem"
    )


@pytest.mark.parametrize("named", ["../home/data", "~/data", "PLACE/home/data", "PLACE/link"])
async def test_a_path_is_relative_to_the_problem_or_to_the_home_and_may_be_a_link(place: Path, named: str) -> None:
    (place / "link").symlink_to(place / "home" / "data")
    document = asking(read=[named.replace("PLACE", str(place))])
    folder = native(place / "problem", document, seed__py=READS, evaluator__py=SCORES)
    report = await check_folder(settings(place), folder)
    assert report.complaints == ()
    assert report.seeds[0].evaluation.scores == {"gain": 2.5}


async def test_a_stored_problem_knows_where_its_relative_paths_lead(place: Path) -> None:
    folder = native(place / "problem", asking(read=["../home/data"]), seed__py=READS, evaluator__py=SCORES)
    loaded = load_problem(folder)
    again = load_bundle(loaded.bundle, "again")
    assert again.problem.evaluator.read == (f"{place}/problem/../home/data",)
    async with open_sandbox(again.problem, again.bundle, SandboxSettings(), slots=1) as evaluator:
        assert (await evaluator.evaluate(Program.of({"seed.py": READS}), "evl_1")).scores == {"gain": 2.5}
    assert load_problem(native(place / "other", asking(read=[str(place)]))).bundle.hash == (
        load_problem(native(place / "same", asking(read=[str(place)]))).bundle.hash
    )


REFUSED = [
    ("/", "holds the home directory as a whole"),
    ("~", "holds the home directory as a whole"),
    ("../..", "holds the home directory as a whole"),
    ("PLACE", "holds the home directory as a whole"),
    ("~/data/..", "holds the home directory as a whole"),
    ("~/data/home", "holds the home directory as a whole"),
    ("~/nothing", "does not exist or cannot be reached"),
    ("~nobody-of-that-name/x", "does not exist or cannot be reached"),
    ("~/data/number/more", "does not exist or cannot be reached"),
    ("~/data/pipe", "is neither a file nor a folder"),
    ("~/a:b", "holds a colon"),
    ("~/a\nb", "holds a colon or a character that cannot be shown"),
    ("~/.config", "would show secrets or data of this installation"),
    ("~/.config/evolve", "would show secrets or data of this installation"),
    ("~/.local/share", "would show secrets or data of this installation"),
    ("~/.local/share/evolve/runs", "would show secrets or data of this installation"),
    ("PLACE/installation", "would show secrets or data of this installation"),
    ("PLACE/installation/runs.db", "would show secrets or data of this installation"),
    ("PLACE/installation/key", "would show secrets or data of this installation"),
    ("/run", "would show secrets or data of this installation"),
    ("/run/secrets", "would show secrets or data of this installation"),
    ("TEMPORARY/evolve-tmp-sandbox-x/held_out", "would show the sandbox's own files"),
    ("/proc/self", "belongs to the kernel"),
    ("/dev/shm", "belongs to the kernel"),
    (".", "holds the problem's own folder"),
]


@pytest.mark.parametrize(("named", "why"), REFUSED)
@pytest.mark.parametrize("key", ["read", "path"])
def test_what_must_stay_closed_is_refused_with_the_key_and_the_reason(
    place: Path, key: str, named: str, why: str
) -> None:
    (place / "home" / "data" / "home").symlink_to(place / "home")
    (place / "home" / "a:b").mkdir()
    os.mkfifo(place / "home" / "data" / "pipe")
    text = named.replace("PLACE", str(place)).replace("TEMPORARY", tempfile.gettempdir())
    problem = load_problem(native(place / "home" / "problem", asking(**{key: [text]}))).problem
    with pytest.raises(InvalidProblemError) as caught:
        resolved(place, problem)
    (complaint,) = caught.value.complaints
    assert complaint.startswith(f"evaluator.{key}: ")
    wanted = "is not a folder of programs" if key == "path" and "neither" in why else why
    assert wanted in complaint


def test_the_place_of_all_sandboxes_stays_closed(tmp_path: Path) -> None:
    problem = load_problem(native(tmp_path, asking(read=[tempfile.gettempdir()]))).problem
    with pytest.raises(InvalidProblemError, match="would show the sandbox's own files"):
        with_paths(problem, SandboxSettings(), private=(), others=False)


def test_every_path_that_cannot_be_opened_is_named_at_once(place: Path) -> None:
    document = asking(read=["/nowhere/a", "~/data"], path=["/nowhere/b", "~/data/number"])
    with pytest.raises(InvalidProblemError) as caught:
        resolved(place, load_problem(native(place / "home" / "problem", document)).problem)
    assert [complaint.split(" ")[1] for complaint in caught.value.complaints] == [
        "'/nowhere/a'",
        "'/nowhere/b'",
        "'~/data/number'",
    ]


def test_the_operator_opens_paths_to_every_problem_behind_the_problems_own(place: Path) -> None:
    sandbox = SandboxSettings(read=(str(place / "home" / "data"),), path=("~/bin",))
    problem = load_problem(native(place / "home" / "problem", asking(path=["~/data"]))).problem
    spec = resolved(place, problem, sandbox).evaluator
    assert spec.read == (f"{place}/home/data",)
    assert spec.path == (f"{place}/home/data", f"{place}/home/bin")
    with pytest.raises(UsageError, match=r"the setting sandbox\.read: '/' holds the home directory"):
        resolved(place, problem, SandboxSettings(read=("/",)))


async def test_a_check_names_a_path_that_does_not_exist(place: Path) -> None:
    with pytest.raises(InvalidProblemError, match=r"evaluator\.read: '/nowhere' does not exist"):
        await check_folder(settings(place), native(place / "problem", asking(read=["/nowhere"])))


async def test_a_check_names_the_key_for_data_that_the_sandbox_does_not_show(place: Path) -> None:
    data = place / "home" / "data" / "number"
    seed = f"def solve():\n    return open({str(data)!r}).read()\n"
    report = await check_folder(settings(place), native(place / "problem", seed__py=seed))
    assert report.complaints[0].endswith(f": the sandbox does not show {data}: add it to evaluator.read")


HIDDEN = """
import os
def score(outputs, program):
    return {"gain": float(open(os.environ["EVOLVE_SCORER_READ"] + "/number").read())}
"""


async def test_a_path_of_the_evaluator_alone_is_relative_to_the_problem_too(place: Path) -> None:
    folder = native(place / "problem", asking(scorer_read=["../home/data"]), evaluator__py=HIDDEN)
    report = await check_folder(settings(place), folder)
    assert report.complaints == ()
    assert report.seeds[0].evaluation.scores == {"gain": 2.5}


@pytest.mark.parametrize(
    ("read", "hidden"),
    [("~/data", "~/data"), ("~/data", "~/data/number"), ("~/data/number", "~/data"), ("~/data", "/usr/share")],
)
async def test_what_programs_see_cannot_be_the_evaluators_alone(place: Path, read: str, hidden: str) -> None:
    folder = native(place / "problem", asking(read=[read], scorer_read=[hidden]))
    with pytest.raises(InvalidProblemError, match=r"evaluator\.scorer_read: programs can read .*: move it out"):
        await check_folder(settings(place), folder)


async def test_a_path_that_may_not_be_opened_is_closed_to_the_evaluator_too(place: Path) -> None:
    with pytest.raises(InvalidProblemError, match=r"evaluator\.scorer_read: .*belongs to the kernel"):
        await check_folder(settings(place), native(place / "problem", asking(scorer_read=["/proc/self"])))
