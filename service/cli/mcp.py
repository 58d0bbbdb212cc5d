"""The command `evolve mcp`: tools for agents, with the service that is there or one of its own."""

import asyncio
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING

from service.app import create_app
from service.bootstrap.serving import Service, open_all
from service.cli.exit_codes import OK
from service.cli.terminal import Terminal
from service.client.local_service import LocalService, find_local_service
from service.client.service_choice import ServiceChoice, SourceOptions, choose_service, server_of
from service.config import Settings, database_url, load_settings
from service.errors import UnreachableError, UsageError
from service.net.listening import Address, listening

if TYPE_CHECKING:
    import uvicorn

START_SECONDS, POLL_SECONDS = 120.0, 0.2
MISSING = "evolve mcp needs the MCP SDK: pip install 'evolve-search[mcp]'"


def serve_mcp(terminal: Terminal, where: SourceOptions, http: Address | None) -> int:
    """Serve tools until the agent or the user leaves, and return the exit code.

    Args:
        terminal: messages go to its standard error.
        where: the service or the database.
        http: where to listen; None: standard input and output.

    Raises:
        UsageError: the SDK is not installed.
    """
    from service.telemetry import configure_logging

    try:
        import mcp  # noqa: F401 - an extra, looked for before anything starts
    except ImportError as error:
        raise UsageError(MISSING) from error
    configure_logging(terminal.verbosity, color=terminal.color)
    asyncio.run(_serve(terminal, load_settings(), where, http))
    return OK


async def _serve(terminal: Terminal, settings: Settings, where: SourceOptions, http: Address | None) -> None:
    serving = asyncio.current_task()
    assert serving is not None
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, serving.cancel)
    with suppress(asyncio.CancelledError):
        if http is not None and (named := server_of(settings, where)):
            await _serve_http(terminal, named, http)
            return
        async with _service(terminal, settings, where) as service:
            if http is not None:
                await _serve_http(terminal, service.url, http)
            else:
                await _serve_stdio(service)


async def _serve_stdio(service: ServiceChoice) -> None:
    from service.mcp.server import make_local_server

    await make_local_server(service.url, service.key).run_stdio_async()


async def _serve_http(terminal: Terminal, url: str, address: Address) -> None:
    from service.api.http_server import http_server
    from service.mcp.server import PATH, make_http_app

    with listening(address) as (listener, heard):
        server: uvicorn.Server = http_server(make_http_app(url, heard.host), load_settings().api)
        terminal.note(f"tools for agents at {heard.url}{PATH}, for the service at {url} (press Ctrl-C to stop)")
        await server.serve([listener])


@asynccontextmanager
async def _service(terminal: Terminal, settings: Settings, where: SourceOptions) -> AsyncIterator[ServiceChoice]:
    """The service that is named or found, else one in this process."""
    if service := await asyncio.to_thread(choose_service, settings, where):
        yield service
        return
    address = Address(host="127.0.0.1", port=8000, elsewhere=True)
    async with open_all(settings, address, create_app, where.db, None) as opened:
        running = asyncio.create_task(opened.run())
        try:
            found = await _reached(database_url(settings, where.db), opened, running)
            terminal.note(f"serving at {found.url} while this command runs", style="dim")
            yield ServiceChoice(url=found.url, key=found.key, found=True)
        finally:
            opened.leave()
            await running


async def _reached(database: str, opened: Service, running: "asyncio.Task[None]") -> LocalService:
    """The service of this process, once it answers."""
    reason = opened.commands or f"it does not answer within {START_SECONDS:g} seconds"
    with suppress(TimeoutError):
        async with asyncio.timeout(START_SECONDS):
            while not running.done():
                found = await asyncio.to_thread(find_local_service, database)
                if found is not None and not found.outage:
                    return found
                if opened.commands:
                    break
                await asyncio.sleep(POLL_SECONDS)
    raise UnreachableError(f"the service of this command cannot be used: {reason}")
