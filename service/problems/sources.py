"""Source files of a problem's folder: seed programs, their language, and the functions of an evaluator."""

import ast
import re
from collections.abc import Mapping
from pathlib import PurePosixPath

from evolve.answers.syntax_trees import syntax_tree
from evolve.errors import ProgramError
from evolve.program import Program
from service.problems.folder import Folder

_LANGUAGES = {
    ".py": "python", ".js": "javascript", ".mjs": "javascript", ".ts": "typescript", ".c": "c", ".h": "c",
    ".cpp": "cpp", ".cc": "cpp", ".cu": "cuda", ".rs": "rust", ".go": "go", ".java": "java", ".jl": "julia", ".r": "r",
    ".rb": "ruby", ".sh": "bash", ".lua": "lua", ".swift": "swift", ".kt": "kotlin", ".cs": "csharp", ".hs": "haskell",
    ".f90": "fortran", ".metal": "metal", ".sql": "sql", ".html": "html", ".tex": "latex",
}  # fmt: skip
_MAX_CHARACTERS = 1_000_000
# Its syntax tree takes some hundred times the memory of the text.
_MAX_EVALUATOR = 256 * 1024


def read_seed(folder: Folder, path: str, complaints: list[str]) -> Program | None:
    """Read a seed: a file, or a folder whose files together are the program. None with a complaint."""
    plain = path.strip("/") if path.endswith("/") else path
    files = {PurePosixPath(plain).name: folder.files[plain]} if plain in folder.files else folder.below(plain)
    if not files or plain in {"", "."}:
        complaints.append(f"the seed {path!r} is neither a file nor a folder with files of this problem")
        return None
    texts = {}
    for name, content in files.items():
        try:
            texts[name] = content.decode()
        except UnicodeDecodeError as error:
            line = content[: error.start].count(b"\n") + 1
            complaints.append(f"the seed {path!r}: {name} is not UTF-8 text (line {line}): save it as UTF-8")
    if len(texts) < len(files):
        return None
    return _program(path, texts, complaints)


def language_of(program: Program) -> str:
    """The language of most of a program's files, by their suffixes. `text` if unknown."""
    found = [_LANGUAGES.get(PurePosixPath(path).suffix.lower(), "text") for path, _ in program.files]
    code = [language for language in found if language != "text"]
    return max(code, key=code.count) if code else "text"


def suffix_of(language: str) -> str:
    """A suffix of files in this language. `.txt` if unknown."""
    return next((suffix for suffix, known in _LANGUAGES.items() if known == language.lower()), ".txt")


def defined_names(source: str) -> set[str] | None:
    """Names that a Python module defines or imports at its top level. None if it may have any (`import *`).

    Raises:
        SyntaxError: the text is not Python, or nested too deeply for the parser.
    """
    try:
        tree = syntax_tree(source)
    except (ValueError, RecursionError, MemoryError) as error:
        raise SyntaxError(str(error) or "it is nested too deeply") from error
    names: set[str] = set()
    for node in _top_level(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            names |= {alias.asname or alias.name.partition(".")[0] for alias in node.names}
        else:
            names |= {
                leaf.id for leaf in ast.walk(node) if isinstance(leaf, ast.Name) and isinstance(leaf.ctx, ast.Store)
            }
    return None if "*" in names else names


def check_evaluator(folder: Folder, path: str, needed: Mapping[str, str], complaints: list[str]) -> str:
    """Text of a Python evaluator that defines the needed functions. Its faults go to the complaints.

    Args:
        folder: the problem's folder.
        path: the evaluator in it.
        needed: for each function the reason for it, as the end of a sentence.
        complaints: receives the complaints.
    """
    if path not in folder.files:
        complaints.append(f"the evaluator {path!r} is missing: put it into the problem's folder")
        return ""
    if len(folder.files[path]) > _MAX_EVALUATOR:
        complaints.append(
            f"the evaluator {path!r} is larger than {_MAX_EVALUATOR >> 10} KB: keep its data in files beside it"
        )
        return ""
    try:
        text = folder.files[path].decode()
        names = defined_names(text)
    except UnicodeDecodeError:
        complaints.append(f"the evaluator {path!r} is not UTF-8 text: save it as UTF-8")
        return ""
    except SyntaxError as error:
        where = f" (line {error.lineno})" if error.lineno else ""
        complaints.append(f"the evaluator {path!r} is not valid Python{where}: {error.msg}")
        return ""
    if names is not None:
        complaints += [
            f"the evaluator {path!r} defines no {name}(): {why}" for name, why in needed.items() if name not in names
        ]
    return text


def stages(source: str, prefix: str) -> int:
    """How many of `prefix1`, `prefix2`, ... an evaluator speaks of, without a gap."""
    named = set(re.findall(rf"\b{prefix}([1-9][0-9]{{0,5}})\b", source))
    count = 0
    while str(count + 1) in named:
        count += 1
    return count


def _top_level(tree: ast.Module) -> list[ast.stmt]:
    """Statements of a module, those under `if`, `try`, `with` and loops included."""
    waiting: list[ast.AST] = list(tree.body)
    found: list[ast.stmt] = []
    while waiting:
        node = waiting.pop()
        nested = isinstance(node, ast.If | ast.Try | ast.With | ast.For | ast.While | ast.ExceptHandler)
        if isinstance(node, ast.stmt):
            found.append(node)
        if nested:
            waiting += [
                child for child in ast.iter_child_nodes(node) if isinstance(child, ast.stmt | ast.ExceptHandler)
            ]
    return found


def _program(path: str, texts: Mapping[str, str], complaints: list[str]) -> Program | None:
    try:
        program = Program.of(texts)
    except ProgramError as error:
        complaints.append(f"the seed {path!r} is not a program: {error}")
        return None
    if program.size > _MAX_CHARACTERS:
        complaints.append(f"the seed {path!r} has more than {_MAX_CHARACTERS} characters: leave its data outside of it")
        return None
    return program
