"""The environment variables by which programs use a proxy, and trust the local authority beside those of the
system: curl, Python, Node.js, Java, Go, gRPC and others.

Variables that name one file replace what a program trusts by itself: that file (`trust_files`) has the
system's authorities, too. Nothing is put into the trust store of a system or a program. No I/O.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from faultkit.base.address import Endpoint

JAVA_PASSWORD = "changeit"
"""The usual one: a trust store has no secret, and Java reads none without a password."""
NODE_PRELOAD = Path(__file__).with_name("node_proxy.cjs")
"""Lets the `fetch` of Node.js below 22.21 use the proxy of the environment."""


@dataclass(frozen=True, slots=True)
class TrustFiles:
    """Files for programs that are to trust an authority."""

    authority: Path
    bundle: Path
    java_store: Path


def _trust_variables(files: TrustFiles) -> dict[str, str]:
    """Return the variables by which programs find the authorities that they trust."""
    bundle = str(files.bundle)
    return {
        "SSL_CERT_FILE": bundle,
        "CURL_CA_BUNDLE": bundle,
        "REQUESTS_CA_BUNDLE": bundle,
        "AWS_CA_BUNDLE": bundle,
        "GIT_SSL_CAINFO": bundle,
        "GRPC_DEFAULT_SSL_ROOTS_FILE_PATH": bundle,
        "DENO_CERT": str(files.authority),
        "NODE_EXTRA_CA_CERTS": str(files.authority),
    }


def _proxy_variables(proxy: Endpoint) -> dict[str, str]:
    """Return the variables by which programs find an HTTP proxy, for all hosts, loopback included."""
    url = f"http://{proxy}"
    both = {name: url for name in ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy")}
    return {**both, "NO_PROXY": "", "no_proxy": "", "NODE_USE_ENV_PROXY": "1"}


def _runtime_options(
    files: TrustFiles | None, proxy: Endpoint | None, env: Mapping[str, str]
) -> dict[str, str]:
    """Return the variables that hold options of a runtime: what they have already stays in front."""
    java: list[str] = []
    node: list[str] = []
    if files is not None:
        java = [
            f"-Djavax.net.ssl.trustStore={files.java_store}",
            "-Djavax.net.ssl.trustStoreType=PKCS12",
            f"-Djavax.net.ssl.trustStorePassword={JAVA_PASSWORD}",
        ]
    if proxy is not None:
        for scheme in ("http", "https"):
            java += [f"-D{scheme}.proxyHost={proxy.host}", f"-D{scheme}.proxyPort={proxy.port}"]
        java.append("-Dhttp.nonProxyHosts=")
        node.append(f'--require="{NODE_PRELOAD}"')
    options = {"JAVA_TOOL_OPTIONS": java, "NODE_OPTIONS": node}
    return {
        name: " ".join([*filter(None, [_without(env.get(name, ""), own)]), *own])
        for name, own in options.items()
        if own
    }


def _without(given: str, own: list[str]) -> str:
    """Return the options without those that are added again."""
    # A property of Java counts once; --require may come several times.
    names = {option if option.startswith("--") else option.partition("=")[0] for option in own}
    kept = (option for option in given.split() if not {option, option.partition("=")[0]} & names)
    return " ".join(kept)


def client_variables(
    files: TrustFiles | None, proxy: Endpoint | None, env: Mapping[str, str]
) -> dict[str, str]:
    """Return the variables for programs that are to use the proxy and trust the files, as far as given.

    env: the environment to which they are added"""
    return {
        **({} if proxy is None else _proxy_variables(proxy)),
        **({} if files is None else _trust_variables(files)),
        **_runtime_options(files, proxy, env),
    }
