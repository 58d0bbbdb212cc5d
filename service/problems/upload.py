"""An uploaded problem folder, read by the same rules as a folder on disk, without touching the disk."""

from collections.abc import Iterator, Set
from dataclasses import replace
from pathlib import PurePosixPath

from service.errors import InvalidProblemError
from service.ports import Upload
from service.problems.command.command_scorer.tree import FOLDER as BASE
from service.problems.command.command_scorer.tree import TREE
from service.problems.documents import storable
from service.problems.folder import LARGE_DATA, MAX_BYTES, MAX_DEPTH, MAX_FILES, Folder, left_out
from service.problems.load import LoadedProblem, load_files

_MAX_COMPLAINTS = 20
_MAX_NAME = 200
_MAX_PATH_BYTES = 1024
_MAX_PART_BYTES = 255
_UNNAMED = "problem"


def load_upload(upload: Upload) -> LoadedProblem:
    """Read a problem from uploaded files. Its name is that of the upload, or else that of its files.

    Raises:
        InvalidProblemError: every complaint about the files, the name and the problem.
    """
    folder, complaints = _read(upload)
    loaded = load_files(folder, upload.name or _UNNAMED, "the upload", complaints)
    name = upload.name or loaded.problem.name
    if complaint := _complain_of_name(name):
        raise InvalidProblemError([complaint])
    return replace(loaded, problem=replace(loaded.problem, name=name))


def _read(upload: Upload) -> tuple[Folder, list[str]]:
    if len(upload.files) > MAX_FILES:
        return Folder(files={}), [f"the problem holds more than {MAX_FILES} files: leave out data that is not needed"]
    if sum(len(content) for content in upload.files.values()) > MAX_BYTES:
        return Folder(files={}), [f"the problem is larger than {MAX_BYTES >> 20} MB: {LARGE_DATA}"]
    complaints = [complaint for path in upload.files if (complaint := _complain(path))]
    environments = {str(PurePosixPath(path).parent) for path in upload.files if path.endswith("/pyvenv.cfg")}
    files = {
        path: content
        for path, content in sorted(upload.files.items())
        if not complaints and not _is_left_out(path, environments)
    }
    complaints += _collisions(files.keys())
    return Folder(files=files, executable=upload.executable.intersection(files)), complaints[:_MAX_COMPLAINTS]


def _complain(path: str) -> str:
    pure = PurePosixPath(path)
    if not storable(path):
        return f"the name {_shown(path)} is not UTF-8: rename the file"
    if "\\" in path or any(ord(letter) < 32 for letter in path):
        return f"the name {_shown(path)} holds a backslash or a control character: rename the file"
    if not pure.parts or pure.is_absolute() or ".." in pure.parts or str(pure) != path:
        return f"the name {_shown(path)} is not a relative path below the problem's folder: write it as data/cases.json"
    if len(path.encode()) > _MAX_PATH_BYTES or any(len(part.encode()) > _MAX_PART_BYTES for part in pure.parts):
        return f"the name {_shown(path)} is too long for a file: shorten it"
    if len(pure.parts) > MAX_DEPTH + 1:
        return f"{_shown(path)} is more than {MAX_DEPTH} folders deep: flatten the problem"
    return ""


def _is_left_out(path: str, environments: Set[str]) -> bool:
    pure = PurePosixPath(path)
    if path.startswith(f"{BASE}/{TREE}/"):  # the files of a commit, whatever their names
        return False
    return any(left_out(part) for part in pure.parts) or any(str(parent) in environments for parent in pure.parents)


def _collisions(paths: Set[str]) -> Iterator[str]:
    folders = {str(parent) for path in paths for parent in PurePosixPath(path).parents}
    for path in sorted(folders & paths):
        yield f"{_shown(path)} is a file and a folder at once: rename one of them"


def _complain_of_name(name: str) -> str:
    if len(name) > _MAX_NAME or not name.isprintable() or not storable(name) or "@" in name or name != name.strip():
        return (
            f"the name {_shown(name)} is not valid: use at most {_MAX_NAME} printable characters without @, which"
            " separates a version"
        )
    return ""


def _shown(text: str) -> str:
    return ascii(text if len(text) <= 100 else f"{text[:100]}...")
