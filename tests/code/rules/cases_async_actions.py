"""Async functions that are given to code that does not wait for them."""

# ruff: noqa: E501  (a row of a table is one line)

from __future__ import annotations

from tests.code.rules.cases import bad, good

_JS, _PY, _CS = "javascript", "python", "csharp"
_CALLBACK, _VOID, _OVERLAP = "rejection-in-callback", "async-void", "overlapping-runs"

CASES = [
    # Callbacks whose promise is ignored.
    bad(
        _CALLBACK,
        _JS,
        """
        rows.on('data', async (row) => { await store(row); });
        lines.on('line', async (line) => { try { await store(line); } catch (e) { log(e); throw e; } });
        setInterval(async () => {
          try { await pool.query(SWEEP); } finally { running = false; }
        }, 1000);
        async function sweep() { await pool.query(SWEEP); }
        setInterval(sweep, 1000);
        setInterval(() => sweep(), 1000);
    """,
        1,
        2,
        3,
        7,
        8,
    ),
    good(
        _CALLBACK,
        _JS,
        """
        rows.on('data', async (row) => { try { await store(row); } catch (e) { rows.destroy(e); } });
        bot.on('message', async (ctx) => { await ctx.reply('hello'); });
        async function sweep() { try { await pool.query(SWEEP); } catch (e) { log(e); } }
        setInterval(sweep, 1000);
        setInterval(() => sweep(), 1000);
        setInterval(() => load().catch(log), 1000);
        setInterval(async () => { await ping(urls); }, 1000);
        async function ping(urls) {
          await Promise.all(urls.map(async (url) => { try { await got(url); } catch (e) { log(e); } }));
        }
        async function load() { await pool.query(LOAD); }
    """,
    ),
    bad(
        "fire-and-forget",
        _PY,
        """
        class Service:
            def start(self, loop):
                loop.add_signal_handler(signal.SIGTERM, self.stop)
                loop.call_later(5, lambda: self.stop())
                threading.Thread(target=self.stop).start()
            async def stop(self):
                await self.pool.close()
    """,
        3,
        4,
        5,
    ),
    good(
        "fire-and-forget",
        _PY,
        """
        class Service:
            def start(self, loop):
                loop.add_signal_handler(signal.SIGTERM, self.ask)
                loop.call_later(5, lambda: self.keep(asyncio.create_task(self.stop())))
                threading.Thread(target=asyncio.run, args=(self.stop(),)).start()
            def ask(self):
                self.asked.set()
            async def stop(self):
                await self.pool.close()
    """,
    ),
    bad(
        _VOID,
        _CS,
        """
        using StackExchange.Redis;
        using Microsoft.Extensions.Hosting;
        class Listener : IHostedService {
            public async Task StartAsync(CancellationToken ct) {
                await _sub.SubscribeAsync(Channel, async (_, payload) => await Handle(payload));
                _lifetime.ApplicationStopping.Register(async () => await Handle(null));
                _timer = new Timer(async _ => await Handle(null), null, Period, Period);
                Action<int> take = async x => await Handle(x);
            }
            private async Task Handle(object payload) { await _cache.RemoveAsync(payload); }
        }
    """,
        5,
        6,
        7,
        8,
    ),
    good(
        _VOID,
        _CS,
        """
        using StackExchange.Redis;
        using Microsoft.Extensions.Hosting;
        class Listener : IHostedService {
            public async Task StartAsync(CancellationToken ct) {
                await _sub.SubscribeAsync(Channel, async (_, payload) => await Handle(payload));
                _timer = new Timer(async _ => await Handle(null), null, Period, Period);
                _processor.ProcessMessageAsync += async args => { await _cache.RemoveAsync(args); };
                _ = Task.Run(async () => await _cache.RemoveAsync(null));
            }
            private async Task Handle(object payload) {
                try { await _cache.RemoveAsync(payload); } catch (Exception ex) { _log.LogError(ex, "not handled"); }
            }
        }
    """,
    ),
    good(
        _OVERLAP,
        _CS,
        """
        class Keys {
            void Start() { _timer = new Timer(async _ => await Refresh(), null, Period, Period); }
            async Task Refresh() {
                using var cts = new CancellationTokenSource(TimeSpan.FromSeconds(5));
                _keys = await _http.GetStringAsync(Uri, cts.Token);
            }
        }
    """,
    ),
]
