"""Calls of a cluster's API server by the official client, and its refusals as errors for a user.

Values come and go as plain JSON. The client's package is imported when a cluster is opened.
"""

from __future__ import annotations

import json
import os
import re
import threading
from collections.abc import Mapping
from concurrent.futures import Future
from typing import Any

import yaml

from faultkit.base.errors import InputError, RunError
from faultkit.base.installation import require_extra
from faultkit.base.text import one_line, shortened
from faultkit.load.kubernetes.manifests import OLDEST_VERSION, RIGHTS, Manifest
from faultkit.load.kubernetes.pod_settings import JOB_LABEL, PodSettings

_REQUEST_S = (5.0, 15.0)
"""Seconds to connect, and to wait for an answer."""
_NUMBER = re.compile(r"[0-9]+")
_TOO_MANY_REQUESTS = 429
_PASSING = {_TOO_MANY_REQUESTS, 502, 503, 504}
"""Refusals to attach that may pass. 500 also means that the container does not run."""


class Unavailable(RunError):
    """The API server cannot be reached, or has failed itself. A later call may succeed."""

    def __init__(self, server: str, expected: str, got: str) -> None:
        super().__init__(f"the API server {server} is not available: {got}")
        self.refusal = InputError("--on", f"expected {expected}, got {got}")
        """The same for a cluster that is not in use yet."""


class ClusterApi:
    """One namespace of a cluster. Each thread that attaches needs an object of its own: see `again`."""

    def __init__(self, configuration: Any, namespace: str, server: str) -> None:
        from kubernetes import client

        self.namespace = namespace
        self.server = server
        self._configuration = configuration
        self._client = client.ApiClient(configuration)
        self._jobs = client.BatchV1Api(self._client)
        self._pods = client.CoreV1Api(self._client)

    def again(self) -> ClusterApi:
        """Return another connection to the same cluster."""
        return ClusterApi(self._configuration, self.namespace, self.server)

    def close(self) -> None:
        """Close the connections."""
        self._client.close()
        self._client.rest_client.pool_manager.clear()  # The client leaves them open.

    def check(self, trial: Manifest) -> None:
        """Raise InputError unless the cluster can run such a Job, and we have all rights for it."""
        try:
            self._check(trial)
        except Unavailable as error:
            raise error.refusal from None

    def _check(self, trial: Manifest) -> None:
        from kubernetes import client

        found = self._call(client.VersionApi(self._client).get_code)
        version = _version(found)
        if version < OLDEST_VERSION:
            oldest = ".".join(map(str, OLDEST_VERSION))
            raise InputError(
                "--on", f"expected Kubernetes {oldest} or newer at {self.server}, got {found['gitVersion']}"
            )
        missing = [
            f"{verb} {resource}"
            for (group, resource), verbs in RIGHTS.items()
            for verb in verbs
            if not self._may(client, group, resource, verb)
        ]
        if missing:
            raise InputError(
                "--on",
                f'expected rights in the namespace "{self.namespace}" at {self.server}, got none to '
                f"{', '.join(missing)} (deploy/kubernetes has a Role with them)",
            )
        self._call(self._jobs.create_namespaced_job, self.namespace, trial, dry_run="All")

    def _may(self, client: Any, group: str, resource: str, verb: str) -> bool:
        name, _, part = resource.partition("/")
        asked = {"namespace": self.namespace, "group": group, "resource": name, "verb": verb}
        review = {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SelfSubjectAccessReview",
            "spec": {"resourceAttributes": {**asked, "subresource": part}},
        }
        answer = self._call(client.AuthorizationV1Api(self._client).create_self_subject_access_review, review)
        return bool(answer["status"]["allowed"])

    def create_job(self, manifest: Manifest, *, again: bool = False) -> None:
        """Create a Job. `again`: an earlier attempt failed, and may have created it all the same."""
        known = (409,) if again else ()
        self._call(self._jobs.create_namespaced_job, self.namespace, manifest, known=known)

    def job(self, name: str) -> Mapping[str, Any]:
        """Return a Job."""
        found: Mapping[str, Any] = self._call(self._jobs.read_namespaced_job, name, self.namespace)
        return found

    def delete_job(self, name: str) -> None:
        """Delete a Job and its pods; one that is gone is not an error."""
        self._call(
            self._jobs.delete_namespaced_job,
            name,
            self.namespace,
            propagation_policy="Background",
            known=(404,),
        )

    def pods_of(self, job: str) -> list[Mapping[str, Any]]:
        """Return the pods of a Job."""
        listed = self._call(
            self._pods.list_namespaced_pod, self.namespace, label_selector=f"{JOB_LABEL}={job}"
        )
        return list(listed["items"])

    def events_of(self, job: str) -> list[Mapping[str, Any]]:
        """Return the events of a Job."""
        selector = f"involvedObject.kind=Job,involvedObject.name={job}"
        return list(
            self._call(self._pods.list_namespaced_event, self.namespace, field_selector=selector)["items"]
        )

    def attach(self, pod: str, container: str) -> Future[Any]:
        """Connect to the standard input and output of a pod, in a thread of its own: the client has no time
        limit for that. The result is the WebSocket, or a RunError if it is refused; Unavailable if that may
        pass."""
        attached: Future[Any] = Future()

        def connect() -> None:
            try:
                attached.set_result(self._attach(pod, container))
            except Exception as error:
                attached.set_exception(error)

        threading.Thread(target=connect, name="fault-attach", daemon=True).start()
        return attached

    def _attach(self, pod: str, container: str) -> Any:
        from kubernetes import client
        from kubernetes.stream import stream
        from kubernetes.stream.ws_client import WebSocketConnectionClosedException

        # The client takes the place of a method of its own during the call, so each call has its own client.
        own = client.ApiClient(self._configuration)
        # The older of the two protocols: API servers pass it on to the kubelet as it is, in all versions.
        own.set_default_header("sec-websocket-protocol", "v4.channel.k8s.io")
        try:
            attached = stream(
                client.CoreV1Api(own).connect_get_namespaced_pod_attach,
                pod,
                self.namespace,
                container=container,
                stdin=True,
                stdout=True,
                stderr=False,
                tty=False,
                binary=True,
                _preload_content=False,
            )
        except client.ApiException as error:
            told = _told(error).partition(" -+-+- ")[0]  # Headers and body follow.
            cause = error.__context__  # The client keeps only its text.
            is_cut = isinstance(cause, (OSError, WebSocketConnectionClosedException))
            if is_cut or getattr(cause, "status_code", 0) in _PASSING:
                raise Unavailable(self.server, f"a connection to the pod {pod}", told) from None
            raise RunError(f"it cannot be attached to: {told}") from None
        return attached.sock

    def _call(self, method: Any, *args: Any, known: tuple[int, ...] = (), **kwargs: Any) -> Any:
        """Return the answer to a call; None if its status is an error that is `known`."""
        from kubernetes.client.exceptions import ApiException

        try:
            answer = method(*args, **kwargs, _preload_content=False, _request_timeout=_REQUEST_S)
            return json.loads(answer.data)
        except ApiException as error:
            if error.status in known:
                return None
            raise self._refusal(error) from None
        except Exception as error:  # The client lets those of urllib3 through.
            raise self._unreachable(error) from None

    def _refusal(self, error: Any) -> InputError | Unavailable:
        expected, got = f"an answer of {self.server}", f"{error.status}: {_told(error)}"
        if error.status >= 500 or error.status == _TOO_MANY_REQUESTS:
            return Unavailable(self.server, expected, got)
        match error.status:
            case 401:
                return InputError("--on", f"expected credentials that {self.server} knows, got others")
            case 404 if f'namespaces "{self.namespace}"' in _told(error):
                return InputError(
                    "--on", f'expected the namespace "{self.namespace}" at {self.server}, got none'
                )
        return InputError("--on", f"expected {expected}, got {got}")

    def _unreachable(self, error: Exception) -> Unavailable:
        reason = getattr(error, "reason", None) or error
        why = shortened(one_line(str(reason)), 200)
        return Unavailable(self.server, f"a Kubernetes API server at {self.server}", f"none: {why}")


