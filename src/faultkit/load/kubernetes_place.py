"""A Job for each load, and the coordinator's side of its workers: the place `kubernetes:N`.

    create the Job → wait until its pods run → attach to each → give each its segment → run → delete the Job

Pods get their segments when all run, so that none waits for the image of another. A pod that does not run in
time is a lost worker; if none does, the run does not begin.

An API server that fails is asked again for some time, since it may be replaced or restarted during a run.
"""

from __future__ import annotations

import contextlib
import logging
import secrets
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from math import inf
from typing import Any, TypeVar

from faultkit.base.errors import FaultkitError, InputError, RunError
from faultkit.base.text import count_of
from faultkit.load.fold import Fold, SegmentEnd
from faultkit.load.fold_lines import WorkerLost
from faultkit.load.kubernetes.cluster_api import ClusterApi, Unavailable, open_cluster
from faultkit.load.kubernetes.manifests import CONTAINER, Manifest, job_manifest
from faultkit.load.kubernetes.pod_settings import PodSettings
from faultkit.load.kubernetes.pod_states import PodState, by_index, why_job_failed, why_none_was_made
from faultkit.load.kubernetes.pod_stream import PodStream
from faultkit.load.places import Machine, SegmentWorker
from faultkit.load.split import Segment, SplitPlan
from faultkit.load.stream_worker import StreamWorker

_MARGIN_S = 1.0
_POLL_S = 0.5
_ATTACH_S = 15.0
"""Seconds in which the API server must connect us to a pod."""
_READY_S = 60.0
_ANSWER_S = 10.0
_SILENT_S = 15.0
"""Seconds without a fold, of which one comes each second, after which a worker is lost."""
_SETTLE_S = 3.0
"""Seconds in which the cluster says how a pod ended whose streams did."""
_PATIENCE_S = 20.0
"""Seconds for which an API server that fails is asked again."""
_STOPPED = "the run was stopped"

T = TypeVar("T")
_log = logging.getLogger(__name__)


def job_of(plan: SplitPlan, settings: PodSettings, size: int) -> Manifest:
    """Return the Job for a load or for suites, with a new name."""
    pods = min(size, plan.most_parts)
    return job_manifest(f"faultkit-{secrets.token_hex(4)}", settings, pods, plan.longest_s, plan.kind)


@contextlib.contextmanager
def cluster(size: int, settings: PodSettings) -> Iterator[ClusterPlace]:
    """Connect to a cluster and check that it can run Jobs of `size` pods; delete those that are left at the
    end. Raises InputError."""
    api = open_cluster(settings)
    try:
        api.check(job_manifest("faultkit-check", settings, size, 1.0))
        place = ClusterPlace(api, settings, size)
        try:
            yield place
        finally:
            for job in list(place.jobs):
                job.end()
    finally:
        api.close()


@dataclass(frozen=True, slots=True)
class ClusterPlace:
    """A cluster that is connected."""

    api: ClusterApi
    settings: PodSettings
    size: int
    margin_s: float = _MARGIN_S
    jobs: set[JobRun] = field(default_factory=set)
    """Those that are not deleted yet."""

    def start(self, segments: Sequence[Segment]) -> Sequence[SegmentWorker]:
        manifest = job_of(segments[0].plan, self.settings, len(segments))
        job = JobRun(self.api.again(), manifest, self.jobs, self.settings.start_within)
        try:
            job.create()
        except BaseException:
            job.end()
            raise
        return [job.worker(segment) for segment in segments]


