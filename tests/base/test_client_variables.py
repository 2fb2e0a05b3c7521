"""The variables that programs get, and the files that these name."""

import os
import ssl
from pathlib import Path

from cryptography.hazmat.primitives.serialization.pkcs12 import load_pkcs12

from faultkit.base.address import Endpoint
from faultkit.base.client_variables import JAVA_PASSWORD, NODE_PRELOAD, TrustFiles, client_variables
from faultkit.base.local_authority import open_authority
from faultkit.base.trust_files import write_trust_files

FILES = TrustFiles(Path("/ca/ca.pem"), Path("/ca/bundle.pem"), Path("/ca/truststore.p12"))
TRUST_OF_JAVA = (
    "-Djavax.net.ssl.trustStore=/ca/truststore.p12 -Djavax.net.ssl.trustStoreType=PKCS12 "
    "-Djavax.net.ssl.trustStorePassword=changeit"
)


def test_trust_alone_names_the_files() -> None:
    bundle = "/ca/bundle.pem"
    assert client_variables(FILES, None, {}) == {
        "SSL_CERT_FILE": bundle,
        "CURL_CA_BUNDLE": bundle,
        "REQUESTS_CA_BUNDLE": bundle,
        "AWS_CA_BUNDLE": bundle,
        "GIT_SSL_CAINFO": bundle,
        "GRPC_DEFAULT_SSL_ROOTS_FILE_PATH": bundle,
        "DENO_CERT": "/ca/ca.pem",
        "NODE_EXTRA_CA_CERTS": "/ca/ca.pem",
        "JAVA_TOOL_OPTIONS": TRUST_OF_JAVA,
    }


def test_a_proxy_alone_needs_no_files() -> None:
    proxied = client_variables(None, Endpoint("127.0.0.1", 3180), {})
    url = "http://127.0.0.1:3180"
    assert proxied == {
        "HTTP_PROXY": url,
        "HTTPS_PROXY": url,
        "http_proxy": url,
        "https_proxy": url,
        "NO_PROXY": "",
        "no_proxy": "",
        "NODE_USE_ENV_PROXY": "1",
        "JAVA_TOOL_OPTIONS": "-Dhttp.proxyHost=127.0.0.1 -Dhttp.proxyPort=3180 -Dhttps.proxyHost=127.0.0.1 "
        "-Dhttps.proxyPort=3180 -Dhttp.nonProxyHosts=",
        "NODE_OPTIONS": f'--require="{NODE_PRELOAD}"',
    }
    assert NODE_PRELOAD.exists()


def test_options_of_the_user_stay_and_ours_come_once() -> None:
    proxy = Endpoint("127.0.0.1", 3180)
    before = {"JAVA_TOOL_OPTIONS": "-Xmx1g -Dhttp.proxyHost=old", "NODE_OPTIONS": "--require=./own.js"}
    once = client_variables(FILES, proxy, before)
    assert once["JAVA_TOOL_OPTIONS"].startswith(f"-Xmx1g {TRUST_OF_JAVA} -Dhttp.proxyHost=127.0.0.1 ")
    assert once["NODE_OPTIONS"] == f'--require=./own.js --require="{NODE_PRELOAD}"'
    assert client_variables(FILES, proxy, once) == once


def test_the_files_hold_the_authority_beside_others(tmp_path: Path) -> None:
    others = open_authority(tmp_path / "others")
    authority = open_authority(tmp_path / "ca")
    env = {"SSL_CERT_FILE": str(tmp_path / "others" / "ca.pem")}
    files = write_trust_files(authority, env)
    assert files.bundle.read_bytes() == authority.pem + others.pem
    trusted = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    trusted.load_verify_locations(files.bundle)
    assert len(trusted.get_ca_certs()) == 2
    store = load_pkcs12(files.java_store.read_bytes(), JAVA_PASSWORD.encode())
    assert {entry.certificate for entry in store.additional_certs} == {
        authority.certificate,
        others.certificate,
    }
    # A shell that has the variables already must not feed them back.
    again = write_trust_files(authority, {"SSL_CERT_FILE": str(files.bundle)})
    assert again.bundle.read_bytes() != authority.pem + authority.pem + others.pem


def test_files_of_another_environment_are_others(tmp_path: Path) -> None:
    open_authority(tmp_path / "others")
    authority = open_authority(tmp_path / "ca")
    usual = write_trust_files(authority, {})
    other = write_trust_files(authority, {"SSL_CERT_FILE": str(tmp_path / "others" / "ca.pem")})
    assert usual.bundle.name == "bundle.pem"
    assert usual.bundle != other.bundle
    assert authority.pem in usual.bundle.read_bytes()


def test_a_shell_that_has_the_variables_gets_the_same_files(tmp_path: Path) -> None:
    authority = open_authority(tmp_path / "ca")
    usual = write_trust_files(authority, {})
    assert write_trust_files(authority, {"SSL_CERT_FILE": str(usual.bundle)}) == usual


def test_files_that_no_program_was_given_for_a_month_are_removed(tmp_path: Path) -> None:
    authority = open_authority(tmp_path / "ca")
    kept = [write_trust_files(authority, {})]
    for name in ("one", "two", "three"):
        open_authority(tmp_path / name)
        files = write_trust_files(authority, {"SSL_CERT_FILE": str(tmp_path / name / "ca.pem")})
        kept.append(files)
        month_ago = files.bundle.stat().st_mtime - 31 * 86_400
        if name != "three":
            os.utime(files.bundle, (month_ago, month_ago))
    # The second is used again, so only the first is old.
    again = write_trust_files(authority, {"SSL_CERT_FILE": str(tmp_path / "two" / "ca.pem")})
    del kept[1]
    assert again in kept
    names = {path.name for files in kept for path in (files.bundle, files.java_store)}
    assert {path.name for path in authority.folder.iterdir()} == {"ca.pem", "ca-key.pem", *names}
