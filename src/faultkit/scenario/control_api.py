"""A control API that a scenario names: its keys in the file, and the client for it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from urllib.parse import urlsplit

from faultkit.base.address import is_loopback, parse_endpoint
from faultkit.base.certificates import add_certificate, check_authorities, client_context
from faultkit.base.documents.checks import shown
from faultkit.base.documents.key_tables import Key, KeyTable, given
from faultkit.base.documents.mapping_reader import MappingReader
from faultkit.base.documents.values import TEXT_SCHEMA, line
from faultkit.base.errors import InputError
from faultkit.proxy.control.control_client import TOKEN_VARIABLE, ControlClient

_PORTS = {"http": 80, "https": 443}


def parse_control_url(value: object) -> str:
    """Return the URL of a control API. Raises InputError for one that would send the token in clear text."""
    expected = 'a URL such as "https://proxy.example:7900"'
    text = line(value).strip().removesuffix("/")
    try:
        parts = urlsplit(text)
        port = parts.port or _PORTS[parts.scheme]
        is_whole = (
            bool(parts.hostname) and text == f"{parts.scheme}://{parts.netloc}" and "@" not in parts.netloc
        )
        if not is_whole:
            raise ValueError
        endpoint = parse_endpoint(f"{parts.netloc.removesuffix(f':{port}')}:{port}")
    except (ValueError, KeyError, InputError):
        raise InputError("", f"expected {expected}, got {shown(value)}") from None
    if parts.scheme == "http" and not is_loopback(endpoint.host):
        raise InputError(
            "", f"expected https beyond loopback, since the token is a secret, got {shown(value)}"
        )
    return text


CONTROL_API = KeyTable(
    Key(
        "at",
        parse_control_url,
        TEXT_SCHEMA,
        help='URL of the control API of a `fault run --control`, such as "https://proxy.example:7900"; http '
        "only on loopback.",
        required="a URL",
    ),
    Key(
        "token_env",
        line,
        {**TEXT_SCHEMA, "default": TOKEN_VARIABLE},
        TOKEN_VARIABLE,
        "Name of the variable that holds the token.",
    ),
    Key(
        "ca",
        line,
        TEXT_SCHEMA,
        help="PEM file: authorities of the API's certificate, besides the system's. Like the next two, "
        "relative to this file.",
    ),
    Key("cert", line, TEXT_SCHEMA, help="PEM file: the certificate that identifies this client."),
    Key("key", line, TEXT_SCHEMA, help="PEM file: the private key of `cert`."),
    help="Where the faults act: a proxy that runs elsewhere, such as beside the service.",
    rules={
        "allOf": [
            {"if": given(one), "then": given(other)} for one, other in (("cert", "key"), ("key", "cert"))
        ]
    },
)


@dataclass(frozen=True, slots=True)
class ControlApi:
    """A control API, and how to call it. The files are checked when a run begins."""

    at: str
    token_env: str = TOKEN_VARIABLE
    ca: str | None = None
    cert: str | None = None
    key: str | None = None

    @property
    def host(self) -> str:
        """The host of the URL."""
        return urlsplit(self.at).hostname or ""

    def client(self, names: dict[str, str] | None = None) -> ControlClient:
        """Return the client. Raises InputError for a token or a file that is not there.

        names: how the user calls the fields, if not by their own names"""
        called = names or {}
        if not os.environ.get(self.token_env):
            where = called.get("token_env", "token_env")
            raise InputError(where, f"expected the token in the variable {self.token_env}, got none")
        if not self.at.startswith("https:"):
            return ControlClient(self.at, token_env=self.token_env)
        if self.ca is not None:
            check_authorities(self.ca, called.get("ca", "ca"))
        context = client_context(self.ca or True)
        if self.cert is not None and self.key is not None:
            fields = called.get("cert", "cert"), called.get("key", "key")
            add_certificate(context, self.cert, self.key, fields)
        return ControlClient(self.at, tls=context, token_env=self.token_env)


def parse_control_api(reader: MappingReader, folder: str = "") -> ControlApi:
    """Return the control API of a mapping; its files are relative to `folder`."""
    at, token_env = reader.take("at") or "", reader.take("token_env")
    files = {name: reader.take(name) for name in ("ca", "cert", "key")}
    for one, other in (("cert", "key"), ("key", "cert")):
        if files[one] is not None and other not in reader.given:
            reader.note(other, InputError("", f"expected a file beside `{one}`, got nothing"))
    used = [name for name, file in files.items() if file is not None]
    if used and at.startswith("http:"):
        reader.note(used[0], InputError("", f"expected none with http, got {shown(files[used[0]])}"))
    paths = {name: None if file is None else os.path.join(folder, file) for name, file in files.items()}
    return ControlApi(at, token_env, **paths)
