"""Tunnels of a coding agent to the hosts that its policy names: bytes pass both ways, and TLS is not opened."""

import asyncio
import contextlib
from collections.abc import Sequence

from service.errors import UnreachableError
from service.net.address import is_own_address, judge, read_host, resolve_host

MAX_BYTES = 256 << 20  # of all tunnels of a session, both ways together
_TLS_HANDSHAKE = b"\x16\x03"
_READ_BYTES, _CONNECT_SECONDS, _IDLE_SECONDS = 1 << 16, 30.0, 300.0


class TunnelRefusedError(Exception):
    """A tunnel that is not made; `status` is that of the reply."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status


class HostTunnels:
    """The tunnels of the sessions of one cell.

    Args:
        allowed: entries as `read_host` takes them.
    """

    def __init__(self, allowed: Sequence[str]) -> None:
        self._allowed = frozenset(map(read_host, allowed))
        self._passed = 0

    def __bool__(self) -> bool:
        """Whether a host may be reached."""
        return bool(self._allowed)

    def begin_session(self) -> None:
        """Count the bytes of a session from 0."""
        self._passed = 0

    async def open(self, authority: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Connect to `HOST:PORT`.

        Raises:
            TunnelRefusedError: the policy does not name it, or it cannot be reached.
        """
        try:
            target = read_host(authority)
        except ValueError as error:
            raise TunnelRefusedError(403, str(error)) from error
        if target not in self._allowed:
            raise TunnelRefusedError(403, f"{target[0]}:{target[1]} is not among the allow_hosts of this agent")
        try:
            async with asyncio.timeout(_CONNECT_SECONDS):
                return await asyncio.open_connection(await _address(*target), target[1])
        except (OSError, TimeoutError, UnreachableError) as error:
            raise TunnelRefusedError(502, f"{target[0]} cannot be reached: {type(error).__name__}") from error

    async def join(
        self,
        inside: tuple[asyncio.StreamReader, asyncio.StreamWriter],
        outside: tuple[asyncio.StreamReader, asyncio.StreamWriter],
        begun: bytes,
    ) -> None:
        """Pass bytes both ways until a side closes, the session has passed too many, or nothing comes for long.

        Args:
            inside: the connection of the agent.
            outside: that of the host, which is closed.
            begun: bytes of the agent that were read already.
        """
        try:
            async with asyncio.timeout(_IDLE_SECONDS):
                while len(begun) < len(_TLS_HANDSHAKE) and (part := await inside[0].read(_READ_BYTES)):
                    begun += part
            if not begun.startswith(_TLS_HANDSHAKE):
                return  # another protocol than TLS is not let out
            await self._write(outside[1], begun)
            ways = [self._copy(inside[0], outside[1]), self._copy(outside[0], inside[1])]
            async with asyncio.TaskGroup() as group:
                copies = [group.create_task(way) for way in ways]
                await asyncio.wait(copies, return_when=asyncio.FIRST_COMPLETED)
                for copy in copies:
                    copy.cancel()
        finally:
            outside[1].close()
            with contextlib.suppress(OSError):
                await outside[1].wait_closed()

    async def _copy(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, TimeoutError):
            while True:
                async with asyncio.timeout(_IDLE_SECONDS):
                    part = await reader.read(_READ_BYTES)
                if not part or not await self._write(writer, part):
                    return

    async def _write(self, writer: asyncio.StreamWriter, part: bytes) -> bool:
        """Pass a part on; whether the session may pass it."""
        self._passed += len(part)
        if self._passed > MAX_BYTES:
            return False
        writer.write(part)
        await writer.drain()
        return True


async def _address(host: str, port: int) -> str:
    """An address of a host; none of a metadata service or of a network that nobody means.

    Private addresses may be a mirror of one's own. This machine's are reached by the name `localhost` alone: servers on
    it trust who comes from it, and whoever owns another name can let it lead here.
    """
    addresses = await asyncio.to_thread(resolve_host, host, port)
    own = host == "localhost"
    usable = [one for one in addresses if not judge(one, private=True) and (own or not is_own_address(one))]
    if not usable:
        raise UnreachableError(f"{host} has no address that may be reached")
    return usable[0]
