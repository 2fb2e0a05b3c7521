from __future__ import annotations

import pytest

from faultkit.base.rng import Rng
from faultkit.faults.fault import HandshakeVerdict, TlsFault
from faultkit.faults.tls.tls_bad_certificate import TlsBadCertificate
from faultkit.faults.tls.tls_handshake_failure import TlsHandshakeFailure
from faultkit.faults.tls.tls_old_version import TlsOldVersion
from faultkit.faults.tls.tls_slow_handshake import TlsSlowHandshake
from faultkit.faults.tls.tls_truncated_close import TlsTruncatedClose


@pytest.mark.parametrize(
    ("fault", "verdict"),
    [
        (TlsSlowHandshake(), HandshakeVerdict(delay_s=1.0)),
        (TlsSlowHandshake(delay_ms=250), HandshakeVerdict(delay_s=0.25)),
        (TlsHandshakeFailure(), HandshakeVerdict(end="alert", alert=40)),
        (TlsHandshakeFailure(alert=80), HandshakeVerdict(end="alert", alert=80)),
        (TlsHandshakeFailure(end="reset"), HandshakeVerdict(end="reset")),
        (TlsBadCertificate(), HandshakeVerdict(flaw="expired")),
        (TlsBadCertificate(flaw="wrong_host"), HandshakeVerdict(flaw="wrong_host")),
        (TlsOldVersion(), HandshakeVerdict(version="1.1")),
        (TlsTruncatedClose(), HandshakeVerdict(truncates=True)),
    ],
)
def test_a_handshake_gets_what_the_settings_say(fault: TlsFault, verdict: HandshakeVerdict) -> None:
    assert fault.shake(Rng.keyed(0)) == verdict


def test_a_delay_is_compared_with_the_lateness_of_a_run() -> None:
    assert TlsSlowHandshake(delay_ms=250).least_delay_ms == 250
    assert TlsBadCertificate().least_delay_ms is None
