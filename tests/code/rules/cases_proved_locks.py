"""State that only looks shared, locks that only look kept, and what holds nothing that must be given back."""

# ruff: noqa: E101  (snippets of Go)

from __future__ import annotations

from tests.code.rules.cases import bad, good

_SHARED = "shared-mutable-state"
_UNGUARDED = "unguarded-access"
_KEPT = "lock-not-released"
_RELEASED = "released-on-success-only"
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

            public void load() {
                items.add(Item.first());
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
    good(_RELEASED, "csharp", """
        class Answers
        {
            bool Read(Message message, Reader reader)
            {
                var lease = Leases.Open(reader.Length);
                int count = 0;
                if (count == reader.Length)
                {
                    SetResult(message, lease);
                    return true;
                }
                lease.Dispose();
                return false;
            }
        }
        """),
    bad(_RELEASED, "csharp", """
        class Answers
        {
            bool Read(Message message, Reader reader)
            {
                var lease = Leases.Open(reader.Length);
                int count = 0;
                if (count == reader.Length)
                {
                    SetResult(message, count);
                    return true;
                }
                lease.Dispose();
                return false;
            }
        }
        """, 5),
    # `Put` stores a file here.
    good(_RELEASED, "go", """
        func upload(kind, path string) error {
        	store, err := openStore(kind)
        	if err != nil {
        		return err
        	}
        	file, err := os.Open(path)
        	if err != nil {
        		return err
        	}
        	defer file.Close()
        	return store.Put(path, file)
        }
        """),
    # What is not put back into a pool of memory is collected.
    good(_RELEASED, "go", """
        func read(in io.Reader, size int) error {
        	buffer := bufferPool.Get()
        	if _, err := io.ReadFull(in, buffer[:size]); err != nil {
        		return err
        	}
        	store(buffer)
        	bufferPool.Put(buffer)
        	return nil
        }
        """),
    good(_RELEASED, "csharp", """
        class Logs
        {
            async Task<IActionResult> Show(string file, bool download)
            {
                var stream = new FileStream(file, FileMode.Open);
                if (download)
                    return new FileStreamResult(stream, "text/plain");
                await using (stream)
                {
                    return View(await ReadAll(stream));
                }
            }
        }
        """),
    good(_RELEASED, "java", """
        class Codec {
            Object decode(byte[] data) throws IOException {
                HessianInput input = new HessianInput(new ByteArrayInputStream(data));
                Object found = input.readObject();
                input.close();
                return found;
            }
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
]
