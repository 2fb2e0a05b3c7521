"""One run of the proxy, from the first port to the summary. Whatever happens, nothing stays behind.

What to run is a `Job`; what is said about it is an `Output`. Flags are not known here.
"""

from __future__ import annotations

import contextlib
import logging
import resource
import secrets
import sys
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from faultkit.base.address import Endpoint
from faultkit.base.errors import TargetError
from faultkit.cli.check import check_upstreams
from faultkit.cli.output import Ending, Output, Run
from faultkit.cli.signals import StopSignal
from faultkit.plan import Plan
from faultkit.proxy.face import DataPlane
from faultkit.proxy.plane import Plane, undisturbed
from faultkit.proxy.spec import ProxySpec

if TYPE_CHECKING:
    from faultkit.proxy.control.server import Control

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Job:
    plan: Plan
    maps: tuple[ProxySpec, ...] = ()
    forward: ProxySpec | None = None
    forward_optional: bool = False
    """Nobody asked for the forward proxy: go on without it if its port is taken."""
    duration_s: float | None = None
    checks_upstreams: bool = True
    control: Endpoint | None = None
    control_token: str | None = None
    """None makes one up and tells it."""
    workers: int = 1
    """How many processes serve the ports; one alone does it in this one."""


def run_job(job: Job, output: Output) -> None:
    """Returns when the time is over, or when a signal says stop. Both are good ends."""
    raise_descriptor_limit()
    if job.checks_upstreams:  # Nothing is open yet, so that Ctrl-C may simply interrupt it.
        timeout_s = min((spec.connect_timeout_s for spec in job.maps), default=0.0)
        check_upstreams(((s.name, s.upstream) for s in job.maps if s.upstream is not None), timeout_s)
    with contextlib.ExitStack() as stack:
        stop = stack.enter_context(StopSignal())
        stack.callback(output.close)
        began = time.monotonic()
        observed = output.observes or _log.isEnabledFor(logging.DEBUG)
        plane = stack.enter_context(_new_plane(job, observed))
        proxies = _open_proxies(plane, job)
        control = _open_control(plane, job, began)
        run = Run(job.plan, proxies, began, job.duration_s, None if control is None else control.bound)
        _log.info("run began: plan %s, seed %s", job.plan.digest, job.plan.seed)
        with control or contextlib.nullcontext(), undisturbed():
            output.started(run)
            reason = _watch(plane, run, output, control, stop)
            seconds = time.monotonic() - began
        for spec, _ in proxies:
            plane.set_enabled(spec.name, False)  # From here on the counts are final.
        ending = Ending(reason, seconds, plane.snapshot())
        plane.close()
        _tell(plane, output, None)
        output.ended(ending)
        _log.info("run ended: %s", reason)


def _new_plane(job: Job, observed: bool) -> DataPlane:
    if job.workers == 1:
        return Plane(job.plan, total_s=job.duration_s, observed=observed)
    from faultkit.proxy.remote import Planes

    return Planes(job.plan, workers=job.workers, total_s=job.duration_s, observed=observed)


def _open_proxies(plane: DataPlane, job: Job) -> tuple[tuple[ProxySpec, Endpoint], ...]:
    opened = [(spec, plane.open_proxy(spec)) for spec in job.maps]
    if job.forward is not None:
        try:
            opened.append((job.forward, plane.open_proxy(job.forward)))
        except TargetError as error:
            if not job.forward_optional:
                raise
            warn(f"{error}; going on without the HTTP forward proxy (--disable-http-proxy leaves it out)")
    return tuple(opened)


def _open_control(plane: DataPlane, job: Job, began: float) -> Control | None:
    if job.control is None:
        return None
    from faultkit.proxy.control.server import Control

    token = job.control_token or secrets.token_urlsafe(24)
    control = Control(plane, job.control, token, began=began)
    if job.control_token is None:
        print(f"control token: {token}", file=sys.stderr, flush=True)
    return control


def _watch(plane: DataPlane, run: Run, output: Output, control: Control | None, stop: StopSignal) -> str:
    """Pass on what happens until the end; returns why it ended."""
    observed = plane.observed
    deadline = None if run.duration_s is None else run.began + run.duration_s
    while True:
        now = time.monotonic()
        _tell(plane, output, control)
        output.tick(plane, now)
        if control is not None:
            control.tick()
            plane.observed = observed or control.is_watched
        if deadline is not None and now >= deadline:
            return "duration"
        left_s = output.every_s if deadline is None else min(output.every_s, deadline - now)
        if stop.wait(left_s):
            return stop.reason or ""


def _tell(plane: DataPlane, output: Output, control: Control | None) -> None:
    happenings = plane.happenings()
    if not happenings:
        return
    if _log.isEnabledFor(logging.DEBUG):
        for happening in happenings:
            _log.debug("%s", happening)
    output.happened(happenings)
    if control is not None:
        control.publish(happenings)


def raise_descriptor_limit() -> None:
    """Two descriptors a connection, and four with a pipe: the usual 1024 would end at a few hundred."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(ValueError, OSError):
        if soft != hard:
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def warn(text: str) -> None:
    print(f"warning: {text}", file=sys.stderr, flush=True)
