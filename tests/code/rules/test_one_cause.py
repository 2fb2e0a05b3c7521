"""One cause has one finding: where two rules could report it, the one that knows more does."""

from __future__ import annotations

import pytest

from faultkit.code.review.engine import findings_of
from tests.code.rules.test_rules import BY_SLUG

ACTED_ON = """
import requests

class Sync:
    def remote_ids(self):
        try:
            return requests.get(URL, timeout=3).json()
        except requests.RequestException:
            return []

    def sync(self):
        ids = self.remote_ids()
        for user in self.users.all():
            if user.id not in ids:
                self.users.delete(user)
"""
ONLY_EMPTY = """
import requests

def remote_ids():
    try:
        return requests.get(URL, timeout=3).json()
    except requests.RequestException:
        return []
"""
ACTED_ON_BY_PROMISE = """
async function sync(users) {
  const ids = await fetch(URL).then((res) => res.json()).catch(() => []);
  for (const user of users.list()) {
    if (!ids.includes(user.id)) await users.delete(user.id);
  }
}
"""
ACTED_ON_BY_DEFAULT = """
async fn sync(pool: &PgPool, store: &Store) {
    let ids = sqlx::query("SELECT id FROM users WHERE a = 1").fetch_all(pool).await.unwrap_or_default();
    store.delete_missing(&ids).await;
}
"""
CACHED = """
from functools import lru_cache
import requests

@lru_cache(maxsize=100)
def name(vat):
    try:
        return requests.get(url(vat), timeout=3).json()["name"]
    except requests.RequestException:
        return None
"""
GUARDED_ELSEWHERE = """
@Service
class Jobs {
    private final Map<String, Job> jobs = new HashMap<>();
    private final Object lock = new Object();

    public void add(Job job) {
        synchronized (lock) { jobs.put(job.id, job); }
    }

    public void drop(Job job) {
        synchronized (lock) { jobs.remove(job.id); }
    }

    public void remove(String id) {
        jobs.remove(id);
    }
}
"""
NEVER_GUARDED = """
@Service
class Jobs {
    private final Map<String, Job> jobs = new HashMap<>();

    public void remove(String id) {
        jobs.remove(id);
    }
}
"""
COUNTED = """
class Seats {
    private final ConcurrentHashMap<String, Integer> counts = new ConcurrentHashMap<>();

    void take(String name) {
        Integer old = counts.get(name);
        counts.put(name, old == null ? 1 : old + 1);
    }
}
"""
TASK_CUT_OFF = """
use axum::Router;

async fn serve() {
    tokio::spawn(worker(rx));
    tokio::signal::ctrl_c().await.unwrap();
    std::process::exit(0);
}
"""
EXIT_ALONE = """
use axum::Router;

async fn on_signal() {
    tokio::signal::ctrl_c().await.unwrap();
    std::process::exit(0);
}
"""
EXIT_OF_HOOK = """
class Main {
    void run() {
        Runtime.getRuntime().addShutdownHook(new Thread(() -> {
            Runtime.getRuntime().halt(0);
        }));
    }
}
"""
SERVER_AND_EXIT = """
async fn serve() {
    tokio::spawn(async {
        tokio::signal::ctrl_c().await.ok();
        std::process::exit(0);
    });
    axum::serve(listener, app).await.unwrap();
}
"""
SERVER_CLOSED_HARD = """
package main

import (
	"net/http"
	"os"
	"os/signal"
)

func main() {
	server := &http.Server{Addr: ":8080"}
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, os.Interrupt)
	go server.ListenAndServe()
	<-stop
	server.Close()
}
"""
SERVER_ALONE = """
async fn serve() {
    axum::serve(listener, app).await.unwrap();
}
"""
HOSTED = """
public class MailService : IHostedService {
    public Task StartAsync(CancellationToken ct) {
        _ = RunAsync(ct);
        return Task.CompletedTask;
    }

    public Task StopAsync(CancellationToken ct) => Task.CompletedTask;

    private async Task RunAsync(CancellationToken ct) { await client.GoAsync(ct); }
}
"""
NOT_HOSTED = """
public class MailService {
    public void Send(Mail mail) {
        _ = client.SendAsync(mail);
    }
}
"""
CHANNEL_OF_HANDLER = """
import { credentials } from '@grpc/grpc-js';
import { EmbedderClient } from './gen/embedder';
function connect(address) {
  return new EmbedderClient(address, credentials.createInsecure());
}
export function routes(app) {
  app.post('/embed', async (req, reply) => {
    const client = connect(process.env.EMBEDDER);
    try {
      return await embed(client, req.body);
    } finally {
      client.close();
    }
  });
}
"""
PAGE_OF_JOB = """
@shared_task
def remind(offset):
    users = list(User.objects.filter(last_login__lt=cutoff()))
    send(users[offset:offset + 500])
"""
EMPTY, TAKEN, KEPT = "failure-looks-empty", "failure-taken-for-data", "failed-result-cached"
SHARED, UNGUARDED, LOADED = "shared-mutable-state", "unguarded-access", "loaded-by-every-caller"
WORKERS, CUT_OFF = "workers-not-awaited", "work-cut-off-at-the-end"
CLIENT, CONNECTION = "http-client-per-call", "connection-per-call"
WHOLE, FILTERED = "whole-table-loaded", "filtered-after-loading"
ABRUPT, GRACELESS, FORGOTTEN = "abrupt-exit", "no-graceful-shutdown", "fire-and-forget"