class JobRun:
    """A Job from its creation to its deletion."""

    def __init__(self, api: ClusterApi, manifest: Manifest, jobs: set[JobRun], start_within_s: float) -> None:
        self.name: str = manifest["metadata"]["name"]
        self._api = api
        self._manifest = manifest
        self._start_within_s = start_within_s
        self._jobs = jobs
        self._workers: dict[int, PodWorker] = {}
        """Those that are not closed, by share."""
        self._changes = threading.Lock()
        self._states: dict[int, PodState] | None = None
        self._polling = threading.Lock()
        """Held by the worker that asks for the states; the others wait for what it finds."""
        self._stopped = threading.Event()
        self._jobs.add(self)

    def create(self) -> None:
        """Create the Job in the cluster."""
        is_again = False

        def create() -> None:
            nonlocal is_again
            was_tried, is_again = is_again, True
            self._api.create_job(self._manifest, again=was_tried)

        _patiently(create, self._stopped.wait)

    def stop(self) -> None:
        """Wait for no pod any more."""
        self._stopped.set()

    def state(self, share: int) -> PodState:
        """Return the state of the pod of a share, once all pods run or cannot any more.

        Raises InputError if none runs in time, WorkerLost after `stop`."""
        with self._polling:
            if self._states is None:
                self._states = self._await_pods()
            return self._states[share]

    def _await_pods(self) -> dict[int, PodState]:
        pods, within_s = self._manifest["spec"]["completions"], self._start_within_s
        deadline = time.monotonic() + within_s
        while True:
            found = by_index(_patiently(lambda: self._api.pods_of(self.name), self._stopped.wait))
            left = [index for index in range(pods) if index not in found or not _is_decided(found[index])]
            if not left or time.monotonic() > deadline:
                break
            if self._stopped.wait(_POLL_S):
                raise WorkerLost(_STOPPED)
        states = {index: found.get(index) or self._missing(index) for index in range(pods)}
        if not any(state.runs for state in states.values()):
            reasons = dict.fromkeys(
                state.over or state.waits or "no reason is known" for state in states.values()
            )
            expected = f"{count_of(pods, 'pod')} running within {within_s:g} s"
            raise InputError("--on", f"expected {expected}, got none: {'; '.join(reasons)}")
        return states

    def _missing(self, index: int) -> PodState:
        why = "no pod was made for it"
        with contextlib.suppress(FaultkitError):
            told = why_job_failed(self._api.job(self.name)) or why_none_was_made(
                self._api.events_of(self.name)
            )
            why = f"{why}: {told}" if told else why
        return PodState("", index, "", over=why)

    def worker(self, segment: Segment) -> SegmentWorker:
        """Return the worker of a segment, which has no pod yet."""
        worker = self._workers[segment.share] = PodWorker(self, segment)
        return worker

    def attach(self, pod: str) -> PodStream:
        """Connect to the streams of a pod. Raises RunError if that fails, or is not done in time."""
        deadline = time.monotonic() + _ATTACH_S
        while True:
            try:
                return PodStream(self._attached(pod, deadline))
            except Unavailable as error:
                if time.monotonic() > deadline or self._stopped.wait(_POLL_S):
                    raise RunError(f"it cannot be attached to: {error}") from None

    def _attached(self, pod: str, deadline: float) -> Any:
        attached = self._api.attach(pod, CONTAINER)
        why = f"it cannot be attached to: no answer within {_ATTACH_S:g} s"
        while time.monotonic() < deadline:
            with contextlib.suppress(TimeoutError):
                return attached.result(_POLL_S)
            if self._stopped.is_set():
                why = _STOPPED
                break
        attached.add_done_callback(_close_late)
        raise RunError(why)

    def why_ended(self, pod: str) -> str:
        """Return how a pod ended, as the cluster tells it; empty if it does not."""
        deadline = time.monotonic() + _SETTLE_S
        with contextlib.suppress(FaultkitError):
            while True:
                states = [
                    state for state in by_index(self._api.pods_of(self.name)).values() if state.name == pod
                ]
                if not states:
                    return why_job_failed(self._api.job(self.name)) or "its pod was deleted"
                if states[0].over or time.monotonic() > deadline or self._stopped.wait(_POLL_S):
                    return states[0].over
        return ""

    def closed(self, share: int) -> None:
        """Note that a worker is closed; with the last one, delete the Job."""
        with self._changes:
            is_last = self._workers.pop(share, None) is not None and not self._workers
        if is_last:
            self.end()

    def end(self) -> None:
        """Close what is open, and delete the Job. If that fails, its deadline and its TTL do it."""
        self.stop()
        with self._changes:
            if self not in self._jobs:
                return
            self._jobs.discard(self)
        for worker in self._workers.values():
            worker.disconnect()
        try:
            _patiently(lambda: self._api.delete_job(self.name))
        except FaultkitError as error:
            _log.warning("the Job %s was not deleted, its TTL will do it: %s", self.name, error)
        self._api.close()


