"""One run of the proxy, from its first port to its summary; every port and process is closed at the end.

A `RunJob` describes the run and a `RunOutput` reports on it. This module knows no flags.
"""

from __future__ import annotations

import contextlib
import logging
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from faultkit.base.address import Endpoint
from faultkit.base.descriptors import raise_descriptor_limit
from faultkit.base.errors import TargetError
from faultkit.base.garbage import undisturbed
from faultkit.base.network import new_token
from faultkit.base.signals import StopSignal
from faultkit.cli.run_output import RunEnding, RunOutput, StartedRun
from faultkit.plan import Plan
from faultkit.proxy.data_plane import DataPlane, ProxySpec
from faultkit.proxy.plane import Plane
from faultkit.proxy.upstream_check import check_upstreams

if TYPE_CHECKING:
    from faultkit.base.certificates import MutualTls
    from faultkit.proxy.control.control_server import ControlServer

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class RunJob:
    """One run: its plan, proxies and limits."""

    plan: Plan
    maps: tuple[ProxySpec, ...] = ()
    forward: ProxySpec | None = None
    forward_optional: bool = False
    """True if the forward proxy was not asked for: the run continues without it if its port is taken."""
    duration_s: float | None = None
    checks_upstreams: bool = True
    control: Endpoint | None = None
    control_token: str | None = None
    """The token of the control API; None creates one and prints it."""
    control_tls: MutualTls | None = None
    """None: the control API speaks clear text."""
    workers: int = 1
    """Number of processes that serve the ports; with 1, this process does."""


def run_job(job: RunJob, output: RunOutput, opened: Callable[[StartedRun], None] | None = None) -> None:
    """Run the proxies until the duration is over or a stop signal arrives. `opened` is called once their
    ports are."""
    raise_descriptor_limit()
    if job.checks_upstreams:  # Nothing is open yet, so that Ctrl-C may simply interrupt it.
        timeout_s = min((spec.connect_timeout_s for spec in job.maps), default=0.0)
        check_upstreams(job.maps, timeout_s)
    with contextlib.ExitStack() as stack:
        stop = stack.enter_context(StopSignal())
        stack.callback(output.close)
        began = time.monotonic()
        observed = output.observes or _log.isEnabledFor(logging.DEBUG)
        plane = stack.enter_context(_new_plane(job, observed))
        proxies = _open_proxies(plane, job)
        control = _open_control(plane, job, began, [spec for spec, _ in proxies])
        bound = None if control is None else control.bound
        run = StartedRun(job.plan, proxies, began, job.duration_s, bound, has_tls=job.control_tls is not None)
        _log.info("run began: plan %s, seed %s", job.plan.digest, job.plan.seed)
        with control or contextlib.nullcontext(), undisturbed():
            if opened is not None:
                opened(run)
            output.started(run)
            reason = _watch(plane, run, output, control, stop)
            seconds = time.monotonic() - began
        for spec, _ in proxies:
            plane.set_enabled(spec.name, False)  # From here on the counts are final.
        ending = RunEnding(reason, seconds, plane.snapshot())
        plane.close()
        _pass_events(plane, output, None)
        output.ended(ending)
        _log.info("run ended: %s", reason)


def _new_plane(job: RunJob, observed: bool) -> DataPlane:
    if job.workers == 1:
        return Plane(job.plan, total_s=job.duration_s, observed=observed)
    from faultkit.proxy.remote import Planes

    return Planes(job.plan, workers=job.workers, total_s=job.duration_s, observed=observed)


def _open_proxies(plane: DataPlane, job: RunJob) -> tuple[tuple[ProxySpec, Endpoint], ...]:
    opened = [(spec, plane.open_proxy(spec)) for spec in job.maps]
    if job.forward is not None:
        try:
            opened.append((job.forward, plane.open_proxy(job.forward)))
        except TargetError as error:
            if not job.forward_optional:
                raise
            warn(f"{error}; going on without the HTTP forward proxy (--disable-http-proxy leaves it out)")
    return tuple(opened)


def _open_control(
    plane: DataPlane, job: RunJob, began: float, proxies: list[ProxySpec]
) -> ControlServer | None:
    if job.control is None:
        return None
    from faultkit.proxy.control.control_server import ControlServer

    token = job.control_token or new_token()
    control = ControlServer(plane, job.control, token, began=began, proxies=proxies, tls=job.control_tls)
    if job.control_token is None:
        print(f"control token: {token}", file=sys.stderr, flush=True)
    return control


def _watch(
    plane: DataPlane, run: StartedRun, output: RunOutput, control: ControlServer | None, stop: StopSignal
) -> str:
    """Pass events to the output until the run ends; return the reason."""
    observed = plane.observed
    deadline = None if run.duration_s is None else run.began + run.duration_s
    while True:
        now = time.monotonic()
        _pass_events(plane, output, control)
        plane.check()
        output.tick(plane, now)
        if control is not None:
            control.tick()
            plane.observed = observed or control.is_watched
        if deadline is not None and now >= deadline:
            return "duration"
        if output.wants_end:
            return "quit"
        left_s = output.every_s if deadline is None else min(output.every_s, deadline - now)
        if stop.wait(left_s):
            return stop.reason or ""


def _pass_events(plane: DataPlane, output: RunOutput, control: ControlServer | None) -> None:
    events = plane.take_events()
    if not events:
        return
    if _log.isEnabledFor(logging.DEBUG):
        for event in events:
            _log.debug("%s", event)
    output.happened(events)
    if control is not None:
        control.publish(events)


def warn(text: str) -> None:
    """Print a warning to stderr."""
    print(f"warning: {text}", file=sys.stderr, flush=True)
