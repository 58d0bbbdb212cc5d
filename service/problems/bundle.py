"""Bundles: a problem's folder as a reproducible value, and back."""

import gzip
import hashlib
import io
import os
import tarfile
import zlib
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

from service.errors import ConflictError, StorageError
from service.ports import Bundle
from service.problems.folder import MAX_BYTES, MAX_FILES, Folder

# What the headers and paddings of the most files may add to the largest folder.
_MAX_UNPACKED = MAX_BYTES + 4096 * MAX_FILES


def pack(folder: Folder) -> Bundle:
    """Pack a folder. Equal files give an equal hash and equal bytes, with any dates and owners."""
    raw = io.BytesIO()
    with (
        gzip.GzipFile(fileobj=raw, mode="wb", filename="", mtime=0) as zipped,
        tarfile.open(fileobj=zipped, mode="w", format=tarfile.PAX_FORMAT) as tar,
    ):
        for path, content in sorted(folder.files.items()):
            entry = tarfile.TarInfo(path)
            entry.size = len(content)
            entry.mode = 0o755 if path in folder.executable else 0o644
            tar.addfile(entry, io.BytesIO(content))
    return Bundle(hash=_digest(folder.files, folder.executable), content=raw.getvalue())


def unpack(bundle: Bundle, target: Path) -> None:
    """Write a bundle's files into a missing or empty folder.

    Raises:
        StorageError: the bundle is damaged, too large, or holds a path outside of the folder. Nothing was written.
        ConflictError: the folder is not empty, or cannot be written.
    """
    folder = open_bundle(bundle)
    try:
        target.mkdir(parents=True, exist_ok=True)
        if any(target.iterdir()):
            raise ConflictError(f"{target} is not empty: name a new folder")
        for path, content in folder.files.items():
            _write(target / path, content, 0o755 if path in folder.executable else 0o644)
    except OSError as error:
        raise ConflictError(f"the problem cannot be written to {target}: {error.strerror}") from error


def open_bundle(bundle: Bundle) -> Folder:
    """Read a bundle back into a folder in memory.

    Raises:
        StorageError: it is damaged, too large, holds a path outside of the folder, or does not match its hash.
    """
    folder = _read(bundle)
    if _digest(folder.files, folder.executable) != bundle.hash:
        raise StorageError("the stored problem folder does not match its hash: submit the problem again")
    return folder


def _read(bundle: Bundle) -> Folder:
    files: dict[str, bytes] = {}
    executable = set()
    try:
        unzip = zlib.decompressobj(wbits=31)
        content = unzip.decompress(bundle.content, _MAX_UNPACKED)
        if not unzip.eof:
            raise StorageError("the stored problem folder is cut or too large: submit the problem again")
        with tarfile.open(fileobj=io.BytesIO(content), mode="r:") as tar:
            for entry in tar:
                file = tar.extractfile(entry) if entry.isreg() and _plain(entry.name) else None
                if file is None or entry.name in files:
                    raise StorageError(
                        f"the stored problem folder holds the entry {entry.name!r}, which is not a regular file"
                    )
                files[entry.name] = file.read()
                executable |= {entry.name} if entry.mode & 0o100 else set()
    except (zlib.error, tarfile.TarError, ValueError, OSError) as error:
        raise StorageError("the stored problem folder is damaged: submit the problem again") from error
    return Folder(files=files, executable=frozenset(executable))


def _plain(path: str) -> bool:
    pure = PurePosixPath(path)
    return bool(pure.parts) and not pure.is_absolute() and ".." not in pure.parts and str(pure) == path


def _write(path: Path, content: bytes, mode: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, mode)
    with open(descriptor, "wb") as file:
        file.write(content)


def _digest(files: Mapping[str, bytes], executable: frozenset[str]) -> str:
    """SHA-256 over sorted paths and contents, each with its length before it so that no two folders read alike."""
    total = hashlib.sha256()
    for path, content in sorted(files.items()):
        name = path.encode()
        kind = b"x" if path in executable else b"-"
        total.update(b"%d:%s%s%d:" % (len(name), name, kind, len(content)))
        total.update(content)
    return total.hexdigest()
