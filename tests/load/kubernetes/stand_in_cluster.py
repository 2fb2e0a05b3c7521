"""A stand-in for a whole cluster: the few calls of the API server that a run makes, and one node.

What it accepts is held against the schemas of Kubernetes. The tests that use it run against a real API server
as well, if there is one (`real_cluster`).
"""

from __future__ import annotations

import json
import re
import socket
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import kubernetes_validate
import yaml

from tests.load.kubernetes.pod_processes import PodProcess, WebSocketServer

ROLE = Path(__file__).parents[3] / "deploy/kubernetes/coordinator.yaml"
NAMESPACES = ("faultkit", "default")
_NAME = re.compile(r"[a-z0-9]([-.a-z0-9]{0,61}[a-z0-9])?")
_JOBS = re.compile(r"/apis/batch/v1/namespaces/([^/]+)/jobs(?:/([^/]+))?")
_CORE = re.compile(r"/api/v1/namespaces/([^/]+)/(pods|events)(?:/([^/]+)/attach)?")


class StandInCluster:
    """An API server on loopback, without TLS."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.version = {"major": "1", "minor": "36", "gitVersion": "v1.36.4"}
        self._quota: int | None = None
        self.troubles: list[int] = []
        """The status of each call of a Job or of pods to come that fails, with 0 for a connection that is
        dropped; then calls succeed again."""
        self.fails_after_creation = False
        """Whether the next Job is created, and its creator gets an error."""
        self.attachments = threading.Event()
        """Cleared: requests to attach are not answered."""
        self.attachments.set()
        self._lock = threading.Lock()
        self._jobs: dict[str, dict[str, Any]] = {}
        self._pods: dict[str, dict[str, Any]] = {}
        self._processes: dict[str, PodProcess] = {}
        role = next(each for each in yaml.safe_load_all(ROLE.read_text()) if each["kind"] == "Role")
        self._role = {
            (group, resource, verb)
            for rule in role["rules"]
            for group in rule["apiGroups"]
            for resource in rule["resources"]
            for verb in rule["verbs"]
        }
        handler = type("Handler", (_Handler,), {"cluster": self})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> StandInCluster:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        for process in self._processes.values():
            process.close()

    # --- as the tests see it ----------------------------------------------------------------------

    def kubeconfig(self, name: str, token: str) -> Path:
        """Write a kubeconfig for a bearer of a token, and return its path."""
        path = self.folder / f"{name}.kubeconfig"
        document = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "c", "cluster": {"server": self.url}}],
            "users": [{"name": name, "user": {"token": token}}],
            "contexts": [{"name": name, "context": {"cluster": "c", "user": name}}],
            "current-context": name,
        }
        path.write_text(json.dumps(document))
        return path

    def admin_config(self) -> Path:
        """Return the kubeconfig of a user with all rights."""
        return self.kubeconfig("admin", "admin-token")

    def coordinator(self) -> Path:
        """Return the kubeconfig of a user with the rights of the coordinator's Role only."""
        return self.kubeconfig("coordinator", "coordinator-token")

    def stranger(self) -> Path:
        """Return the kubeconfig of a user without rights."""
        return self.kubeconfig("stranger", "stranger-token")

    def running(self) -> dict[int, PodProcess]:
        """Return the processes that run, by index."""
        return {each.index: each for each in list(self._processes.values()) if each.poll() is None}

    def limit_pods(self, most: int) -> Callable[[], None]:
        """Let at most so many pods be made by a quota, until the function that is returned is called."""
        self._quota = most

        def lift() -> None:
            self._quota = None

        return lift

    def left(self) -> list[str]:
        """Return the names of all Jobs and pods; the TTL of a Job whose pods have ended counts as over."""
        with self._lock:
            for name in list(self._jobs):
                pods = [pod for pod in self._pods.values() if self._job_of(pod) == name]
                if pods and all(self._status(pod)["phase"] in ("Succeeded", "Failed") for pod in pods):
                    self._delete(name)
            return [*self._jobs, *self._pods]

    # --- as its clients see it --------------------------------------------------------------------

    def serve(self, request: _Handler, body: Any) -> None:
        path, query = urlsplit(request.path).path, parse_qs(urlsplit(request.path).query)
        token = (request.headers.get("Authorization") or "").removeprefix("Bearer ")
        user = token.removesuffix("-token")
        if user not in ("admin", "coordinator", "stranger"):
            return request.answer(401, _failure(401, "Unauthorized"))
        if path == "/version/":
            return request.answer(200, self.version)
        if path == "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews":
            asked = body["spec"]["resourceAttributes"]
            resource = "/".join(filter(None, (asked["resource"], asked.get("subresource"))))
            allowed = self._may(user, asked["namespace"], asked["group"], resource, asked["verb"])
            return request.answer(201, {**body, "status": {"allowed": allowed}})
        job, core = _JOBS.fullmatch(path), _CORE.fullmatch(path)
        if self.troubles and "dryRun" not in query:
            return request.fail(self.troubles.pop(0))
        verb = {"POST": "create", "DELETE": "delete"}.get(request.command, "get")
        if job is not None:
            if not self._may(user, job[1], "batch", "jobs", verb):
                return request.answer(403, _failure(403, f"{user} cannot {verb} jobs"))
            return self._serve_job(request, job[1], job[2], body, is_dry="dryRun" in query)
        assert core is not None, path
        resource, verb = ("pods/attach", "get") if core[3] else (core[2], "list")
        if not self._may(user, core[1], "", resource, verb):
            return request.answer(403, _failure(403, f"{user} cannot {verb} {resource}"))
        if core[3]:
            return self._attach(request, core[3])
        if core[2] == "events":
            message = 'pods "x" is forbidden: exceeded quota: none, requested: pods=1, used: pods=0'
            event = {"type": "Warning", "reason": "FailedCreate", "message": message}
            return request.answer(200, {"items": [] if self._quota is None else [event]})
        wanted = query["labelSelector"][0].partition("=")[2]
        with self._lock:
            pods = [
                {**pod, "status": self._status(pod)}
                for pod in self._pods.values()
                if self._job_of(pod) == wanted
            ]
        return request.answer(200, {"items": pods})

    def _may(self, user: str, namespace: str, group: str, resource: str, verb: str) -> bool:
        if user == "coordinator":
            return namespace == "faultkit" and (group, resource, verb) in self._role
        return user == "admin"

    def _serve_job(
        self, request: _Handler, namespace: str, name: str | None, body: Any, *, is_dry: bool
    ) -> None:
        if namespace not in NAMESPACES:
            return request.answer(404, _failure(404, f'namespaces "{namespace}" not found'))
        if request.command == "POST":
            kubernetes_validate.validate(body, "1.36", strict=True)
            if not _NAME.fullmatch(body["metadata"]["name"]):
                return request.answer(
                    422, _failure(422, f"{body['metadata']['name']} is no RFC 1123 subdomain")
                )
            with self._lock:
                if body["metadata"]["name"] in self._jobs:
                    return request.answer(409, _failure(409, "it already exists"))
                if not is_dry:
                    self._create(body)
            if self.fails_after_creation and not is_dry:
                self.fails_after_creation = False
                return request.fail(504)
            return request.answer(201, body)
        with self._lock:
            found = self._jobs.get(name or "")
            if found is None:
                return request.answer(404, _failure(404, f'jobs.batch "{name}" not found'))
            if request.command == "DELETE":
                self._delete(name or "")
        return request.answer(200, found)

    def _create(self, job: dict[str, Any]) -> None:
        name, template = job["metadata"]["name"], job["spec"]["template"]
        self._jobs[name] = job
        for index in range(job["spec"]["completions"])[: self._quota]:
            labels = {
                **template["metadata"]["labels"],
                "batch.kubernetes.io/job-name": name,
                "batch.kubernetes.io/job-completion-index": str(index),
            }
            pod_name = f"{name}-{index}-abcde"
            pod = {"metadata": {"name": pod_name, "labels": labels}, "spec": {**template["spec"]}}
            self._pods[pod_name] = pod
            if "nodeSelector" not in pod["spec"]:
                pod["spec"]["nodeName"] = "stand-in"
                if not pod["spec"]["containers"][0]["image"].startswith(("missing", "large")):
                    self._processes[pod_name] = PodProcess(pod)

    def _delete(self, name: str) -> None:
        del self._jobs[name]
        for pod_name in [each for each, pod in self._pods.items() if self._job_of(pod) == name]:
            del self._pods[pod_name]
            if pod_name in self._processes:
                self._processes[pod_name].close()

    def _job_of(self, pod: dict[str, Any]) -> str:
        return str(pod["metadata"]["labels"]["batch.kubernetes.io/job-name"])

    def _status(self, pod: dict[str, Any]) -> dict[str, Any]:
        process = self._processes.get(pod["metadata"]["name"])
        if "nodeName" not in pod["spec"]:
            return unschedulable()
        if process is None:
            return not_pulled(pod["spec"]["containers"][0]["image"])
        return status_of(process)

    def _attach(self, request: _Handler, name: str) -> None:
        self.attachments.wait()
        process = self._processes.get(name)
        if process is None or process.poll() is not None:
            return request.answer(500, _failure(500, f"container worker of {name} does not run"))
        process.serve_attachment(WebSocketServer(request))


