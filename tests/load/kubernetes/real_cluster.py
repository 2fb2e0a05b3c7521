"""A real control plane of Kubernetes on this machine, with a stand-in for the only node.

etcd, kube-apiserver with RBAC, kube-controller-manager (Jobs, TTLs, garbage) and kubectl are the real
programs, from the folder that FAULTKIT_KUBERNETES_BIN names, or on the PATH. There is no container engine
here, so the node is a stand-in: it binds pods to itself, runs their commands as processes, reports their
status, and serves attachments to the API server over TLS, like a kubelet.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import shutil
import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import trustme
from kubernetes import client, config
from kubernetes.client.exceptions import ApiException

from tests.load.kubernetes.pod_processes import PodProcess, WebSocketServer
from tests.load.kubernetes.stand_in_cluster import not_pulled, status_of, unschedulable

BIN = os.environ.get("FAULTKIT_KUBERNETES_BIN", "")
DEPLOY = Path(__file__).parents[3] / "deploy/kubernetes"
NODE = "stand-in"
_TOKENS = {"admin": "system:masters", "stranger": ""}


class RealCluster:
    """The processes of the control plane, and clients of it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.url = ""
        self._stack = contextlib.ExitStack()

    def __enter__(self) -> RealCluster:
        with contextlib.ExitStack() as stack:
            self._start(stack)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *exc: object) -> None:
        self._stack.close()

    def _start(self, stack: contextlib.ExitStack) -> None:
        ca = trustme.CA()
        ca.cert_pem.write_to_path(self.folder / "ca.pem")
        server = ca.issue_cert("127.0.0.1", "localhost", NODE)
        server.private_key_pem.write_to_path(self.folder / "key.pem")
        for number, blob in enumerate(server.cert_chain_pems):
            blob.write_to_path(self.folder / "cert.pem", append=number > 0)
        (self.folder / "tokens.csv").write_text(
            "".join(f'{name}-token,{name},{name},"{groups}"\n' for name, groups in _TOKENS.items())
        )
        etcd, api = free_port(), free_port()
        self.url = f"https://127.0.0.1:{api}"
        self._run(
            stack,
            "etcd",
            f"--data-dir={self.folder / 'etcd'}",
            f"--listen-client-urls=http://127.0.0.1:{etcd}",
            f"--advertise-client-urls=http://127.0.0.1:{etcd}",
            f"--listen-peer-urls=http://127.0.0.1:{free_port()}",
            "--unsafe-no-fsync",
        )
        self._run(
            stack,
            "kube-apiserver",
            f"--etcd-servers=http://127.0.0.1:{etcd}",
            f"--secure-port={api}",
            "--bind-address=127.0.0.1",
            "--advertise-address=127.0.0.1",
            f"--tls-cert-file={self.folder / 'cert.pem'}",
            f"--tls-private-key-file={self.folder / 'key.pem'}",
            f"--token-auth-file={self.folder / 'tokens.csv'}",
            "--authorization-mode=RBAC",
            f"--service-account-key-file={self.folder / 'key.pem'}",
            f"--service-account-signing-key-file={self.folder / 'key.pem'}",
            f"--service-account-issuer={self.url}",
            "--service-cluster-ip-range=10.0.0.0/24",
            "--kubelet-preferred-address-types=InternalIP",
        )
        admin = self.kubeconfig("admin", "admin-token")
        self.admin = self.client(admin)
        self._wait_until_ready()
        self._run(
            stack,
            "kube-controller-manager",
            f"--kubeconfig={admin}",
            "--use-service-account-credentials=false",
            f"--service-account-private-key-file={self.folder / 'key.pem'}",
            f"--root-ca-file={self.folder / 'ca.pem'}",
            "--controllers=job-controller,ttl-after-finished-controller,garbage-collector-controller,"
            "serviceaccount-controller,namespace-controller",
            "--leader-elect=false",
            "--bind-address=127.0.0.1",
            f"--secure-port={free_port()}",
        )
        self._deploy()
        self.node = stack.enter_context(StandInNode(self.admin, self.folder))

    def _run(self, stack: contextlib.ExitStack, program: str, *flags: str) -> None:
        log = stack.enter_context((self.folder / f"{program}.log").open("wb"))
        process = subprocess.Popen([_program(program), *flags], stdout=log, stderr=log, cwd=self.folder)
        stack.callback(process.wait)
        stack.callback(process.kill)

    def _wait_until_ready(self) -> None:
        for _ in range(600):
            with contextlib.suppress(Exception):
                client.VersionApi(self.admin).get_code()
                client.CoreV1Api(self.admin).read_namespace("default")
                return
            time.sleep(0.2)
        raise AssertionError((self.folder / "kube-apiserver.log").read_text()[-3000:])

    def _deploy(self) -> None:
        """Apply the kustomize folder."""
        self.kubectl("apply", "-k", str(DEPLOY))

    def kubectl(self, *args: str, input_: str = "") -> str:
        """Run kubectl with all rights, and return what it prints."""
        command = [_program("kubectl"), f"--kubeconfig={self.admin_config()}", *args]
        done = subprocess.run(command, input=input_, text=True, capture_output=True, check=False)
        assert (done.returncode, done.stderr) == (0, ""), done.stderr
        return done.stdout

    def kubeconfig(self, name: str, token: str) -> Path:
        """Write a kubeconfig for a bearer of a token, and return its path."""
        path = self.folder / f"{name}.kubeconfig"
        ca = base64.b64encode((self.folder / "ca.pem").read_bytes()).decode()
        document = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "c", "cluster": {"server": self.url, "certificate-authority-data": ca}}],
            "users": [{"name": name, "user": {"token": token}}],
            "contexts": [{"name": name, "context": {"cluster": "c", "user": name}}],
            "current-context": name,
        }
        path.write_text(json.dumps(document))
        return path

    def client(self, kubeconfig: Path) -> Any:
        return config.new_client_from_config(str(kubeconfig))

    def coordinator(self) -> Path:
        """Return the kubeconfig of the coordinator's ServiceAccount, with the rights of its Role only."""
        answer = client.CoreV1Api(self.admin).create_namespaced_service_account_token(
            "faultkit-coordinator",
            "faultkit",
            {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}},
            _preload_content=False,
        )
        return self.kubeconfig("coordinator", json.loads(answer.data)["status"]["token"])

    def admin_config(self) -> Path:
        """Return the kubeconfig of a user with all rights."""
        return self.folder / "admin.kubeconfig"

    def running(self) -> dict[int, PodProcess]:
        """Return the processes that run, by index."""
        return self.node.running()

    def limit_pods(self, most: int) -> Callable[[], None]:
        """Let at most so many pods be made by a quota, until the function that is returned is called."""
        core = client.CoreV1Api(self.admin)
        quota = {
            "apiVersion": "v1",
            "kind": "ResourceQuota",
            "metadata": {"name": "none"},
            "spec": {"hard": {"pods": str(most)}},
        }
        core.create_namespaced_resource_quota("faultkit", quota)
        core.patch_namespaced_resource_quota_status(
            "none", "faultkit", {"status": {"hard": {"pods": str(most)}, "used": {"pods": "0"}}}
        )

        def lift() -> None:
            core.delete_namespaced_resource_quota("none", "faultkit")

        return lift

    def stranger(self) -> Path:
        """Return the kubeconfig of a user without rights."""
        return self.kubeconfig("stranger", "stranger-token")

    def left(self) -> list[str]:
        """Return the names of all Jobs and pods of the namespace."""
        jobs = client.BatchV1Api(self.admin).list_namespaced_job("faultkit", _preload_content=False)
        pods = client.CoreV1Api(self.admin).list_namespaced_pod("faultkit", _preload_content=False)
        return [item["metadata"]["name"] for each in (jobs, pods) for item in json.loads(each.data)["items"]]