def _patiently(call: Callable[[], T], pause: Callable[[float], object] = time.sleep) -> T:
    """Return the result of a call of the API server; repeat it if the server fails, for a limited time. If
    `pause` returns True, repeat it no more."""
    until = time.monotonic() + _PATIENCE_S
    while True:
        try:
            return call()
        except Unavailable:
            if time.monotonic() > until or pause(_POLL_S) is True:
                raise


def _close_late(attached: Future[Any]) -> None:
    """Close the connection to a pod that came too late."""
    if attached.exception() is None:
        attached.result().shutdown()


def _is_decided(state: PodState) -> bool:
    return state.runs or bool(state.over)


class PodWorker:
    """A segment in a pod. It gets its pod in `ready`."""

    def __init__(self, job: JobRun, segment: Segment) -> None:
        self.name = f"worker {segment.share + 1} of {segment.of} (Job {job.name})"
        self._job = job
        self._segment = segment
        self._pod = ""
        self._lost = ""
        self._stream: PodStream | None = None
        self._worker: StreamWorker | None = None
        self._changes = threading.Lock()
        self._is_closed = False
        self._ahead_s = 0.0
        """Its clock minus ours, roughly."""

    def _attach(self, state: PodState) -> PodStream:
        """Connect to the pod; if that fails, the worker is lost."""
        where = f"pod {state.name} on {state.node}" if state.node else f"pod {state.name or 'missing'}"
        self.name = f"worker {self._segment.share + 1} of {self._segment.of} ({where})"
        self._pod = state.name
        if not state.runs:
            raise self._lose(state.over or state.waits or "its pod did not run in time")
        try:
            stream = self._job.attach(self._pod)
        except RunError as error:
            raise self._lose(str(error)) from None
        with self._changes:
            self._stream = stream
            is_closed = self._is_closed
        if is_closed:
            stream.close()
            raise self._lose(_STOPPED)
        return stream

    def _lose(self, why: str) -> WorkerLost:
        self._lost = why
        return WorkerLost(why)

    def ready(self) -> Machine:
        stream = self._attach(self._job.state(self._segment.share))
        with self._awaiting(_READY_S):
            worker = StreamWorker(self.name, self._segment, stream.output, stream.input, stream.close)
            self._worker = worker
            return worker.ready()

    def clock(self) -> float:
        with self._awaiting(_ANSWER_S):
            theirs = self._of_stream().clock()
        self._ahead_s = theirs - time.monotonic()
        return theirs

    def run(self, begin_at: float, on_fold: Callable[[Fold], None]) -> SegmentEnd:
        with self._awaiting(max(begin_at - self._ahead_s - time.monotonic(), 0.0) + _SILENT_S):
            return self._of_stream().run(begin_at, on_fold)

    def interrupt(self) -> None:
        if self._worker is not None:
            self._worker.interrupt()
        else:
            self._job.stop()

    def close(self) -> None:
        self.disconnect()
        self._job.closed(self._segment.share)

    def disconnect(self) -> None:
        """End the streams of the pod."""
        with self._changes:
            self._is_closed = True
        if self._worker is not None:
            self._worker.close()
        elif self._stream is not None:
            self._stream.close()

    def _of_stream(self) -> StreamWorker:
        if self._lost or self._worker is None:
            raise WorkerLost(self._lost)
        return self._worker

    @contextlib.contextmanager
    def _awaiting(self, seconds: float) -> Iterator[None]:
        """Lose the worker if nothing comes from it for so long. The reason is the cluster's, if it has one.

        Afterwards it may be silent again: it waits for others that are not ready yet."""
        if self._stream is not None:
            self._stream.expect_within(seconds)
        try:
            yield
            if self._stream is not None:
                self._stream.expect_within(inf)
        except WorkerLost as error:
            if self._lost or self._stream is None:
                raise
            told = "" if self._is_closed else self._stream.ended or self._job.why_ended(self._pod)
            raise self._lose(told or str(error)) from None
