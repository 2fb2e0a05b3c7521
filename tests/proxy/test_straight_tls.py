"""TLS that nothing looks into: bytes go straight from leg to leg, past the chains."""

import random
import ssl

import pytest
import trustme

from faultkit.base.address import Endpoint
from faultkit.faults.stream.latency import Latency
from faultkit.plan import Match, Plan, Rule
from faultkit.proxy.data_plane import ListenerTls, ProxySpec
from faultkit.proxy.direction_source import Irregular
from faultkit.proxy.server_tls import ServerLeg
from faultkit.proxy.tls import TlsLeg, straight
from tests.proxy.proxied_http import ANY_PORT, proxied
from tests.proxy.tls_legs import Contexts, agreed, new_contexts
from tests.proxy.wires import PATIENCE_S, connect, listening, read_exactly


@pytest.fixture(scope="module")
def contexts() -> Contexts:
    return new_contexts()


def test_random_bytes_cut_anywhere_pass_two_legs_unchanged(
    contexts: Contexts,
) -> None:
    dice = random.Random(5)
    (ours, sender), (receiver, far) = agreed(contexts), agreed(contexts)
    convert = straight(ours, far)
    sent = got = b""
    for _ in range(40):
        plain = dice.randbytes(dice.choice((1, 100, 16384, 16385, 50_000)))
        sent += plain
        records = sender.encrypt_now(plain)
        while records:
            cut = dice.choice((1, 5, 1000, len(records)))
            out = convert(records[:cut])
            records = records[cut:]
            if out:
                got += receiver.decrypt_now(out)
    assert got == sent


def test_the_end_of_the_stream_is_irregular_and_what_came_before_it_passes(
    contexts: Contexts,
) -> None:
    server, client = agreed(contexts)
    records = client.encrypt_now(b"last words")
    client.finish()
    with pytest.raises(Irregular) as found:
        server.decrypt_now(records + client.records())
    assert found.value.payload == b"last words"
    assert (server.decrypt(b""), server.ended) == (b"", True)


def test_broken_records_are_irregular_and_leave_an_alert(
    contexts: Contexts,
) -> None:
    server, client = agreed(contexts)
    records = bytearray(client.encrypt_now(b"secret"))
    records[-1] ^= 1
    with pytest.raises(Irregular) as found:
        straight(server, None)(bytes(records))
    assert found.value.payload == b""
    with pytest.raises(ssl.SSLError):
        server.decrypt(b"")
    assert server.records()[0] == 23  # In TLS 1.3 alerts are encrypted as application data.


def test_messages_of_the_handshake_among_the_data_pass_as_nothing(
    contexts: Contexts,
) -> None:
    server, client = ServerLeg(contexts[0]), TlsLeg(contexts[1], "localhost")
    server.decrypt(client.start())
    client.decrypt(server.records())
    server.decrypt(client.records())
    tickets = server.records()  # The server sends them behind the handshake (RFC 8446 §4.6.1).
    assert tickets
    assert client.decrypt_now(tickets + server.encrypt_now(b"a")) == b"a"


def test_bytes_go_straight_while_no_rule_acts_and_through_the_chains_while_one_does(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    authority = trustme.CA()
    folder = tmp_path_factory.mktemp("straight")
    pem = folder / "server.pem"
    authority.issue_cert("localhost").private_key_and_cert_chain_pem.write_to_path(str(pem))
    client_context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    authority.configure_trust(client_context)
    looked: list[bytes] = []
    original = TlsLeg.decrypt

    def spy(self: TlsLeg, records: bytes) -> bytes:
        looked.append(records)
        return original(self, records)

    monkeypatch.setattr(TlsLeg, "decrypt", spy)  # The straight way does without it.
    with listening() as upstream:
        target = Endpoint("127.0.0.1", upstream.getsockname()[1])
        own = ListenerTls(cert=str(pem), key=str(pem), protocols=())
        with proxied(ProxySpec("tls", ANY_PORT, target, client_tls=own)) as (plane, proxy):
            with client_context.wrap_socket(connect(proxy), server_hostname="localhost") as client:
                far, _ = upstream.accept()
                far.settimeout(PATIENCE_S)
                with far:
                    for number in range(6):
                        if number == 3:
                            plane.set_plan(Plan((Rule("late", Latency(mean_ms=1), Match(direction="both")),)))
                        looked.clear()
                        client.sendall(b"ping")
                        assert read_exactly(far, 4) == b"ping"
                        far.sendall(b"pong")
                        assert read_exactly(client, 4) == b"pong"
                        # The first ping may come with the end of the handshake.
                        assert number == 0 or bool(looked) is (number >= 3)
                    plane.set_plan(Plan())
                    looked.clear()
                    client.sendall(b"ping" * 1000)
                    assert read_exactly(far, 4000) == b"ping" * 1000
                    assert looked == []
                    far.shutdown(1)
                    assert client.recv(10) == b""  # By close_notify, or it would be an error.


def test_a_session_is_resumed_with_the_same_name_and_context_only(
    contexts: Contexts,
) -> None:
    agreed(contexts)
    _, again = agreed(contexts)
    assert again._tls.session_reused
    _, third = agreed(contexts)  # A session that was resumed is kept.
    assert third._tls.session_reused
    other = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    other.check_hostname, other.verify_mode = False, ssl.CERT_NONE
    _, first = agreed((contexts[0], other))
    assert not first._tls.session_reused


def test_what_is_sent_after_the_end_of_a_leg_is_dropped(contexts: Contexts) -> None:
    server, client = agreed(contexts)
    server.finish()
    server.records()
    server.encrypt(b"too late")
    assert (server.records(), server.encrypt_now(b"again")) == (b"", b"")

    client.encrypt(b"half-closed")
    assert server.decrypt(client.records()) == b"half-closed"


def test_what_is_sent_after_an_alert_is_dropped(contexts: Contexts) -> None:
    server, client = agreed(contexts)
    records = bytearray(client.encrypt_now(b"secret"))
    records[-1] ^= 1
    with pytest.raises(ssl.SSLError):
        server.decrypt(bytes(records))
    with pytest.raises(ssl.SSLError):
        client.decrypt(server.records())
    for leg in (server, client):
        leg.encrypt(b"too late")
        assert (leg.records(), leg.encrypt_now(b"again")) == (b"", b"")
