"""Traces: spans of requests, proposals, evaluations and statements, which OpenTelemetry's variables switch on.

Attributes hold names, numbers and ids alone. Programs, prompts, replies, addresses with tokens and the texts of errors
may hold secrets, and stay out. The provider is not the global one: what libraries record by themselves is not sent.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from enum import Enum
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any, TypeAlias

from evolve.evaluation import Evaluation
from evolve.extensions import PACKAGE
from evolve.version import __version__

Attribute: TypeAlias = str | bool | int | float | Sequence[str]
NO_ATTRIBUTES: Mapping[str, Attribute] = {}
TRACEPARENT = "traceparent"
ROOT = "-"  # in place of a parent: the span starts a trace
_ENDPOINTS = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
_PROTOCOLS = ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
_EXPORTERS = {"http/protobuf": "otlp_proto_http", "grpc": "otlp_proto_grpc"}
_SERVICE_NAME = "service.name"


class SpanKind(Enum):
    """The role of a span, by the names of OpenTelemetry."""

    INTERNAL = "INTERNAL"
    SERVER = "SERVER"
    CLIENT = "CLIENT"
    PRODUCER = "PRODUCER"
    CONSUMER = "CONSUMER"


class Span:
    """A span of a process that sends no traces: everything is ignored."""

    @property
    def traceparent(self) -> str:
        """The span as the W3C header `traceparent`. Empty: there is none to continue."""
        return ""

    def note(self, attributes: Mapping[str, Attribute]) -> None:
        """Add attributes, or replace them."""

    def rename(self, name: str) -> None:
        """Replace the name."""

    def fail(self, kind: str) -> None:
        """Mark it as failed, with the class of the error and never its text."""


@dataclass(frozen=True, slots=True)
class _SentSpan(Span):
    tracing: "_Tracing"
    span: Any

    @property
    def traceparent(self) -> str:
        return self.tracing.header(self.tracing.trace.set_span_in_context(self.span))

    def note(self, attributes: Mapping[str, Attribute]) -> None:
        self.span.set_attributes(attributes)

    def rename(self, name: str) -> None:
        self.span.update_name(name)

    def fail(self, kind: str) -> None:
        self.span.set_attribute("error.type", kind)
        self.span.set_status(self.tracing.trace.Status(self.tracing.trace.StatusCode.ERROR))


@dataclass(slots=True)
class _Tracing:
    """The libraries of OpenTelemetry, and the provider of this process."""

    trace: Any
    context: Any
    propagator: Any
    tracer: Any
    provider: Any
    kinds: Mapping[SpanKind, Any] = field(default_factory=dict)

    @contextmanager
    def span(
        self, name: str, kind: SpanKind, attributes: Mapping[str, Attribute], parent: str, *, current: bool
    ) -> Iterator[Span]:
        # Without a valid parent, the empty context is extracted, and the span starts a trace.
        above = self.propagator.extract({TRACEPARENT: parent}, context=self.context.Context()) if parent else None
        span = self.tracer.start_span(name, context=above, kind=self.kinds[kind], attributes=attributes)
        sent = _SentSpan(self, span)
        token = self.context.attach(self.trace.set_span_in_context(span)) if current else None
        try:
            yield sent
        except Exception as error:
            sent.fail(type(error).__qualname__)
            raise
        finally:
            if token is not None:
                self.context.detach(token)
            span.end()

    def header(self, context: Any = None) -> str:
        carrier: dict[str, str] = {}
        self.propagator.inject(carrier, context=context)
        return carrier.get(TRACEPARENT, "")

    @property
    def recording(self) -> bool:
        return bool(self.trace.get_current_span().is_recording())


_UNSENT = nullcontext(Span())
_tracing: _Tracing | None = None


def enabled() -> bool:
    """Whether this process sends traces."""
    return _tracing is not None


def recording() -> bool:
    """Whether a span is current here, and sent."""
    return _tracing is not None and _tracing.recording


def span(
    name: str,
    kind: SpanKind = SpanKind.INTERNAL,
    attributes: Mapping[str, Attribute] = NO_ATTRIBUTES,
    *,
    parent: str = "",
    current: bool = True,
) -> AbstractContextManager[Span]:
    """Record a span for as long as the context lasts.

    Args:
        name: of few values, as OpenTelemetry's conventions say.
        parent: the header `traceparent` of the span above, or `ROOT`. Empty: the current span, if there is one.
        current: whether spans that begin meanwhile are below it. Must be False in generators, whose caller goes on with
            other work between two values.
    """
    if _tracing is None:
        return _UNSENT
    return _tracing.span(name, kind, attributes, parent, current=current)


def current_traceparent() -> str:
    """The current span as the W3C header `traceparent`. Empty: there is none."""
    return "" if _tracing is None else _tracing.header()


def message_attributes(operation: str, kind: str, pool: str, message_id: str) -> dict[str, Attribute]:
    """The attributes of a task on its way to a worker, by the conventions of messaging.

    The system is this service's own queue: it is on Redis or in memory, and workers may reach it over HTTP.
    """
    return {
        "messaging.system": "evolve",
        "messaging.operation.type": kind,
        "messaging.operation.name": operation,
        "messaging.destination.name": pool,
        "messaging.message.id": message_id,
    }


def evaluation_attributes(evaluation: Evaluation) -> dict[str, Attribute]:
    """The attributes of an evaluation that ended. Its reason may quote the program, and stays out."""
    return {
        "evolve.evaluation.outcome": str(evaluation.outcome),
        "evolve.evaluation.seconds": evaluation.seconds,
        "evolve.evaluation.isolation": evaluation.isolation,
    }


def wanted(environment: Mapping[str, str] | None = None) -> bool:
    """Whether OpenTelemetry's variables ask for traces: they name an exporter, or the address of a collector."""
    given = os.environ if environment is None else environment
    if given.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return False
    if exporter := given.get("OTEL_TRACES_EXPORTER", "").strip():
        return exporter != "none"
    return any(given.get(name) for name in _ENDPOINTS)


