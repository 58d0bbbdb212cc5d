"""A branch of a git repository with one commit; neither the working tree nor the index is touched."""

import tempfile
from pathlib import Path

from service.errors import ConflictError, UsageError
from service.process.git import git, git_top
from service.usecases.apply_winner import SourceChange

FILE_MODE = "100644"


def require_free_branch(folder: Path, branch: str) -> Path:
    """The top folder of the repository that a folder is in, where a branch can be made.

    Raises:
        UsageError: the folder is in no repository, or there is no git.
        ConflictError: the branch exists, its name is none, or git does not know who commits.
    """
    top = git_top(folder)
    if top is None:
        raise UsageError(f"{folder} is not in a git repository: leave out --branch, or make one with git init")
    git(top, ["check-ref-format", "--branch", branch])
    if git(top, ["for-each-ref", f"refs/heads/{branch}"]).strip():
        raise ConflictError(f"the branch {branch} exists: choose another name")
    try:
        git(top, ["var", "GIT_COMMITTER_IDENT"])
    except ConflictError as error:
        raise ConflictError(
            "git does not know who commits: set your name and address with `git config user.name NAME` and"
            " `git config user.email ADDRESS`"
        ) from error
    return top


def commit_on_branch(top: Path, branch: str, change: SourceChange, message: str, *, force: bool = False) -> str:
    """Make a branch at HEAD with one commit.

    Args:
        top: the top folder of the repository, from `require_free_branch`.
        branch: its name.
        change: paths relative to `top`.
        message: of the commit.
        force: whether files may differ from those of HEAD.

    Returns:
        The id of the commit.

    Raises:
        ConflictError: a file is not committed as it is, or git refuses.
    """
    head = git(top, ["rev-parse", "--verify", "HEAD"]).strip()
    if not force:
        _require_committed(top, change)
    with tempfile.TemporaryDirectory(prefix="evolve-") as scratch:
        own = {"GIT_INDEX_FILE": str(Path(scratch) / "index")}
        git(top, ["read-tree", head], environment=own)
        for path in sorted(change.before.keys() | change.after.keys()):
            text = change.after.get(path)
            if text is None:
                git(top, ["update-index", "--force-remove", "--", path], environment=own)
                continue
            blob = git(top, ["hash-object", "-w", "--stdin", "--path", path], data=text).strip()
            entry = f"{_mode(top, path)},{blob},{path}"
            git(top, ["update-index", "--add", "--cacheinfo", entry], environment=own)
        tree = git(top, ["write-tree"], environment=own).strip()
    commit = git(top, ["commit-tree", tree, "-p", head, "-F", "-"], data=message).strip()
    git(top, ["update-ref", f"refs/heads/{branch}", commit, "0" * len(commit)])
    return commit


def _require_committed(top: Path, change: SourceChange) -> None:
    for path, text in change.before.items():
        try:
            committed = git(top, ["show", f"HEAD:{path}"])
        except ConflictError:
            committed = None
        if committed is None or committed.replace("\r\n", "\n") != text:
            raise ConflictError(f"{path} is not committed as it is: commit it first, or add --force")


def _mode(top: Path, path: str) -> str:
    listed = git(top, ["ls-tree", "-z", "HEAD", "--", path])
    return listed.split(" ", 1)[0] or FILE_MODE
