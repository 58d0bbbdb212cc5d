"""Views for tests: PNGs of a size, and what hostile evaluators draw."""

import base64
import struct
import zlib


def png(width: int = 2, height: int = 2, *extra: tuple[bytes, bytes], idat: bytes | None = None) -> bytes:
    """A grey PNG with more chunks behind its header."""
    rows = zlib.compress(b"".join(b"\x00" + b"\x80" * width for _ in range(height))) if idat is None else idat
    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    chunks = (b"IHDR", header), *extra, (b"IDAT", rows), (b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(kind, body) for kind, body in chunks)


def _chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def address(content: bytes) -> str:
    """A PNG as evaluators give it."""
    return f"data:image/png;base64,{base64.b64encode(content).decode()}"


def bomb(levels: int, fan: int = 10) -> str:
    """An SVG of few elements, of which `fan ** levels` would be drawn."""
    groups = [f'<g id="a0">{"<rect/>" * fan}</g>']
    groups += [f'<g id="a{n}">{f"""<use href="#a{n - 1}"/>""" * fan}</g>' for n in range(1, levels)]
    return f'<svg xmlns="http://www.w3.org/2000/svg"><defs>{"".join(groups)}</defs><use href="#a{levels - 1}"/></svg>'
