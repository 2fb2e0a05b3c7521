"""Listeners that another function was to remove, and periodic tasks that only success ends."""

# ruff: noqa: E501  (a row of a table is one line)

from __future__ import annotations

from tests.code.rules.cases import bad, good

_JS, _TS, _PY, _JAVA, _CS, _RUST = "javascript", "typescript", "python", "java", "csharp", "rust"
_LISTENER, _INTERVAL = "listener-leak", "interval-leak"

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
        _JS,
        """
        class Client {
          async waitFor(id) {
            const onReply = (reply) => this.take(reply, id);
            this.feed.on('reply', onReply);
            const reply = await this.firstOf(id);
            this.feed.off('reply', onReply);
            return reply;
          }
        }
    """,
        6,
    ),
    good(
        _LISTENER,
        _JS,
        """
        class Client {
          async waitFor(id) {
            const onReply = (reply) => this.take(reply, id);
            this.feed.on('reply', onReply);
            try {
              return await this.firstOf(id);
            } finally {
              this.feed.off('reply', onReply);
            }
          }
        }
        async function child() {
          const onMessage = (message) => take(message);
          process.on('message', onMessage);
          await joined;
          process.off('message', onMessage);
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
    bad(
        _INTERVAL,
        "go",
        """
        package a
        func (w *Worker) handle(ctx context.Context, m Message) error {
            ticker := time.NewTicker(10 * time.Second)
            go func() {
                for range ticker.C {
                    w.extend(m)
                }
            }()
            if err := w.process(ctx, m); err != nil {
                return err
            }
            ticker.Stop()
            return nil
        }
    """,
        12,
    ),
    good(
        _INTERVAL,
        "go",
        """
        package a
        func (w *Worker) handle(ctx context.Context, m Message) error {
            ctx, cancel := context.WithCancel(ctx)
            go w.beat(ctx, m)
            err := w.process(ctx, m)
            cancel()
            return err
        }
        func (w *Worker) deferred(ctx context.Context, m Message) error {
            ctx, cancel := context.WithCancel(ctx)
            defer cancel()
            go w.beat(ctx, m)
            if err := w.process(ctx, m); err != nil {
                return err
            }
            return nil
        }
        func (w *Worker) both(ctx context.Context, m Message) error {
            ctx, cancel := context.WithCancel(ctx)
            go w.beat(ctx, m)
            if err := w.process(ctx, m); err != nil {
                cancel()
                return err
            }
            cancel()
            return nil
        }
    """,
    ),
    bad(
        _INTERVAL,
        _JS,
        """
        class Worker {
          async run(job) {
            this.beat = setInterval(() => job.extend(), 1000);
            await this.process(job);
            clearInterval(this.beat);
          }
        }
    """,
        5,
    ),
    good(
        _INTERVAL,
        _JS,
        """
        class Worker {
          async run(job) {
            this.beat = setInterval(() => job.extend(), 1000);
            await this.process(job);
            clearInterval(this.beat);
          }
          stop() { clearInterval(this.beat); }
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
    bad(
        _INTERVAL,
        _JAVA,
        """
        class FeedSocket {
            void onOpen(Session session) {
                SCHEDULER.scheduleAtFixedRate(() -> ping(session), 15, 15, TimeUnit.SECONDS);
            }
            void follow(String symbol) {
                SCHEDULER.scheduleAtFixedRate(() -> poll(symbol), 15, 15, TimeUnit.SECONDS);
            }
        }
    """,
        3,
        6,
    ),
    good(
        _INTERVAL,
        _JAVA,
        """
        class Reporter {
            void start(String name) {
                SCHEDULER.scheduleAtFixedRate(() -> report(name), 15, 15, TimeUnit.SECONDS);
            }
            void follow(String symbol) {
                polls.put(symbol, SCHEDULER.scheduleAtFixedRate(() -> poll(symbol), 15, 15, TimeUnit.SECONDS));
            }
        }
    """,
    ),
]