class StandInNode:
    """A node that runs pods as processes. Pods with a node selector find no node; an image whose name begins
    with "missing" cannot be pulled, and one with "large" takes forever."""

    def __init__(self, admin: Any, folder: Path) -> None:
        self._core = client.CoreV1Api(admin)
        self._processes: dict[str, PodProcess] = {}
        self._told: dict[str, Any] = {}
        self._over = threading.Event()
        self._loop = threading.Thread(target=self._work, daemon=True)
        node = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                parts = self.path.partition("?")[0].split("/")
                process = node._processes.get(parts[3]) if parts[1] == "attach" else None
                if process is None:
                    return self.send_error(404)
                process.serve_attachment(WebSocketServer(self))

            do_POST = do_GET

            def log_message(self, *args: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(folder / "cert.pem", folder / "key.pem")
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        self._server.daemon_threads = True

    def __enter__(self) -> StandInNode:
        self._core.create_node({"apiVersion": "v1", "kind": "Node", "metadata": {"name": NODE}})
        status = {
            "addresses": [{"type": "InternalIP", "address": "127.0.0.1"}],
            "daemonEndpoints": {"kubeletEndpoint": {"Port": self._server.server_address[1]}},
            "conditions": [{"type": "Ready", "status": "True", "reason": "StandIn", "message": ""}],
        }
        self._core.patch_node_status(NODE, {"status": status})
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        self._loop.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._over.set()
        self._loop.join(10)
        self._server.shutdown()
        self._server.server_close()
        for process in self._processes.values():
            process.close()

    def running(self) -> dict[int, PodProcess]:
        """Return the processes that run, by index."""
        return {each.index: each for each in list(self._processes.values()) if each.poll() is None}

    def _work(self) -> None:
        while not self._over.wait(0.1):
            with contextlib.suppress(ApiException, OSError):
                listed = self._core.list_namespaced_pod("faultkit", _preload_content=False)
                for pod in json.loads(listed.data)["items"]:
                    with contextlib.suppress(ApiException):
                        self._tend(pod)

    def _tend(self, pod: dict[str, Any]) -> None:
        name, spec = pod["metadata"]["name"], pod["spec"]
        process = self._processes.get(name)
        if pod["metadata"].get("deletionTimestamp"):
            if process is not None:
                process.close()
                self._tell(name, status_of(process))
            self._core.delete_namespaced_pod(name, "faultkit", grace_period_seconds=0)
        elif "nodeSelector" in spec:
            self._tell(name, unschedulable())
        elif "nodeName" not in spec:
            target = {"apiVersion": "v1", "kind": "Node", "name": NODE}
            binding = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": name}, "target": target}
            self._core.create_namespaced_binding("faultkit", binding, _preload_content=False)
        elif (image := spec["containers"][0]["image"]).startswith(("missing", "large")):
            self._tell(name, not_pulled(image))
        else:
            if process is None:
                process = self._processes[name] = PodProcess(pod)
            self._tell(name, status_of(process))

    def _tell(self, name: str, status: dict[str, Any]) -> None:
        if self._told.get(name) != status:
            self._core.patch_namespaced_pod_status(
                name, "faultkit", {"status": status}, _preload_content=False
            )
            self._told[name] = status


def _program(name: str) -> str:
    path = Path(BIN) / name
    found = str(path) if path.exists() else shutil.which(name)
    assert found, f"no {name} in {BIN} or on the PATH"
    return found


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port
