"""The local authority: made once, kept private, refused when it is wrong."""

import ssl
from datetime import timedelta
from pathlib import Path

import pytest
from cryptography import x509

from faultkit.base.errors import InputError, RunError
from faultkit.base.leaf_certificates import WRONG_HOST, LeafIssuer
from faultkit.base.local_authority import (
    CERTIFICATE,
    KEY,
    authority_folder,
    make_authority,
    moment,
    open_authority,
)


def mode(path: Path) -> str:
    return f"{path.stat().st_mode & 0o777:o}"


def test_it_is_made_on_first_use_for_its_owner_only(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "ca"
    first, again = open_authority(folder), open_authority(folder)
    assert first.fingerprint == again.fingerprint
    assert [mode(path) for path in (folder, folder / KEY, folder / CERTIFICATE)] == ["700", "600", "600"]
    assert sorted(path.name for path in tmp_path.glob("**/*")) == ["ca", KEY, CERTIFICATE, "new"]
    assert "PRIVATE" not in repr(first)
    assert first.domains == ()


def test_an_empty_folder_of_the_user_is_filled(tmp_path: Path) -> None:
    folder = tmp_path / "ca"
    folder.mkdir(mode=0o755)
    assert open_authority(folder).fingerprint == open_authority(folder).fingerprint
    assert mode(folder) == "700"


def test_the_folder_is_that_of_the_variable_or_of_the_user() -> None:
    assert authority_folder({"FAULT_CA_DIR": "/a/b", "HOME": "/home/me"}) == Path("/a/b")
    assert authority_folder({"XDG_STATE_HOME": "/state"}) == Path("/state/faultkit/ca")


def test_one_that_exists_is_replaced_only_if_asked(tmp_path: Path) -> None:
    first = make_authority(tmp_path / "ca")
    with pytest.raises(FileExistsError):
        make_authority(tmp_path / "ca")
    assert make_authority(tmp_path / "ca", replace=True).fingerprint != first.fingerprint


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(RunError, match="no authority can be made there: File exists"):
        open_authority(tmp_path / "file" / "ca")


def test_a_place_that_cannot_be_written_is_named_with_its_variable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("FAULT_CA_DIR", str(tmp_path / "file" / "ca"))
    with pytest.raises(InputError, match=r"^FAULT_CA_DIR: expected a folder "):
        open_authority(tmp_path / "file" / "ca")


@pytest.mark.parametrize(
    ("glob", "may_sign"),
    [
        ("*", True),
        ("*.com", True),
        ("*example.com", True),
        ("*.example.com", True),
        ("*.api.example.com", True),
        ("api-?.example.com", True),
        ("127.0.0.*", True),
        ("*.0.0.1", True),
        ("*.other.com", False),
        ("*.notexample.com", False),
        ("api.*.org", False),
    ],
)
def test_a_glob_may_be_signed_for_if_its_end_is_in_a_domain(
    tmp_path: Path, glob: str, may_sign: bool
) -> None:
    assert make_authority(tmp_path / "ca", ["example.com"]).may_sign_some(glob) is may_sign


def test_an_expired_one_is_refused(tmp_path: Path) -> None:
    make_authority(tmp_path, replace=True, days=0)
    with pytest.raises(InputError, match="expected a certificate that is valid, got one that ended on 20"):
        open_authority(tmp_path)


def test_one_that_ended_is_renewed_for_the_same_domains(tmp_path: Path) -> None:
    make_authority(tmp_path, ("example.com", "test.internal"), replace=True, days=0)
    with pytest.raises(InputError) as caught:
        open_authority(tmp_path)
    command = "`fault ca create --replace --domain example.com --domain test.internal`"
    assert str(caught.value).endswith(f"; {command} makes a new one in {tmp_path}")


def test_one_that_ends_while_it_is_used_signs_no_more_and_says_why(tmp_path: Path) -> None:
    issuer = LeafIssuer(make_authority(tmp_path / "ca"))
    ends = issuer.authority.ends_at
    assert leaf_of(issuer.issue(("localhost",), ends - timedelta(seconds=1))).not_valid_after_utc == ends
    with pytest.raises(ValueError, match="the local authority has ended: `fault ca create --replace` makes"):
        issuer.issue(("localhost",), ends)


@pytest.mark.parametrize("damaged", [KEY, CERTIFICATE])
@pytest.mark.parametrize("content", [b"", b"-----BEGIN X-----\nsecret\n", None])
def test_a_damaged_one_is_refused_without_showing_it(
    tmp_path: Path, damaged: str, content: bytes | None
) -> None:
    open_authority(tmp_path / "ca")
    file = tmp_path / "ca" / damaged
    if content is None:
        file.unlink()
    else:
        file.write_bytes(content)
    with pytest.raises(InputError) as caught:
        open_authority(tmp_path / "ca")
    assert str(caught.value).startswith(f"{file}: ")
    assert "`fault ca create --replace`" in str(caught.value)
    assert "secret" not in str(caught.value)


def test_the_key_of_another_is_refused(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    open_authority(one)
    open_authority(other)
    (one / KEY).write_bytes((other / KEY).read_bytes())
    with pytest.raises(InputError, match=r"expected the key of ca\.pem, got another"):
        open_authority(one)


def test_a_key_that_others_may_read_is_refused(tmp_path: Path) -> None:
    open_authority(tmp_path / "ca")
    (tmp_path / "ca" / KEY).chmod(0o640)
    with pytest.raises(InputError, match="expected a file that only its owner may read, got mode 640"):
        open_authority(tmp_path / "ca")


# --- leaves ----------------------------------------------------------------------------------


def leaf_of(pem: bytes) -> x509.Certificate:
    return x509.load_pem_x509_certificates(pem)[0]


def names_in(leaf: x509.Certificate) -> list[str]:
    names = leaf.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    return [str(name.value) for name in names]


def test_a_leaf_is_short_lived_and_has_its_names(tmp_path: Path) -> None:
    issuer, now = LeafIssuer(open_authority(tmp_path / "ca")), moment()
    leaf = leaf_of(issuer.issue(("a.example", "127.0.0.1", "::1"), now))
    assert names_in(leaf) == ["a.example", "127.0.0.1", "::1"]
    assert leaf.not_valid_after_utc - now == timedelta(hours=24)
    assert now - leaf.not_valid_before_utc == timedelta(hours=1)


def test_a_flawed_leaf_is_wrong_in_one_way(tmp_path: Path) -> None:
    authority = open_authority(tmp_path / "ca")
    issuer, now = LeafIssuer(authority), moment()
    expired = leaf_of(issuer.issue(("a.example",), now, "expired"))
    assert expired.not_valid_after_utc == now - timedelta(days=1)
    assert (expired.issuer, names_in(expired)) == (authority.certificate.subject, ["a.example"])
    own = leaf_of(issuer.issue(("a.example",), now, "self_signed"))
    assert own.issuer == own.subject
    wrong = leaf_of(issuer.issue(("a.example",), now, "wrong_host"))
    assert (names_in(wrong), wrong.issuer) == ([WRONG_HOST], authority.certificate.subject)


def test_an_authority_with_domains_signs_for_them_and_loopback_only(tmp_path: Path) -> None:
    authority = make_authority(tmp_path / "ca", ["example.com"])
    assert authority.domains == ("localhost", "example.com")
    signs = {name: authority.may_sign(name) for name in ("example.com", "a.example.com", "127.0.0.1", "::1")}
    assert set(signs.values()) == {True}
    assert not authority.may_sign("notexample.com")
    assert not authority.may_sign("10.0.0.1")


@pytest.mark.parametrize(
    ("name", "accepted"), [("a.example.com", True), ("127.0.0.1", True), ("b.org", False)]
)
def test_clients_hold_an_authority_to_its_domains(tmp_path: Path, name: str, accepted: bool) -> None:
    authority = make_authority(tmp_path / "ca", ["example.com"])
    (tmp_path / "leaf.pem").write_bytes(LeafIssuer(authority).issue((name,), moment()))
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(tmp_path / "leaf.pem")
    client = ssl.create_default_context(cafile=str(tmp_path / "ca" / CERTIFICATE))
    to_client, to_server = ssl.MemoryBIO(), ssl.MemoryBIO()
    near = client.wrap_bio(to_client, to_server, server_hostname=name)
    far = server.wrap_bio(to_server, to_client, server_side=True)
    seen = ""
    for side in (near, far, near):
        try:
            side.do_handshake()
        except ssl.SSLCertVerificationError as error:
            seen = error.verify_message
        except ssl.SSLWantReadError:
            pass
    assert seen == ("" if accepted else "permitted subtree violation")
