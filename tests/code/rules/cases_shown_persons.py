"""Personal data and secrets in logs, and programs on other machines that nothing ends."""

# ruff: noqa: E101, E501  (snippets of Go and of other languages)

from __future__ import annotations

from tests.code.rules.cases import Case, bad, good

_SECRET_IN_LOG = "secret-in-log"
_SUBPROCESS_WITHOUT_TIMEOUT = "subprocess-without-timeout"

CASES: list[Case] = [
    bad(
        _SECRET_IN_LOG,
        "java",
        """
        import java.util.logging.Level;
        import java.util.logging.Logger;
        public class PayrollExport {
            private static final Logger LOG = Logger.getLogger(PayrollExport.class.getName());
            private final PayrollApi api;
            public PayrollExport(PayrollApi api) {
                this.api = api;
            }
            public void export(Employee employee) {
                try {
                    api.push(employee);
                } catch (RuntimeException e) {
                    LOG.log(Level.WARNING, "export failed for " + employee.name() + ", tax id " + employee.taxId()
                        + ", IBAN " + employee.iban(), e);
                    throw e;
                }
            }
        }
        """,
        13,
    ),
    bad(
        _SECRET_IN_LOG,
        "python",
        """
        import logging
        log = logging.getLogger("payout")
        def payout(client, order) -> None:
            log.info("paying %s to %s (IBAN %s)", order.amount, order.holder_name, order.iban)
            client.transfer(order.iban, order.amount)
        """,
        4,
    ),
    bad(
        _SECRET_IN_LOG,
        "python",
        """
        import logging
        log = logging.getLogger(__name__)
        class Patient:
            def __init__(self, name: str, ssn: str, birth_date: str) -> None:
                self.name = name
                self.ssn = ssn
                self.birth_date = birth_date
        def admit(patient: Patient, ward) -> None:
            log.info("admitting %s", vars(patient))
            ward.add(patient)
        """,
        9,
    ),
    bad(
        _SECRET_IN_LOG,
        "typescript",
        """
        import pino from 'pino';
        const log = pino({ name: 'checkout' });
        export async function charge(gateway: Gateway, card: { number: string; cvc: string; exp: string }, cents: number) {
          log.info({ card, cents }, 'charging card');
          return gateway.charge({ card, cents });
        }
        """,
        4,
    ),
    bad(
        _SECRET_IN_LOG,
        "typescript",
        """
        import type { FastifyRequest } from 'fastify';
        export async function session(request: FastifyRequest): Promise<Session | null> {
          const cookie = request.headers.cookie;
          request.log.debug({ cookie }, 'looking up session');
          return cookie ? findSession(cookie) : null;
        }
        """,
        4,
    ),
    bad(
        _SECRET_IN_LOG,
        "csharp",
        """
        using System.Text.Json;
        using Microsoft.Extensions.Logging;
        public sealed class Patient
        {
            public required string Name { get; init; }
            public required string NationalId { get; init; }
            public required string Diagnosis { get; init; }
        }
        public sealed class Referral
        {
            private readonly ILogger<Referral> _logger;
            private readonly IHospital _hospital;
            public Referral(ILogger<Referral> logger, IHospital hospital)
            {
                _logger = logger;
                _hospital = hospital;
            }
            public async Task ReferAsync(Patient patient, CancellationToken ct)
            {
                if (!await _hospital.TryReferAsync(patient, ct))
                {
                    _logger.LogWarning("Referral refused: {Body}", JsonSerializer.Serialize(patient));
                }
            }
        }
        """,
        22,
    ),
    bad(
        _SECRET_IN_LOG,
        "csharp",
        """
        using Microsoft.Extensions.Logging;
        public sealed class PartnerClient
        {
            private readonly HttpClient _http;
            private readonly ILogger<PartnerClient> _logger;
            public PartnerClient(HttpClient http, ILogger<PartnerClient> logger)
            {
                _http = http;
                _logger = logger;
            }
            public async Task PushAsync(Order order, CancellationToken ct)
            {
                using var request = new HttpRequestMessage(HttpMethod.Post, "orders") { Content = JsonContent.Create(order) };
                request.Headers.Authorization = new("Bearer", await TokenAsync(ct));
                using var response = await _http.SendAsync(request, ct);
                if (!response.IsSuccessStatusCode)
                {
                    _logger.LogError("Push failed with {Status}: {Request}", response.StatusCode, request);
                    throw new PartnerException(response.StatusCode);
                }
            }
        }
        """,
        18,
    ),
    bad(
        _SUBPROCESS_WITHOUT_TIMEOUT,
        "python",
        """
        import asyncssh
        async def backup_config(host: str, user: str) -> str:
            async with asyncssh.connect(host, username=user, connect_timeout=10) as conn:
                result = await conn.run("show running-config", check=True)
            return result.stdout
        """,
        4,
    ),
    good(
        _SUBPROCESS_WITHOUT_TIMEOUT,
        "python",
        """
        import asyncssh
        async def backup_config(host: str, user: str) -> str:
            async with asyncssh.connect(host, username=user, connect_timeout=10) as conn:
                result = await conn.run("show running-config", check=True, timeout=60)
            return result.stdout
        """,
    ),
    bad(
        _SUBPROCESS_WITHOUT_TIMEOUT,
        "go",
        """
        package a
        import (
        	"fmt"
        	"time"
        	"golang.org/x/crypto/ssh"
        )
        func RunningConfig(addr string, auth ssh.AuthMethod, key ssh.HostKeyCallback) (string, error) {
        	client, err := ssh.Dial("tcp", addr, &ssh.ClientConfig{
        		User:            "backup",
        		Auth:            []ssh.AuthMethod{auth},
        		HostKeyCallback: key,
        		Timeout:         10 * time.Second,
        	})
        	if err != nil {
        		return "", fmt.Errorf("dial %s: %w", addr, err)
        	}
        	defer client.Close()
        	session, err := client.NewSession()
        	if err != nil {
        		return "", err
        	}
        	defer session.Close()
        	out, err := session.Output("show running-config")
        	return string(out), err
        }
        """,
        23,
    ),
]
