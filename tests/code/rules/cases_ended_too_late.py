"""Listeners that another function was to remove, periodic tasks that only success ends, async actions."""

# ruff: noqa: E501  (a row of a table is one line)

from __future__ import annotations

from tests.code.rules.cases import bad, good

_JS, _TS, _PY, _JAVA, _CS, _RUST = "javascript", "typescript", "python", "java", "csharp", "rust"
_LISTENER, _INTERVAL = "listener-leak", "interval-leak"
_CALLBACK, _VOID, _OVERLAP = "rejection-in-callback", "async-void", "overlapping-runs"

CASES = [
    bad(
        _LISTENER,
        _JS,
        """
        class Feed {
          start() { this.bus.on('tick', this.show.bind(this)); }
          stop() { this.bus.off('tick', this.show.bind(this)); }
        }
        function watch(hub, socket) {
          const show = (event) => socket.send(event);
          hub.on('tick', show);
          socket.once('close', () => hub.removeListener('tick', (event) => socket.send(event)));
        }
        function unwatch(hub, socket) {
          const show = (event) => socket.send(event);
          hub.off('tick', show);
        }
    """,
        3,
        8,
        12,
    ),
    good(
        _LISTENER,
        _JS,
        """
        class Feed {
          constructor(bus) { this.bus = bus; this.show = this.show.bind(this); }
          start() { this.bus.on('tick', this.show); }
          stop() { this.bus.off('tick', this.show); }
        }
        function watch(hub, socket) {
          const show = (event) => socket.send(event);
          hub.on('tick', show);
          socket.once('close', () => hub.off('tick', show));
        }
        list.off('a');
    """,
    ),
    bad(
        _LISTENER,
        _JAVA,
        """
        class Feed {
            void start() { hub.addListener(this::show); }
            void stop() { hub.removeListener(this::show); }
        }
    """,
        3,
    ),
    good(
        _LISTENER,
        _JAVA,
        """
        class Feed {
            private final Listener listener = this::show;
            void start() { hub.addListener(listener); }
            void stop() { hub.removeListener(listener); }
        }
    """,
    ),
    bad(
        _LISTENER,
        _PY,
        """
        def stop(bus, room):
            bus.remove_listener("tick", lambda event: show(room, event))
    """,
        2,
    ),
    good(_LISTENER, _PY, "def stop(bus):\n    bus.remove_listener('tick', show)\n"),
    bad(
        _LISTENER,
        _CS,
        """
        class Feed : IDisposable {
            public void Dispose() { _hub.Tick -= (s, e) => Show(e); }
        }
    """,
        2,
    ),
    good(_LISTENER, _CS, "class Feed : IDisposable { public void Dispose() { _hub.Tick -= Show; } }"),
    # The listener of a promise, after its time is up.
    bad(
        _LISTENER,
        _JS,
        """
        function ask(client, id, ms) {
          return new Promise((resolve, reject) => {
            const timer = setTimeout(() => reject(new Error('no answer')), ms);
            const onReply = (reply) => {
              if (reply.id !== id) return;
              clearTimeout(timer);
              client.off('reply', onReply);
              resolve(reply);
            };
            client.on('reply', onReply);
          });
        }
    """,
        3,
    ),
    good(
        _LISTENER,
        _JS,
        """
        function ask(client, id, ms) {
          return new Promise((resolve, reject) => {
            const onReply = (reply) => {
              if (reply.id !== id) return;
              settle(resolve, reply);
            };
            const settle = (end, value) => {
              clearTimeout(timer);
              client.off('reply', onReply);
              end(value);
            };
            const timer = setTimeout(() => settle(reject, new Error('no answer')), ms);
            client.on('reply', onReply);
          });
        }
        function direct(client, ms) {
          return new Promise((resolve, reject) => {
            const onReply = (reply) => { client.off('reply', onReply); resolve(reply); };
            setTimeout(() => { client.off('reply', onReply); reject(new Error('late')); }, ms);
            client.on('reply', onReply);
          });
        }
        function own(url, ms) {
          const socket = connect(url);
          return new Promise((resolve, reject) => {
            const onReply = (reply) => { socket.off('reply', onReply); resolve(reply); };
            setTimeout(() => { socket.destroy(); reject(new Error('late')); }, ms);
            socket.on('reply', onReply);
          });
        }
    """,
    ),
    bad(
        _LISTENER,
        _CS,
        """
        class Forwarder {
            async Task Send(HttpContext context) {
                var cts = CancellationTokenSource.CreateLinkedTokenSource(context.RequestAborted, _lifetime.ApplicationStopping);
                cts.CancelAfter(Budget);
                await _http.GetAsync(Uri, cts.Token);
            }
        }
    """,
        3,
    ),
    good(
        _LISTENER,
        _CS,
        """
        class Forwarder {
            async Task Send(HttpContext context) {
                using var cts = CancellationTokenSource.CreateLinkedTokenSource(context.RequestAborted, _lifetime.ApplicationStopping);
                await _http.GetAsync(Uri, cts.Token);
            }
            async Task Other(CancellationToken ct) {
                var cts = CancellationTokenSource.CreateLinkedTokenSource(ct, _stop.Token);
                try { await _http.GetAsync(Uri, cts.Token); } finally { cts.Dispose(); }
            }
            Session Open(CancellationToken ct) {
                var cts = CancellationTokenSource.CreateLinkedTokenSource(ct, _stop.Token);
                return new Session(cts);
            }
        }
    """,
    ),
    # Periodic tasks that only success ends.
    bad(
        _INTERVAL,
        _TS,
        """
        async function handle(job: Job) {
          const beat = setInterval(() => extend(job), 20000);
          await transcode(job);
          clearInterval(beat);
          await remove(job);
        }
    """,
        4,
    ),
    good(
        _INTERVAL,
        _TS,
        """
        async function handle(job: Job) {
          const beat = setInterval(() => extend(job), 20000);
          try {
            await transcode(job);
          } finally {
            clearInterval(beat);
          }
        }
        async function chained(job: Job) {
          const beat = setInterval(() => extend(job), 20000);
          await transcode(job).finally(() => clearInterval(beat));
        }
        async function caught(job: Job) {
          const beat = setInterval(() => extend(job), 20000);
          try {
            await transcode(job);
          } catch (err) {
            log.error(err);
          }
          clearInterval(beat);
        }
    """,
    ),
    bad(
        _INTERVAL,
        _JAVA,
        """
        class Worker {
            void handle(Job job) {
                ScheduledFuture<?> beat = scheduler.scheduleAtFixedRate(() -> extend(job), 20, 20, SECONDS);
                transcode(job);
                beat.cancel(false);
            }
        }
    """,
        5,
    ),
    good(
        _INTERVAL,
        _JAVA,
        """
        class Worker {
            void handle(Job job) {
                ScheduledFuture<?> beat = scheduler.scheduleAtFixedRate(() -> extend(job), 20, 20, SECONDS);
                try { transcode(job); } finally { beat.cancel(false); }
            }
        }
    """,
    ),
    bad(
        _INTERVAL,
        _RUST,
        """
        async fn handle(job: Job) -> Result<(), Error> {
            let beat = tokio::spawn(async move { loop { extend(job.id).await; sleep(PAUSE).await; } });
            transcode(&job).await?;
            beat.abort();
            Ok(())
        }
    """,
        4,
    ),
    good(
        _INTERVAL,
        _RUST,
        """
        async fn handle(job: Job) -> Result<(), Error> {
            let beat = tokio::spawn(async move { loop { extend(job.id).await; sleep(PAUSE).await; } });
            let done = transcode(&job).await;
            beat.abort();
            done
        }
    """,
    ),
    # Tasks of a connection.
    bad(
        _INTERVAL,
        _JAVA,
        """
        class Presence extends TextWebSocketHandler {
            public void afterConnectionEstablished(WebSocketSession session) {
                scheduler.scheduleAtFixedRate(() -> ping(session), 20, 20, TimeUnit.SECONDS);
            }
            private void ping(WebSocketSession session) { if (session.isOpen()) send(session); }
        }
    """,
        3,
    ),
    good(
        _INTERVAL,
        _JAVA,
        """
        class Presence extends TextWebSocketHandler {
            public void afterConnectionEstablished(WebSocketSession session) {
                pings.put(session.getId(), scheduler.scheduleAtFixedRate(() -> ping(session), 20, 20, TimeUnit.SECONDS));
            }
            public void afterConnectionClosed(WebSocketSession session, CloseStatus status) {
                pings.remove(session.getId()).cancel(false);
            }
        }
    """,
    ),
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