def open_cluster(settings: PodSettings) -> ClusterApi:
    """Return the cluster of the kubeconfig, or the one whose pod this is. Raises InputError."""
    require_extra("kubernetes", "--on kubernetes")
    from kubernetes import client, config

    configuration = client.Configuration()
    paths = os.environ.get("KUBECONFIG") or os.path.expanduser("~/.kube/config")
    has_file = any(os.path.exists(path) for path in paths.split(os.pathsep))
    if settings.context is not None and not has_file:
        problem = f'expected a kubeconfig ({paths}) with the context "{settings.context}", got none'
        raise InputError("--on", problem)
    try:
        if has_file:
            config.load_kube_config(paths, settings.context, configuration)
        else:
            config.load_incluster_config(configuration)
    except config.ConfigException as error:
        why = one_line(str(error))
        if has_file:
            raise InputError("--on", f"expected a kubeconfig with a cluster in {paths}, got: {why}") from None
        raise InputError(
            "--on", f"expected a kubeconfig ({paths}) or the service account of a pod, got neither: {why}"
        ) from None
    except (OSError, yaml.YAMLError) as error:
        raise InputError("--on", f"expected a kubeconfig in {paths}, got: {one_line(str(error))}") from None
    configuration.retries = 0
    return ClusterApi(configuration, settings.namespace, str(configuration.host))


def _version(found: Mapping[str, Any]) -> tuple[int, int]:
    numbers = [_NUMBER.match(str(found.get(key, ""))) for key in ("major", "minor")]
    major, minor = (int(number[0]) if number else 0 for number in numbers)
    return major, minor


def _told(error: Any) -> str:
    """Return the message of an API server, or what the client says instead."""
    try:
        text = json.loads(error.body)["message"]
    except (TypeError, ValueError, KeyError):
        text = error.body or error.reason or "no reason"
    if isinstance(text, bytes):
        text = text.decode("utf-8", "replace")
    return shortened(one_line(str(text)), 300)