class _Handler(BaseHTTPRequestHandler):
    cluster: StandInCluster
    protocol_version = "HTTP/1.1"

    def _serve(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        self.cluster.serve(self, json.loads(self.rfile.read(length)) if length else None)

    do_GET = do_POST = do_DELETE = _serve

    def answer(self, status: int, document: Any) -> None:
        body = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def fail(self, status: int) -> None:
        if status:
            return self.answer(status, _failure(status, "etcdserver: leader changed"))
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)

    def log_message(self, *args: object) -> None:
        pass


def _failure(code: int, message: str) -> dict[str, Any]:
    return {"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": message, "code": code}


# --- what a node says about pods --------------------------------------------------------------


def unschedulable() -> dict[str, Any]:
    condition = {
        "type": "PodScheduled",
        "status": "False",
        "reason": "Unschedulable",
        "message": "0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector.",
    }
    return {"phase": "Pending", "conditions": [condition]}


def not_pulled(image: str) -> dict[str, Any]:
    """Return the status of a pod whose image is not there, or is large and takes forever."""
    if image.startswith("large"):
        return _status("Pending", {"waiting": {"reason": "ContainerCreating"}})
    return _status(
        "Pending", {"waiting": {"reason": "ImagePullBackOff", "message": f"Back-off pulling {image}"}}
    )


def status_of(process: PodProcess) -> dict[str, Any]:
    code = process.poll()
    if code is None:
        return _status("Running", {"running": {}})
    told = {"exitCode": code, "reason": "Error" if code else "Completed", "message": process.message()}
    return _status("Failed" if code else "Succeeded", {"terminated": told})


def _status(phase: str, state: dict[str, Any]) -> dict[str, Any]:
    container = {"name": "worker", "image": "x", "imageID": "", "ready": False, "restartCount": 0}
    return {"phase": phase, "containerStatuses": [{**container, "state": state}]}
