"""Names of metrics and labels by exporter, one row an exporter, and the choice among them. Pure.

An exporter is the library that counts requests in a service. A query that uses the names of another one has
no result, and an objective over it is never missed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from faultkit.base.errors import InputError
from faultkit.base.text import and_list, did_you_mean

_FINE = (0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0)
"""Default buckets of OpenTelemetry and of the client for Python."""


@dataclass(frozen=True, slots=True)
class Exporter:
    """The names that one exporter gives to metrics and labels of requests."""

    name: str
    """For `--exporter`."""
    title: str
    duration: str
    """A histogram in seconds, without `_bucket`."""
    total: str
    """A counter of answers with the status."""
    route: str
    """The label for the route."""
    method: str
    """The label for the method; empty if there is none."""
    status: str
    bad: str = "5.."
    """Regular expression for the status of a failure."""
    packages: tuple[str, ...] = ()
    """Imports or declared dependencies that show that it is in use."""
    frameworks: tuple[str, ...] = ()
    """Frameworks with which it is assumed if no package shows an exporter."""
    buckets: tuple[float, ...] = ()
    """Upper bounds in seconds that exist without configuration; empty if there are none."""
    set_bucket: str = ""
    """How buckets are added; `{}` stands for their bounds in seconds."""
    has_durations: bool = False
    """Whether bounds are written as `300ms,1s`."""
    needs: str = ""
    """What must be configured for the labels to be there."""
    sees_sent_path: bool = False
    """Whether the label holds the path of the request, perhaps with numbers replaced, and not the route."""
    by_class: bool = False
    """Whether the status is a class such as `4xx`, unless configured."""
    has_small_methods: bool = False
    """Whether methods are in lower case."""


EXPORTERS: dict[str, Exporter] = {
    each.name: each
    for each in (
        Exporter(
            "opentelemetry",
            "OpenTelemetry",
            "http_server_request_duration_seconds",
            "http_server_request_duration_seconds_count",
            "http_route",
            "http_request_method",
            "http_response_status_code",
            # A request that got no answer has no status: it timed out, or its connection broke.
            bad="5..|",
            packages=(
                "opentelemetry", "opentelemetry-api", "opentelemetry-sdk", "opentelemetry-distro",
                "@opentelemetry/api", "@opentelemetry/sdk-node", "go.opentelemetry.io/otel",
                "go.opentelemetry.io/contrib", "io.opentelemetry",
            ),
            buckets=_FINE,
            set_bucket="a view with the boundaries […, {}, …]",
            needs="the stable semantic conventions for HTTP (in Python: OTEL_SEMCONV_STABILITY_OPT_IN=http)",
        ),
        Exporter(
            "fastapi",
            "prometheus-fastapi-instrumentator",
            "http_request_duration_seconds",
            "http_requests_total",
            "handler",
            "method",
            "status",
            packages=("prometheus_fastapi_instrumentator", "prometheus-fastapi-instrumentator"),
            frameworks=("fastapi",),
            buckets=(0.1, 0.5, 1.0),
            set_bucket="latency_lowr_buckets=(…, {}, …) of instrument()",
            by_class=True,
        ),
        Exporter(
            "starlette",
            "starlette_exporter",
            "starlette_request_duration_seconds",
            "starlette_requests_total",
            "path",
            "method",
            "status_code",
            packages=("starlette_exporter", "starlette-exporter"),
            frameworks=("starlette",),
            buckets=_FINE,
            set_bucket="buckets=[…, {}, …] of PrometheusMiddleware",
            needs="group_paths=True of PrometheusMiddleware",
        ),
        Exporter(
            "flask",
            "prometheus_flask_exporter",
            "flask_http_request_duration_seconds",
            "flask_http_request_duration_seconds_count",
            "path",
            "method",
            "status",
            packages=("prometheus_flask_exporter", "prometheus-flask-exporter"),
            frameworks=("flask",),
            buckets=_FINE,
            set_bucket="buckets=(…, {}, …) of PrometheusMetrics",
            needs='group_by="path" of PrometheusMetrics (the default)',
            sees_sent_path=True,
        ),
        Exporter(
            "express",
            "express-prom-bundle",
            "http_request_duration_seconds",
            "http_request_duration_seconds_count",
            "path",
            "method",
            "status_code",
            packages=("express-prom-bundle",),
            frameworks=("express",),
            buckets=(0.003, 0.03, 0.1, 0.3, 1.5, 10.0),
            set_bucket="buckets: […, {}, …] of promBundle",
            needs="promBundle({includeMethod: true, includePath: true})",
            sees_sent_path=True,
        ),
        Exporter(
            "prom-client",
            "prom-client",
            "http_request_duration_seconds",
            "http_request_duration_seconds_count",
            "route",
            "method",
            "status_code",
            packages=("prom-client",),
            set_bucket="buckets: […, {}, …] of the histogram",
            needs="a histogram http_request_duration_seconds with the labels method, route and status_code",
        ),
        Exporter(
            "spring",
            "Micrometer",
            "http_server_requests_seconds",
            "http_server_requests_seconds_count",
            "uri",
            "method",
            "status",
            # Micrometer writes UNKNOWN where no answer was sent.
            bad="5..|UNKNOWN",
            packages=("io.micrometer", "micrometer-registry-prometheus"),
            frameworks=("spring",),
            set_bucket="management.metrics.distribution.slo.http.server.requests={}",
            has_durations=True,
            needs="micrometer-registry-prometheus, and the endpoint prometheus exposed",
        ),
        Exporter(
            "go",
            "promhttp (client_golang)",
            "http_request_duration_seconds",
            "http_request_duration_seconds_count",
            "handler",
            "method",
            "code",
            packages=("github.com/prometheus/client_golang",),
            set_bucket="Buckets: []float64{{…, {}, …}} of the histogram",
            needs="promhttp.InstrumentHandlerDuration over a histogram with the labels code and method, "
            "curried with handler set to the route",
            has_small_methods=True,
        ),
        Exporter(
            "grpc",
            "the gRPC interceptors for Prometheus",
            "grpc_server_handling_seconds",
            "grpc_server_handled_total",
            "grpc_method",
            "",
            "grpc_code",
            bad="(?i)unknown|internal|unavailable|data_?loss|deadline_?exceeded",
            packages=(
                "py_grpc_prometheus", "py-grpc-prometheus", "github.com/grpc-ecosystem/go-grpc-prometheus",
            ),
            frameworks=("grpc",),
            set_bucket="the buckets […, {}, …] of the histogram",
            needs="the histogram of handling times enabled",
        ),
    )
}  # fmt: skip
DEFAULT = "opentelemetry"


@dataclass(frozen=True, slots=True)
class ExporterChoice:
    """An exporter and the reason for it."""

    exporter: Exporter
    why: str


def exporter_named(name: str) -> Exporter:
    """Return the exporter of this name. Raises InputError if there is none."""
    if name not in EXPORTERS:
        known = ", ".join(EXPORTERS)
        raise InputError("exporter", f"expected one of {known}, got {name!r}{did_you_mean(name, EXPORTERS)}")
    return EXPORTERS[name]


def imported_exporter(imports: Callable[[str], bool]) -> str:
    """Return the name of the exporter that a text imports; empty if there is none."""
    # A service that imports both has its own exporter, and OpenTelemetry for traces.
    found = [each.name for each in EXPORTERS.values() if any(map(imports, each.packages))]
    return next((each for each in found if each != DEFAULT), found[0] if found else "")


def choose_exporter(
    framework: str, imported: str, declared: Collection[str] = (), asked: str = ""
) -> ExporterChoice:
    """Choose the exporter: the one asked for, else the one that the text or the project shows, else a usual
    one."""
    if asked:
        return ExporterChoice(exporter_named(asked), "as asked for")
    # The interceptors for gRPC and the exporters for HTTP count different things.
    is_rpc = framework == "grpc"
    if imported and (imported == "grpc") is is_rpc:
        return ExporterChoice(EXPORTERS[imported], "the file imports it")
    shown = imported_exporter(lambda package: _is_declared(package, declared))
    if shown and (shown == "grpc") is is_rpc:
        return ExporterChoice(EXPORTERS[shown], "the project declares it")
    usual = next((each for each in EXPORTERS.values() if framework in each.frameworks), None)
    if usual is not None:
        return ExporterChoice(usual, f"assumed for {framework}")
    return ExporterChoice(EXPORTERS[DEFAULT], "assumed")


def _is_declared(package: str, declared: Collection[str]) -> bool:
    return any(each == package or each.startswith((f"{package}/", f"{package}-")) for each in declared)


# Buckets.


def buckets_needed(exporter: Exporter, bounds_s: Sequence[float]) -> str:
    """Say which buckets have to be added, and how: in one setting, since a second replaces the first."""
    if not bounds_s:
        return ""
    # Spring Boot reads whole numbers only.
    separator, written = (",", _duration) if exporter.has_durations else (", ", "{:g}".format)
    setting = exporter.set_bucket.format(separator.join(map(written, bounds_s)))
    which = "a bucket" if len(bounds_s) == 1 else "buckets"
    return f"It needs {which} at {and_list([f'{each:g}' for each in bounds_s])} s: {setting}."


def _duration(bound_s: float) -> str:
    return f"{bound_s:g}s" if float(bound_s).is_integer() else f"{round(bound_s * 1000)}ms"


# Values of labels.


_PARAMETER = re.compile(
    r"\{(?P<braces>[^{}]*)\}|<(?P<angles>[^<>]*)>|(?<=/):(?P<colon>\w+)(?:\([^()]*\))?\??|(?P<star>\*\w*)"
)
_TAKES_SLASHES = re.compile(r"(^|:)path(:|$)|\.\.\.$|^\*")
_SPECIAL = re.compile(r"[\\.+*?()|\[\]{}^$]")


def sent_path_pattern(path: str) -> str:
    """Return a regular expression for the paths that a route stands for; empty if it has no parameters."""
    pattern, at = "", 0
    for found in _PARAMETER.finditer(path):
        pattern += _SPECIAL.sub(r"\\\g<0>", path[at : found.start()])
        inside = found["braces"] or found["angles"] or ""
        pattern += ".+" if found["star"] is not None or _TAKES_SLASHES.search(inside) else "[^/]+"
        at = found.end()
    return pattern + _SPECIAL.sub(r"\\\g<0>", path[at:]) if at else ""