@contextmanager
def traces_sent(part: str) -> Iterator[None]:
    """Send the traces of this process while the context lasts, if OpenTelemetry's variables ask for it.

    Without the packages of the extra `otel`, a warning is logged and nothing is sent. A service never fails because of
    its traces.

    Args:
        part: name of the service in the traces where `OTEL_SERVICE_NAME` names none.
    """
    global _tracing  # noqa: PLW0603 - one provider a process, like the configuration of its logs
    if _tracing is not None or not wanted():
        yield
        return
    try:
        _tracing = _open(part)
    except ImportError as error:
        advice = f"pip install '{PACKAGE}[otel]'"
        _warn(f"{error}: OTEL_* variables ask for traces", advice=advice)
    except (ValueError, LookupError) as error:
        _warn(str(error))
    try:
        yield
    finally:
        opened, _tracing = _tracing, None
        if opened is not None:
            opened.provider.shutdown()


def _warn(reason: str, **more: str) -> None:
    import structlog  # commands that only read import this module, and are to start fast

    structlog.get_logger(__name__).warning("tracing.unavailable", reason=reason, **more)


def _open(part: str) -> _Tracing:
    """Build what sends traces. The libraries read the rest of the OTEL_* variables themselves."""
    trace, sdk = import_module("opentelemetry.trace"), import_module("opentelemetry.sdk.trace")
    export, resources = import_module("opentelemetry.sdk.trace.export"), import_module("opentelemetry.sdk.resources")
    propagation = import_module("opentelemetry.trace.propagation.tracecontext")
    exporters = [_exporter(name) for name in _exporter_names()]
    found = resources.Resource.create({"service.version": __version__})
    if not os.environ.get("OTEL_SERVICE_NAME") and _SERVICE_NAME not in os.environ.get("OTEL_RESOURCE_ATTRIBUTES", ""):
        found = found.merge(resources.Resource({_SERVICE_NAME: part}))
    provider = sdk.TracerProvider(resource=found)
    for exporter in exporters:
        provider.add_span_processor(export.BatchSpanProcessor(exporter))
    return _Tracing(
        trace=trace,
        context=import_module("opentelemetry.context"),
        propagator=propagation.TraceContextTextMapPropagator(),
        tracer=provider.get_tracer("evolve", __version__),
        provider=provider,
        kinds={kind: trace.SpanKind[kind.value] for kind in SpanKind},
    )


def _exporter_names() -> list[str]:
    """The exporters by the names under which packages register them."""
    named = [name.strip() for name in os.environ.get("OTEL_TRACES_EXPORTER", "otlp").split(",")]
    protocol = next(filter(None, map(os.environ.get, _PROTOCOLS)), "http/protobuf")
    if "otlp" in named and protocol not in _EXPORTERS:
        raise ValueError(f"OTEL_EXPORTER_OTLP_PROTOCOL {protocol!r} is not one of {', '.join(_EXPORTERS)}")
    return [_EXPORTERS[protocol] if name == "otlp" else name for name in named if name]


def _exporter(name: str) -> Any:
    for entry in entry_points(group="opentelemetry_traces_exporter", name=name):
        return entry.load()()
    raise ModuleNotFoundError(f"no installed package has the exporter {name}")
