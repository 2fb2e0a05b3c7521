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
    # A client of a hosted service by its declared type, in a helper.
    bad(_FAN, "typescript", """
        import { Octokit } from '@octokit/rest';
        class Audit {
          constructor(private readonly github: Octokit, private readonly rows: Rows) {}
          async run(org: string) {
            const names = await this.rows.names(org);
            await Promise.all(names.map((name) => this.one(org, name)));
          }
          private async one(owner: string, repo: string) {
            await this.github.rest.repos.get({ owner, repo });
          }
        }
    """, 6),
    good(_FAN, "typescript", """
        import { Register } from './register';
        class Audit {
          constructor(private readonly github: Register, private readonly rows: Rows) {}
          async run(org: string) {
            const names = await this.rows.names(org);
            await Promise.all(names.map((name) => this.one(org, name)));
          }
          private async one(owner: string, repo: string) {
            await this.github.rest.repos.get({ owner, repo });
          }
        }
    """),
    # A client that is made with defaults, and called itself.
    bad(_FAN, "javascript", """
        import got from 'got';
        class Audit {
          constructor(url) { this.ask = got.extend({ prefixUrl: url, timeout: { request: 5000 } }); }
          async run() {
            const { rows: doors } = await this.db.query('SELECT id FROM door');
            return Promise.allSettled(doors.map((door) => this.one(door)));
          }
          async one(door) { return this.ask(`doors/${door.id}`).json(); }
        }
    """, 6),
    good(_FAN, "javascript", """
        import got from 'got';
        import pLimit from 'p-limit';
        class Audit {
          constructor(url) { this.ask = got.extend({ prefixUrl: url, timeout: { request: 5000 } }); }
          async run() {
            const limit = pLimit(8);
            const { rows: doors } = await this.db.query('SELECT id FROM door');
            return Promise.allSettled(doors.map((door) => limit(() => this.one(door))));
          }
          async one(door) { return this.ask(`doors/${door.id}`).json(); }
        }
    """),
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
          async valid(sender: Sender) {
            const notes = await this.pending();
            return await Promise.all(notes.map(async (note) => this.check(note, sender)));
          }
          check(note: Note, sender: Sender) {
            return sender.send(note);
          }
        }
    """, 4),
    # A caller elsewhere decides how many there are, and what the sender does is not known.
    good(_FAN, "typescript", """
        class Notes {
          async valid(notes: Note[], sender: Sender) {
            return await Promise.all(notes.map(async (note) => sender.send(note)));
          }
        }
    """),
    bad(_FAN, "typescript", """
        class Notes {
          async valid(notes: Note[]) {
            return await Promise.all(notes.map(async (note) => fetch(note.address, { method: "POST" })));
          }
        }
    """, 3),
    # The task is one of the runtime, and starts no program.
    good(_FAN, "rust", """
        async fn run(mut changes: Receiver<Change>) {
            while let Some(change) = changes.recv().await {
                tokio::spawn(async move { change.apply().await; });
            }
        }
    """),
    bad(_FAN, "rust", """
        async fn run(mut changes: Receiver<Change>, client: reqwest::Client) {
            while let Some(change) = changes.recv().await {
                let client = client.clone();
                tokio::spawn(async move { client.post(URL).json(&change).send().await; });
            }
        }
    """, 4),
    good(_FAN, "javascript", """
        const async = require("async");
        function load(id, callback) {
          async.parallel([(next) => db.get(`a:${id}`, next), (next) => db.get(`b:${id}`, next)], callback);
        }
    """),
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
    # One task at most: the branch leaves the function.
    good(_FAN, "python", """
        async def wake(hosts, client):
            for host in hosts:
                if host.is_asleep:
                    asyncio.create_task(httpx.AsyncClient().post(host.address))
                    return host
    """),
    good(_FAN, "java", """
        import java.util.concurrent.Executors;
        class Listener {
          void run(List<ServerSocket> sockets) {
            var pool = Executors.newFixedThreadPool(sockets.size());
            sockets.forEach(each -> pool.submit(() -> serve(each)));
          }
        }
    """),
    # Commands of Redis go over one connection.
    good(_FAN, "typescript", """
        import Redis from "ioredis";
        const redis = new Redis();
        export async function drop(parents: string[]) {
          await Promise.all(parents.map(async (each) => redis.del(each)));
        }
    """),
]  # fmt: skip


@pytest.mark.parametrize("case", _CASES, ids=str)
def test_only_tasks_that_leave_for_many_items_are_shown(case: Case) -> None:
    found = findings_of(case.code, case.language, rules=[BY_SLUG[case.rule]])
    shown = tuple(each.line for each in found if each.confidence >= LIKELY)
    assert shown == case.lines, [(each.line, each.message, each.confidence) for each in found]
