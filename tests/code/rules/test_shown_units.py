"""Times in the wrong unit are shown where names, comments or values in the text prove the unit."""

# ruff: noqa: E101  (snippets of Go)

from __future__ import annotations

import pytest

from faultkit.code.review.engine import RULES, findings_of
from faultkit.code.rules.rule import LIKELY
from tests.code.rules.cases import Case, bad, good

BY_SLUG = {rule.slug: rule for rule in RULES}
_UNIT = "wrong-time-unit"

_CASES = [
    # A factor of another unit than the name tells.
    bad(_UNIT, "go", """
        package door
        import "time"
        func (d *Door) limit() time.Duration {
        	return time.Duration(d.settings.OpenMs) * time.Second
        }
    """, 4),
    bad(_UNIT, "go", """
        package door
        import "time"
        func limit(waitSeconds int) time.Duration {
        	return time.Millisecond * time.Duration(waitSeconds)
        }
    """, 4),
    good(_UNIT, "go", """
        package door
        import "time"
        func limit(waitSeconds, openMs int) time.Duration {
        	return time.Duration(waitSeconds)*time.Second + time.Duration(openMs)*time.Millisecond
        }
    """),
    bad(_UNIT, "kotlin", """
        import kotlin.time.Duration.Companion.seconds
        class Door(private val openMs: Int) {
            fun limit() = openMs.seconds
        }
    """, 3),
    good(_UNIT, "kotlin", """
        import kotlin.time.Duration.Companion.milliseconds
        class Door(private val openMs: Int) {
            fun limit() = openMs.milliseconds
        }
    """),
    # A lifetime that is made of constants, through a function and a parameter.
    bad(_UNIT, "typescript", """
        const HOUR = 3_600_000;
        const LONG = 2 * HOUR;
        const lifetime = (busy: boolean): number => { return busy ? HOUR : LONG; };
        class Menus {
          async load(id: string) { return this.keep(id, await this.ask(id), lifetime(true)); }
          private async keep(id: string, menu: string, ttl: number) {
            await this.redis.set(id, menu, 'EX', ttl);
          }
        }
    """, 7),
    good(_UNIT, "typescript", """
        const HOUR = 3_600;
        const LONG = 2 * HOUR;
        const lifetime = (busy: boolean): number => { return busy ? HOUR : LONG; };
        class Menus {
          async load(id: string) { return this.keep(id, await this.ask(id), lifetime(true)); }
          private async keep(id: string, menu: string, ttl: number) {
            await this.redis.set(id, menu, 'EX', ttl);
          }
        }
    """),
    good(_UNIT, "typescript", """
        const MINUTE = 60_000;
        async function keep(redis: Redis, id: string, menu: string) {
          await redis.set(id, menu, 'PX', 5 * MINUTE);
          await redis.set(id, menu, 'EX', (5 * MINUTE) / 1000);
        }
    """),
    bad(_UNIT, "javascript", """
        const TTL = 10 * 60 * 1000;
        async function keep(client, id, menu) {
          await client.set(id, menu, { EX: TTL });
        }
    """, 3),
    bad(_UNIT, "python", """
        TTL = 10 * 60 * 1000
        def keep(client, name, menu):
            client.setex(name, TTL, menu)
    """, 3),
    good(_UNIT, "python", """
        TTL = 10 * 60
        def keep(client, name, menu):
            client.setex(name, TTL, menu)
    """),
    # A comment at the declaration tells the unit.
    bad(_UNIT, "typescript", """
        interface Pass {
          // Seconds since the epoch.
          until: number;
        }
        const isOpen = (pass: Pass) => pass.until > Date.now();
    """, 5),
    good(_UNIT, "typescript", """
        interface Pass {
          // Seconds since the epoch.
          until: number;
        }
        const isOpen = (pass: Pass) => pass.until * 1000 > Date.now();
    """),
    good(_UNIT, "typescript", """
        interface Pass {
          // Milliseconds since the epoch.
          until: number;
          issued: number; // Unix time in seconds
        }
        const isOpen = (pass: Pass) => pass.until > Date.now();
    """),
    bad(_UNIT, "java", """
        class Gate {
            private long until; // epoch seconds
            boolean isOpen() { return System.currentTimeMillis() < until; }
        }
    """, 3),
    bad(_UNIT, "go", """
        package gate
        import "time"
        type Pass struct {
        	Until int64 // unix time in milliseconds
        }
        func (p Pass) Open() bool { return time.Now().Unix() < p.Until }
    """, 6),
    # A duration with the name that protocols give one in seconds, and with the value of milliseconds.
    good(_UNIT, "javascript", """
        function until() {
          const expiresIn = 3 * 24 * 60 * 60 * 1000;
          return new Date(Date.now() + expiresIn);
        }
    """),
    # A name of a time that is compared.
    bad(_UNIT, "javascript", "const isOpen = (pass) => pass.untilSeconds > Date.now();", 1),
    good(_UNIT, "javascript", "const isOpen = (pass) => pass.untilMs > Date.now();"),
]  # fmt: skip


@pytest.mark.parametrize("case", _CASES, ids=str)
def test_units_that_the_text_proves_wrong_are_shown(case: Case) -> None:
    found = findings_of(case.code, case.language, rules=[BY_SLUG[case.rule]])
    shown = tuple(each.line for each in found if each.confidence >= LIKELY)
    assert shown == case.lines, [(each.line, each.message, each.confidence) for each in found]
