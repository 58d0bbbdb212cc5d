import gzip
import hashlib
import io
import os
import socket
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.errors import ConflictError, StorageError
from service.ports import Bundle
from service.problems import folder as folders
from service.problems.bundle import open_bundle, pack, unpack
from service.problems.folder import Folder, read_folder
from tests.unit.problems.folders import write

NAMES = st.text("abc._-é ", min_size=1, max_size=8).filter(lambda name: name.strip(".") and name == name.strip())
TREES = st.dictionaries(NAMES.map(lambda name: f"d/{name}"), st.binary(max_size=50), max_size=5)


def complaints(root: Path) -> list[str]:
    return read_folder(root)[1]


def test_equal_folders_have_equal_bundles_whatever_their_dates(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {"b.py": "b", "a/c.txt": b"\x00\xff", "z": "1"}
    first = write(tmp_path / "one", files)
    second = write(tmp_path / "two", dict(reversed(files.items())))
    os.utime(second / "b.py", (1, 1))
    bundles = [pack(read_folder(root)[0]) for root in (first, second)]
    assert bundles[0] == bundles[1]


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ({"a": b"1"}, {"a": b"2"}),
        ({"a": b"1"}, {"b": b"1"}),
        ({"a": b"", "b": b""}, {"a": b""}),
        ({"a": b"b-1:x"}, {"a": b"", "b": b"x"}),
    ],
)
def test_different_folders_have_different_hashes(one: dict[str, bytes], two: dict[str, bytes]) -> None:
    assert pack(Folder(files=one)).hash != pack(Folder(files=two)).hash


def test_executable_files_stay_so(tmp_path: Path) -> None:
    root = write(tmp_path / "p", {"run.sh": "x", "data": "y"})
    (root / "run.sh").chmod(0o755)
    bundle = pack(read_folder(root)[0])
    unpack(bundle, tmp_path / "out")
    assert os.access(tmp_path / "out" / "run.sh", os.X_OK)
    assert not (tmp_path / "out" / "data").stat().st_mode & 0o111
    (root / "run.sh").chmod(0o644)
    assert pack(read_folder(root)[0]).hash != bundle.hash


@given(TREES)
def test_a_bundle_opens_to_what_was_packed(files: dict[str, bytes]) -> None:
    folder = Folder(files=files)
    assert open_bundle(pack(folder)).files == dict(sorted(files.items()))


def test_caches_secrets_and_earlier_outputs_are_left_out(tmp_path: Path) -> None:
    root = write(
        tmp_path,
        {
            "keep.py": "", "sub/keep.txt": "", "data.db": "", "pyvenv.cfg": "", ".env": "KEY=1", ".git/config": "",
            "__pycache__/keep.pyc": "", "sub/.cache/x": "", "node_modules/a/b.js": "", "openevolve_output/log": "",
            "env/pyvenv.cfg": "", "env/lib/x.py": "", "evolve.db": "", "evolve.db-wal": "", "keep.py~": "",
        },
    )  # fmt: skip
    folder, wrong = read_folder(root)
    assert wrong == []
    assert list(folder.files) == ["data.db", "keep.py", "pyvenv.cfg", "sub/keep.txt"]


def test_runs_of_other_projects_are_left_out(tmp_path: Path) -> None:
    root = write(
        tmp_path,
        {
            "keep.py": "", "checkpoints/notes.txt": "", "gen_0/cases.json": "",
            "outputs/ada/checkpoints/checkpoint_10/metadata.json": "{}", "outputs/ada/best/best_program.py": "",
            "old/checkpoint_5/programs/a.json": "{}",
            "results_1/programs.sqlite": "", "results_1/gen_0/main.py": "",
            "data/gen_0/case.json": "",
        },
    )  # fmt: skip
    folder, wrong = read_folder(root)
    assert wrong == []
    assert list(folder.files) == ["checkpoints/notes.txt", "data/gen_0/case.json", "gen_0/cases.json", "keep.py"]


def test_of_named_folders_alone_the_content_is_read(tmp_path: Path) -> None:
    root = write(tmp_path, {"a.txt": "", "input/src/b.py": "", "experiments/c": "", "input/experiments/d": ""})
    (root / "experiments" / "link").symlink_to("/etc/passwd")
    folder, wrong = read_folder(root, ["input", "configs"])
    assert (list(folder.files), wrong) == (["a.txt", "input/experiments/d", "input/src/b.py"], [])


def test_link_to_a_file_inside_is_taken_as_the_file(tmp_path: Path) -> None:
    write(tmp_path, {"sub/a.py": "text"})
    (tmp_path / "b.py").symlink_to("sub/a.py")
    folder, wrong = read_folder(tmp_path)
    assert wrong == []
    assert folder.files["b.py"] == b"text"


def _pipe(path: Path) -> None:
    os.mkfifo(path)


def _deep(path: Path) -> None:
    (path / "/".join(["d"] * 40)).mkdir(parents=True)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda path: path.symlink_to("nowhere"), "broken link"),
        (lambda path: path.symlink_to(path), "broken link"),
        (lambda path: path.symlink_to("/etc/passwd"), "a link out of the problem's folder"),
        (lambda path: path.symlink_to("../outside"), "a link out of the problem's folder"),
        (lambda path: path.symlink_to("."), "a link to a folder"),
        (lambda path: path.symlink_to(".env"), "a link to a file that is left out"),
        (_pipe, "neither a file nor a folder"),
        (_deep, "more than 32 folders deep"),
        (lambda path: Path(os.fsdecode(os.fsencode(path) + b"\xff")).write_text(""), "not UTF-8"),
        (lambda path: path.with_name("a\nb").write_text(""), "a control character"),
        (lambda path: path.with_name("a\\b").write_text(""), "a backslash"),
    ],
)
def test_what_cannot_be_taken_along_is_one_sentence(tmp_path: Path, make: object, said: str) -> None:
    root = write(tmp_path, {"outside": "", "p/fine": "", "p/.env": "KEY"}) / "p"
    assert callable(make)
    make(root / "odd")
    found = complaints(root)
    assert len(found) == 1
    assert said in found[0]
    assert found[0].isprintable()