SCHEDULED = """
class FeedSocket {
    void onOpen(Session session) {
        SCHEDULER.scheduleAtFixedRate(() -> ping(session), 15, 15, TimeUnit.SECONDS);
    }
}
"""


@pytest.mark.parametrize(
    ("code", "language", "slugs", "reports"),
    [
        pytest.param(ACTED_ON, "python", (EMPTY, TAKEN), TAKEN, id="acted-on"),
        pytest.param(ONLY_EMPTY, "python", (EMPTY, TAKEN), EMPTY, id="only-empty"),
        pytest.param(ACTED_ON_BY_PROMISE, "javascript", (EMPTY, TAKEN), TAKEN, id="acted-on-by-promise"),
        pytest.param(ACTED_ON_BY_DEFAULT, "rust", (EMPTY, TAKEN), TAKEN, id="acted-on-by-default"),
        pytest.param(CACHED, "python", (EMPTY, KEPT), KEPT, id="cached"),
        pytest.param(GUARDED_ELSEWHERE, "java", (SHARED, UNGUARDED), UNGUARDED, id="guarded-elsewhere"),
        pytest.param(NEVER_GUARDED, "java", (SHARED, UNGUARDED), SHARED, id="never-guarded"),
        pytest.param(COUNTED, "java", (SHARED, LOADED), LOADED, id="counted"),
        pytest.param(TASK_CUT_OFF, "rust", (WORKERS, CUT_OFF), WORKERS, id="task-cut-off"),
        pytest.param(EXIT_ALONE, "rust", (WORKERS, CUT_OFF), CUT_OFF, id="exit-alone"),
        pytest.param(EXIT_OF_HOOK, "java", (ABRUPT, CUT_OFF), CUT_OFF, id="exit-of-hook"),
        pytest.param(SERVER_AND_EXIT, "rust", (GRACELESS, CUT_OFF), CUT_OFF, id="server-and-exit"),
        pytest.param(SERVER_CLOSED_HARD, "go", (GRACELESS, CUT_OFF), CUT_OFF, id="server-closed-hard"),
        pytest.param(HOSTED, "csharp", (FORGOTTEN, WORKERS), WORKERS, id="hosted"),
        pytest.param(NOT_HOSTED, "csharp", (FORGOTTEN, WORKERS), FORGOTTEN, id="not-hosted"),
        pytest.param(CHANNEL_OF_HANDLER, "typescript", (CLIENT, CONNECTION), CLIENT, id="channel-of-handler"),
        pytest.param(PAGE_OF_JOB, "python", (WHOLE, FILTERED), WHOLE, id="page-of-job"),
        pytest.param(SERVER_ALONE, "rust", (GRACELESS, CUT_OFF), GRACELESS, id="server-alone"),
        pytest.param(
            SCHEDULED, "java", ("interval-leak", "task-left-running"), "interval-leak", id="scheduled"
        ),
    ],
)
def test_one_of_two_rules_reports(code: str, language: str, slugs: tuple[str, str], reports: str) -> None:
    found = findings_of(code, language, rules=[BY_SLUG[slug] for slug in slugs])
    assert [each.rule.slug for each in found] == [reports], [each.message for each in found]
