"""An OIDC issuer on loopback: discovery, keys, and valid or invalid tokens."""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from jwt.algorithms import ECAlgorithm, OKPAlgorithm, RSAAlgorithm

AUDIENCE = "https://tools.example.org"


@cache
def rsa_key(number: int = 0) -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


@cache
def ec_key() -> ec.EllipticCurvePrivateKey:
    return ec.generate_private_key(ec.SECP256R1())


@cache
def ed_key() -> ed25519.Ed25519PrivateKey:
    return ed25519.Ed25519PrivateKey.generate()


def listed(id: str, key: Any, **more: Any) -> dict[str, Any]:
    """Return a public key as an issuer lists it."""
    public = key.public_key()
    kinds: tuple[tuple[type, Any], ...] = (
        (rsa.RSAPublicKey, RSAAlgorithm),
        (ec.EllipticCurvePublicKey, ECAlgorithm),
        (ed25519.Ed25519PublicKey, OKPAlgorithm),
    )
    algorithm = next(algorithm for kind, algorithm in kinds if isinstance(public, kind))
    return {**algorithm.to_jwk(public, as_dict=True), "kid": id, "use": "sig", **more}


class Issuer:
    def __init__(self, url: str) -> None:
        self.url = url
        self.keys = [listed("one", rsa_key()), listed("ec", ec_key()), listed("ed", ed_key())]
        self.named = url
        """What its discovery document says that it is."""
        self.is_away = False
        self.asked: Counter[str] = Counter()

    def answer(self, path: str) -> tuple[int, Any]:
        self.asked[path] += 1
        documents = {
            "/.well-known/openid-configuration": {"issuer": self.named, "jwks_uri": f"{self.url}/jwks"},
            "/jwks": {"keys": self.keys},
        }
        if self.is_away or path not in documents:
            return 503 if self.is_away else 404, {}
        return 200, documents[path]

    def token(self, key: Any = None, algorithm: str = "RS256", kid: str | None = "one", **claims: Any) -> str:
        """Return a token that is valid except for the given claims; a claim that is None is left out."""
        now_s = int(time.time())
        usual = {"iss": self.url, "aud": AUDIENCE, "sub": "alice", "iat": now_s, "exp": now_s + 300}
        said = {name: value for name, value in (usual | claims).items() if value is not None}
        headers = {} if kid is None else {"kid": kid}
        return jwt.encode(said, rsa_key() if key is None else key, algorithm, headers=headers)


@contextmanager
def issuer() -> Iterator[Issuer]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, document = running.answer(self.path)
            body = json.dumps(document).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    running = Issuer(f"http://127.0.0.1:{server.server_address[1]}")
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield running
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