def test_a_socket_is_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("s")
        assert "neither a file nor a folder" in complaints(tmp_path)[0]


def test_huge_sparse_file_is_refused_unread(tmp_path: Path) -> None:
    with (tmp_path / "huge").open("wb") as file:
        file.truncate(1 << 40)
    assert complaints(tmp_path) == [
        "with huge the problem is larger than 64 MB: keep large data out of its folder, and name where it lies"
        " in evaluator.read",
    ]


def test_sum_of_files_is_limited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folders, "MAX_BYTES", 10)
    write(tmp_path, {"a": "x" * 6, "b": "x" * 5})
    assert len(complaints(tmp_path)) == 1


def test_reading_stops_where_too_much_is_wrong(tmp_path: Path) -> None:
    for number in range(100):
        (tmp_path / f"link{number}").symlink_to("nowhere")
    assert len(complaints(tmp_path)) == 20


def test_number_of_files_is_limited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folders, "MAX_FILES", 2)
    write(tmp_path, {"a": "", "b": "", "c": ""})
    assert "more than 2 files" in complaints(tmp_path)[0]


@pytest.mark.parametrize("name", ["absent", "file", "loop", "nul\0", "x" * 300])
def test_no_folder_is_one_sentence(tmp_path: Path, name: str) -> None:
    write(tmp_path, {"file": ""})
    (tmp_path / "loop").symlink_to("loop")
    folder, found = read_folder(tmp_path / name)
    assert not folder.files
    assert len(found) == 1


def test_unreadable_file_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, {"file": ""})

    def refuse(*_: object) -> int:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("service.problems.folder.os.open", refuse)
    assert complaints(tmp_path) == ["file cannot be read (Permission denied): allow it, or move it out of the problem"]


def test_unreadable_folder_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, {"file": "", "sub/file": ""})
    scandir = os.scandir

    def refuse(path: str) -> object:
        if path.endswith("sub"):
            raise PermissionError(13, "Permission denied")
        return scandir(path)

    monkeypatch.setattr("service.problems.folder.os.scandir", refuse)
    assert complaints(tmp_path) == ["the folder sub cannot be read (Permission denied): allow it, or move it away"]


def entries() -> Iterator[tuple[str, tarfile.TarInfo]]:
    for path in ("../out", "/abs", "a/../../out", "a//b", "./a", "", "a/"):
        yield f"path {path!r}", tarfile.TarInfo(path)
    for kind in (tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.DIRTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE):
        entry = tarfile.TarInfo("a")
        entry.type, entry.linkname = kind, "/etc/passwd"
        yield f"type {kind!r}", entry


def bundle_of(*members: tarfile.TarInfo) -> Bundle:
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w:gz") as tar:
        for entry in members:
            tar.addfile(entry, io.BytesIO(b""))
    return Bundle(hash=hashlib.sha256(b"").hexdigest(), content=raw.getvalue())


@pytest.mark.parametrize(("what", "entry"), list(entries()), ids=lambda value: value if isinstance(value, str) else "")
def test_bundle_with_a_trick_writes_nothing(tmp_path: Path, what: str, entry: tarfile.TarInfo) -> None:
    with pytest.raises(StorageError):
        unpack(bundle_of(entry), tmp_path / "target")
    assert list(tmp_path.iterdir()) == []


def test_bundle_with_a_path_twice_is_refused() -> None:
    with pytest.raises(StorageError, match="not a regular file"):
        open_bundle(bundle_of(tarfile.TarInfo("a"), tarfile.TarInfo("a")))


def test_damaged_bundle_is_refused(tmp_path: Path) -> None:
    sound = pack(Folder(files={"a": b"1" * 1000}))
    other = pack(Folder(files={"a": b"2" * 1000}))
    for content in (b"", b"\x1f\x8b", sound.content[:-5], sound.content[:40], other.content, gzip.compress(b"x" * 999)):
        with pytest.raises(StorageError):
            unpack(Bundle(hash=sound.hash, content=content), tmp_path / "target")
    assert list(tmp_path.iterdir()) == []


def test_bundle_that_grows_without_end_is_refused() -> None:
    raw = io.BytesIO()
    with gzip.GzipFile(fileobj=raw, mode="wb", compresslevel=1) as zipped:
        for _ in range(120):
            zipped.write(bytes(1 << 20))
    with pytest.raises(StorageError, match="too large"):
        open_bundle(Bundle(hash="", content=raw.getvalue()))


def test_unpacking_needs_an_empty_folder(tmp_path: Path) -> None:
    bundle = pack(Folder(files={"a": b"1"}))
    unpack(bundle, tmp_path / "new" / "deep")
    with pytest.raises(ConflictError, match="not empty"):
        unpack(bundle, tmp_path / "new")
    with pytest.raises(ConflictError, match="cannot be written"):
        unpack(bundle, tmp_path / "new" / "deep" / "a")


def test_unpacked_folder_packs_to_the_same_bundle(tmp_path: Path) -> None:
    bundle = pack(read_folder(write(tmp_path / "p", {"a/b": "1", "c": "2"}))[0])
    unpack(bundle, tmp_path / "out")
    assert pack(read_folder(tmp_path / "out")[0]) == bundle
