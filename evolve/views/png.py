"""PNGs that may be shown: bounded in pixels, and without the parts that no picture needs."""

import struct

from evolve.views.view_error import ViewError

MAX_PIXELS = 4_000_000
_SIGNATURE = b"\x89PNG\r\n\x1a\n"
# Metadata, colour profiles and animations stay out: some of them unpack to any size.
_KEPT = (b"IHDR", b"PLTE", b"tRNS", b"IDAT", b"IEND")


def checked(content: bytes) -> bytes:
    """The PNG with the chunks that its picture is made of.

    Raises:
        ViewError: it is none, or has more pixels than are shown.
    """
    if not content.startswith(_SIGNATURE):
        raise ViewError("The view's PNG does not begin as a PNG does.")
    kinds: list[bytes] = []
    kept, at = [_SIGNATURE], len(_SIGNATURE)
    while at + 12 <= len(content):
        (length,) = struct.unpack_from(">I", content, at)
        kind, end = content[at + 4 : at + 8], at + 12 + length
        if end > len(content):
            break
        if not kinds:
            _bound(kind, content[at + 8 : end - 4])
        kinds.append(kind)
        if kind in _KEPT:
            kept.append(content[at:end])
        at = end
        if kind == b"IEND":
            break
    if kinds[-1:] != [b"IEND"] or b"IDAT" not in kinds:
        raise ViewError("The view's PNG is cut off.")
    return b"".join(kept)


def _bound(kind: bytes, header: bytes) -> None:
    if kind != b"IHDR" or len(header) != 13:
        raise ViewError("The view's PNG has no header.")
    width, height = struct.unpack_from(">II", header)
    if not 0 < width * height <= MAX_PIXELS:
        raise ViewError(f"The view's PNG has {width} x {height} pixels: up to {MAX_PIXELS:,} are shown.")
