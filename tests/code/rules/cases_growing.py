"""Lists and sets that get an item for each event and never lose one; caches of classes that are caches."""

# ruff: noqa: E101  (snippets of Go)

from __future__ import annotations

from tests.code.rules.cases import bad, good

_GROWS = "growing-collection"
_CACHE = "unbounded-cache"

_TS_BUFFER = """
        export class AuditShipper {
          private buffer: AuditEvent[] = [];

          add(event: AuditEvent) {
            LIMIT
            this.buffer.push(event);
          }

          async flush() {
            const batch = this.buffer;
            this.buffer = [];
            try {
              await this.send(batch);
            } catch (error) {
              this.buffer = [...batch, ...this.buffer];
            }
          }
        }
        """

CASES = [
    bad(_GROWS, "python", """
        class Dedup:
            def __init__(self):
                self.seen = set()

            def on_message(self, message):
                if message.id in self.seen:
                    return
                self.seen.add(message.id)
                handle(message)
        """, 8),
    good(_GROWS, "python", """
        class Dedup:
            def __init__(self):
                self.seen = set()

            def on_message(self, message):
                if len(self.seen) > 10_000:
                    self.seen.clear()
                self.seen.add(message.id)
        """),
    good(_GROWS, "python", """
        class Bus:
            def __init__(self):
                self.listeners = []

            def on_event(self, listener):
                self.listeners.append(listener)
        """),
    good(_GROWS, "python", """
        class FakeSender:
            def __init__(self):
                self.messages = []

            def on_message(self, message):
                self.messages.append(message)
        """),
    bad(_GROWS, "typescript", _TS_BUFFER.replace("LIMIT", ""), 6),
    good(_GROWS, "typescript", _TS_BUFFER.replace("LIMIT", "if (this.buffer.length >= MAX) return;")),
    bad(_GROWS, "typescript", _TS_BUFFER.replace("LIMIT", "if (this.buffer.length > 9) this.flush();"), 6),
    bad(_GROWS, "go", """
        package a

        import "sync"

        type Monitor struct {
        	mu      sync.Mutex
        	samples []Sample
        }

        func (m *Monitor) Record(value float64) {
        	m.mu.Lock()
        	defer m.mu.Unlock()
        	m.samples = append(m.samples, Sample{value})
        }
        """, 13),
    good(_GROWS, "go", """
        package a

        type Monitor struct {
        	samples []Sample
        }

        func (m *Monitor) Record(value float64) {
        	m.samples = append(m.samples, Sample{value})
        	if len(m.samples) > 1000 {
        		m.samples = m.samples[500:]
        	}
        }
        """),
    bad(_GROWS, "java", """
        import java.util.*;

        @Component
        class Latencies {
            private final List<Long> samples = Collections.synchronizedList(new ArrayList<>());

            void record(long millis) {
                samples.add(millis);
            }
        }
        """, 8),
    bad(_GROWS, "kotlin", """
        class PaymentListener(private val handler: Handler) {
            private val processed = mutableSetOf<String>()

            fun onPayment(event: Payment) {
                if (processed.add(event.id)) handler.handle(event)
            }
        }
        """, 5),
    bad(_GROWS, "csharp", """
        public class RequestLog
        {
            private readonly List<Entry> _entries = new();

            public void Add(Entry entry)
            {
                lock (_gate) { _entries.Add(entry); }
            }
        }
        """, 7),
    bad(_GROWS, "rust", """
        pub async fn run(mut events: mpsc::Receiver<Event>, sink: Sink) -> anyhow::Result<()> {
            let mut seen: HashSet<String> = HashSet::new();
            while let Some(event) = events.recv().await {
                if seen.insert(event.id.clone()) {
                    sink.write(&event).await?;
                }
            }
            Ok(())
        }
        """, 4),
    bad(_CACHE, "javascript", """
        class ResultCache {
          constructor(ttl) {
            this.ttl = ttl;
            this.entries = new Map();
          }
          get(key) {
            const entry = this.entries.get(key);
            return entry && entry.until > Date.now() ? entry.value : undefined;
          }
          set(key, value) {
            this.entries.set(key, { value, until: Date.now() + this.ttl });
          }
        }
        """, 4),
    good(_CACHE, "javascript", """
        class RateCache {
          constructor() {
            this.entries = new Map();
          }
          set(currency, rate) {
            this.entries.set(currency, rate);
          }
        }
        """),
    bad(_CACHE, "java", """
        import java.util.*;
        import java.util.concurrent.ConcurrentHashMap;

        @Service
        class Uploads {
            private final Map<String, State> uploads = new ConcurrentHashMap<>();

            String begin(String user) {
                String id = UUID.randomUUID().toString();
                uploads.put(id, new State(user));
                return id;
            }
        }
        """, 6),
]  # fmt: skip
