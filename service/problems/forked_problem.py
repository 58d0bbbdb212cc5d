"""A problem that starts from another program: its folder with the program as the only seed."""

from dataclasses import replace

from evolve.problem_formats import FILE
from evolve.program import Program
from service.errors import InvalidProblemError
from service.ports import Bundle
from service.problems.bundle import open_bundle
from service.problems.documents import DocumentError, read_document
from service.problems.folder import Folder
from service.problems.load import LoadedProblem, load_files
from service.problems.population import FOLDER as POPULATION
from service.problems.toml_writer import toml_text

PLACE = "seed-of-fork"


def fork_problem(bundle: Bundle, name: str, seed: Program) -> LoadedProblem:
    """The problem of a stored folder with another program as its only seed.

    Args:
        bundle: the folder.
        name: name of the problem, if its files have none.
        seed: the program to start from.

    Raises:
        StorageError: the bundle is damaged.
        InvalidProblemError: the program cannot be a seed of the problem.
    """
    folder = open_bundle(bundle)
    loaded = load_files(replace(folder, files=_with_seed(folder, seed)), name, "the fork")
    if loaded.problem.seeds != (seed,):
        raise InvalidProblemError([f"the program {seed.id} cannot be the seed of {name}: its files differ"])
    return loaded


def _with_seed(folder: Folder, seed: Program) -> dict[str, bytes]:
    try:
        document = read_document(FILE, folder.files[FILE])
    except DocumentError as error:
        raise InvalidProblemError([str(error)]) from error
    flat = seed.single and "/" not in seed.files[0][0]
    document["seeds"] = [f"{PLACE}/{seed.files[0][0]}" if flat else PLACE]
    earlier = (f"{PLACE}/", f"{POPULATION}/")
    files = {path: content for path, content in folder.files.items() if not path.startswith(earlier)}
    files |= {f"{PLACE}/{path}": text.encode() for path, text in seed.files}
    return files | {FILE: toml_text(document).encode()}
