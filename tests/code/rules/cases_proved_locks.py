"""State that only looks shared, and locks that only look kept or needed by others."""

# ruff: noqa: E101  (snippets of Go)

from __future__ import annotations

from tests.code.rules.cases import bad, good

_SHARED = "shared-mutable-state"
_UNGUARDED = "unguarded-access"
_KEPT = "lock-not-released"
_HELD = "lock-held-over-io"

# fmt: off
CASES = [
    # What a method that runs once calls fills the map before any request.
    good(_SHARED, "java", """
        @Service
        public class Choosers {
            private final Map<String, Chooser> choosers = new HashMap<>();

            @PostConstruct
            public void init() {
                loadChoosers();
            }

            private void loadChoosers() {
                for (Chooser each : Loader.all(Chooser.class)) {
                    choosers.put(each.name(), each);
                }
            }
        }
        """),
    bad(_SHARED, "java", """
        @Service
        public class Choosers {
            private final Map<String, Chooser> choosers = new HashMap<>();

            public void choose(String name) {
                remember(name);
            }

            private void remember(String name) {
                choosers.put(name, new Chooser(name));
            }
        }
        """, 10),
    # Two threads that both find nothing store the same.
    good(_SHARED, "java", """
        class Known {
            private final ConcurrentMap<String, String> ids = new ConcurrentHashMap<>();

            boolean isKnown(String id) {
                if (ids.containsKey(id)) {
                    return true;
                }
                if (users.find(id) != null) {
                    ids.put(id, id);
                    return true;
                }
                return false;
            }
        }
        """),
    bad(_SHARED, "java", """
        class Known {
            private final ConcurrentMap<String, List<String>> ids = new ConcurrentHashMap<>();

            void add(String id, String value) {
                if (!ids.containsKey(id)) {
                    ids.put(id, new ArrayList<>());
                }
                ids.get(id).add(value);
            }
        }
        """, 6),
    # All callers hold the lock.
    good(_SHARED, "java", """
        class Queues {
            private final ConcurrentMap<String, State> states = new ConcurrentHashMap<>();

            void assign(Collection<String> names) {
                synchronized (states) {
                    addAll(names);
                }
            }

            private void addAll(Collection<String> names) {
                for (String name : names) {
                    if (!states.containsKey(name)) {
                        states.put(name, new State());
                    }
                }
            }
        }
        """),
    # One thread writes, others read.
    good(_SHARED, "java", """
        class Copier extends Thread {
            private volatile long offset;

            public void run() {
                while (!isInterrupted()) {
                    copy();
                }
            }

            private void copy() {
                offset += log.next(offset);
            }
        }
        """),
    good(_UNGUARDED, "java", """
        class Pool {
            private final List<Item> items = new ArrayList<>();

            public synchronized void put(Item item) {
                items.add(item);
            }

            public synchronized Item take() {
                return items.remove(0);
            }

            public void report() {
                List<Item> items = copies();
                items.clear();
            }
        }
        """),
    good(_UNGUARDED, "java", """
        class PartStream extends InputStream {
            private int position;

            public synchronized void reset() {
                position = 0;
            }

            public synchronized long skip(long count) {
                position += count;
                return count;
            }

            public int read() {
                position++;
                return next();
            }
        }
        """),
    # The helper holds another lock, and its caller this one.
    good(_UNGUARDED, "go", """
        type Meter struct {
        	mu     sync.RWMutex
        	limits sync.RWMutex
        	rates  map[string]int
        }

        func (m *Meter) Set(name string, rate int) {
        	m.mu.Lock()
        	defer m.mu.Unlock()
        	m.rates[name] = rate
        }

        func (m *Meter) Report() []int {
        	m.mu.RLock()
        	defer m.mu.RUnlock()
        	return m.report()
        }

        func (m *Meter) report() []int {
        	found := []int{}
        	for _, rate := range m.rates {
        		m.limits.RLock()
        		found = append(found, rate)
        		m.limits.RUnlock()
        	}
        	return found
        }
        """),
    # The return stands in a branch in which nothing was taken.
    good(_KEPT, "java", """
        class Writer {
            private final ReentrantLock lock = new ReentrantLock();

            boolean write(boolean force) {
                if (force) {
                    lock.lock();
                } else {
                    if (!lock.tryLock()) {
                        return false;
                    }
                }
                try {
                    return store();
                } finally {
                    lock.unlock();
                }
            }
        }
        """),
    good(_KEPT, "java", """
        class Table {
            void drop(String name) {
                if (name.isEmpty() || !this.storage.hold()) {
                    return;
                }
                try {
                    this.files.remove(name);
                } finally {
                    this.storage.release();
                }
            }
        }
        """),
    # A claim that is given back only after an error is to be kept.
    good(_KEPT, "typescript", """
        async function grant(user: string) {
            const claimed = await grants.claimCredit(user)
            if (!claimed) {
                return
            }
            const plan = await plans.load(user)
            if (plan.isPaid) {
                return
            }
            const error = await activate(user)
            if (error) {
                await grants.releaseCredit(user)
            }
        }
        """),
    # The slots end with the function that made them.
    good(_KEPT, "go", """
        func unpack(files []File) error {
        	slots := make(chan struct{}, 8)
        	for _, file := range files {
        		slots <- struct{}{}
        		data, err := file.Read()
        		if err != nil {
        			return err
        		}
        		go func() {
        			store(data)
        			<-slots
        		}()
        	}
        	return nil
        }
        """),
    # The task is left running; nothing waits for it here.
    good(_HELD, "csharp", """
        class Listener
        {
            void Watch(Invoice invoice)
            {
                lock (_listeners)
                {
                    _ = Poll(invoice);
                }
            }

            async Task Poll(Invoice invoice)
            {
                await httpClient.GetAsync("https://node.example/" + invoice.Id);
            }
        }
        """),
    # The client is of this text: its method only puts something into a queue.
    good(_HELD, "java", """
        class Worker {
            private final ConfigClient agent = new ConfigClient();

            void add(Listener listener) {
                synchronized (listeners) {
                    listeners.add(listener);
                    agent.wakeUp(listener);
                }
            }

            static class ConfigClient {
                void wakeUp(Listener listener) {
                    bell.offer(listener);
                }
            }
        }
        """),
    good(_UNGUARDED, "java", """
        class Settings {
            private final Map<String, String> values = new HashMap<>();

            public synchronized void put(String key, String value) {
                values.put(key, value);
            }

            public synchronized String get(String key) {
                return values.get(key);
            }

            public void load() {
                values.putAll(File.read());
            }
        }
        """),
    # `post` runs what it is given in the lock.
    good(_SHARED, "kotlin", """
        @Singleton
        class Tracker {
            private val mutex = Mutex()
            private val seen = mutableMapOf<String, Long>()

            fun onEvent(id: String) {
                post {
                    seen.put(id, now())
                }
            }

            private fun post(block: suspend () -> Unit) {
                scope.launch {
                    mutex.withLock {
                        block()
                    }
                }
            }
        }
        """),
    # Nothing here shows several threads.
    good(_SHARED, "java", """
        class Sum {
            private volatile long value;

            Sum add(long more) {
                value += more;
                return this;
            }
        }
        """),
    # What is aborted is not resumed.
    good(_KEPT, "typescript", """
        async function step(rows: Row[], parser: Parser, reject: (e: unknown) => void) {
            parser.pause()
            try {
                await store.insert(rows)
            } catch (e) {
                parser.abort()
                reject(e)
                return
            }
            parser.resume()
        }
        """),
]
