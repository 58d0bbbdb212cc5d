"""Logs: events with bound fields on stderr, JSON lines where nobody watches; never program text, never keys."""

import logging
import sys
from typing import TextIO

import structlog
from structlog.typing import Processor

LEVELS = {-1: logging.ERROR, 0: logging.WARNING, 1: logging.INFO, 2: logging.DEBUG}


def configure_logging(verbosity: int = 0, stream: TextIO | None = None, *, color: bool = True) -> None:
    """Send structlog's and the standard library's records through one formatter.

    Args:
        verbosity: -1 errors only, 0 warnings, 1 events, 2 everything.
        stream: where to; stderr when None. A terminal gets readable lines, anything else JSON.
        color: whether a terminal's lines are coloured.
    """
    stream = stream or sys.stderr
    shared: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True, key="at"),
        structlog.processors.StackInfoRenderer(),
    ]
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        wrapper_class=structlog.stdlib.BoundLogger,
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=False,
    )
    handler = logging.StreamHandler(stream)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *_last(stream, color=color)],
        )
    )
    level = LEVELS[max(-1, min(2, verbosity))]
    logging.basicConfig(handlers=[handler], level=level, force=True)
    for chatty in ("httpx", "httpcore", "alembic", "asyncio"):
        logging.getLogger(chatty).setLevel(max(level, logging.WARNING))


def _last(stream: TextIO, *, color: bool) -> list[Processor]:
    if stream.isatty():
        # Without the values of local variables, which may be keys.
        return [structlog.dev.ConsoleRenderer(colors=color, exception_formatter=structlog.dev.plain_traceback)]
    return [structlog.processors.format_exc_info, structlog.processors.JSONRenderer()]
