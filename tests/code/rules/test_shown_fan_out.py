"""Fan-out is shown only where the tasks leave the process, and their number is that of data."""

# ruff: noqa: E101  (snippets of Go)

from __future__ import annotations

import pytest

from faultkit.code.review.engine import RULES, findings_of
from faultkit.code.rules.rule import LIKELY
from tests.code.rules.cases import Case, bad, good

BY_SLUG = {rule.slug: rule for rule in RULES}
_FAN = "unbounded-fan-out"

_CASES = [
    good(_FAN, "go", """
        package proxy

        func (p *Proxy) serve(ctx context.Context, opened <-chan ssh.NewChannel) {
        	for {
        		select {
        		case <-ctx.Done():
        			return
        		case channel, ok := <-opened:
        			if !ok {
        				return
        			}
        			go p.forward(ctx, channel)
        		}
        	}
        }

        func (p *Proxy) forward(ctx context.Context, channel ssh.NewChannel) {
        	p.client.Send(ctx, channel)
        }
    """),
    bad(_FAN, "go", """
        package proxy

        func (p *Proxy) serve(ctx context.Context, orders <-chan Order) {
        	for {
        		select {
        		case <-ctx.Done():
        			return
        		case order, ok := <-orders:
        			if !ok {
        				return
        			}
        			go p.forward(ctx, order)
        		}
        	}
        }

        func (p *Proxy) forward(ctx context.Context, order Order) {
        	p.client.Send(ctx, order)
        }
    """, 12),
    good(_FAN, "typescript", """
        class Notes {
          async valid(notes: Note[], senders: User[]) {
            return await Promise.all(notes.map(async (note) => this.check(note, senders)));
          }
          check(note: Note, senders: User[]) {
            return senders.find((each) => each.id === note.sender) != null;
          }
        }
    """),
    bad(_FAN, "typescript", """
        class Notes {
          async valid(notes: Note[], sender: Sender) {
            return await Promise.all(notes.map(async (note) => this.check(note, sender)));
          }
          check(note: Note, sender: Sender) {
            return sender.send(note);
          }
        }
    """, 3),
    good(_FAN, "javascript", """
        async function push(body, devices) {
          const byLanguage = groupByLanguage(devices);
          const sent = Object.keys(byLanguage).map((one) => gateway.send(body, byLanguage[one]));
          return Promise.all(sent);
        }
    """),
    bad(_FAN, "javascript", """
        async function push(body) {
          const devices = await loadDevices();
          const sent = devices.map((one) => gateway.send(body, one));
          return Promise.all(sent);
        }
    """, 4),
]  # fmt: skip


@pytest.mark.parametrize("case", _CASES, ids=str)
def test_only_tasks_that_leave_for_many_items_are_shown(case: Case) -> None:
    found = findings_of(case.code, case.language, rules=[BY_SLUG[case.rule]])
    shown = tuple(each.line for each in found if each.confidence >= LIKELY)
    assert shown == case.lines, [(each.line, each.message, each.confidence) for each in found]
