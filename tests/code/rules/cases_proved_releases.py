"""What holds nothing that must be given back, is handed on, or is the same for all that come at once."""

# ruff: noqa: E101  (snippets of Go)

from __future__ import annotations

from tests.code.rules.cases import bad, good

_RELEASED = "released-on-success-only"
_LOADED = "loaded-by-every-caller"
_CACHED = "failed-result-cached"
_INSERTED = "checked-then-inserted"
_LOST = "lost-update"

# fmt: off
CASES = [
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
    # Rolled back by the handler of the try in which it was begun.
    good(_RELEASED, "typescript", """
        class Rows {
            async remove(ids: string[]) {
                let trx: Transaction
                try {
                    trx = await this.db.transaction()
                    for (const id of ids) {
                        await this.run(trx, id)
                    }
                    await trx.commit()
                } catch (e) {
                    if (trx) await trx.rollback()
                    throw e
                }
            }
        }
        """),
    # The lock was not taken where acquire failed.
    good(_RELEASED, "python", """
        def work(jobs, store, key):
            lock = jobs.lock_task(key)
            try:
                lock.acquire()
            except Locked:
                store.cancel(key)
                return
            try:
                store.run(key)
            finally:
                lock.release()
        """),
    good(_RELEASED, "csharp", """
        class Buffers
        {
            void Purge(object last)
            {
                while (this.used.Peek().Id != last)
                {
                    var buffer = this.used.Dequeue();
                    Report(buffer.Size);
                    buffer.Dispose();
                }
            }
        }
        """),
    good(_LOADED, "java", """
        class Watcher {
            private final ConcurrentMap<String, List<String>> known = new ConcurrentHashMap<>();

            void changed(String key) {
                List<String> before = known.get(key);
                List<String> now = nameRepository.findAllByKey(key);
                compare(before, now);
                known.put(key, now);
            }
        }
        """),
    # The new worker replaces the old one in any case.
    good(_LOADED, "java", """
        class Links {
            private final ConcurrentHashMap<Long, SendWorker> workers = new ConcurrentHashMap<>();

            void accept(Socket socket, long id) {
                SendWorker old = workers.get(id);
                SendWorker worker = new SendWorker(socket, id);
                if (old != null) {
                    old.finish();
                }
                workers.put(id, worker);
                worker.begin();
            }
        }
        """),
    good(_CACHED, "typescript", """
        let request: Promise<Meta> | undefined

        export function load(client: Client) {
            return (request ??= fetchMeta(client))
        }

        async function fetchMeta(client: Client) {
            const found = await client.get("/meta")
            if (!found.data) {
                request = undefined
            }
            return found
        }
        """),
    bad(_CACHED, "typescript", """
        let request: Promise<Meta> | undefined

        export function load(client: Client) {
            return (request ??= fetchMeta(client))
        }

        async function fetchMeta(client: Client) {
            return await client.get("/meta")
        }
        """, 4),
    good(_CACHED, "typescript", """
        const installed = new Map<string, Promise<void>>()

        export async function install(path: string) {
            const known = installed.get(path)
            if (known) {
                return await known
            }
            const started = copy(path)
            installed.set(path, started)
            const { error } = await tryAll(() => started)
            if (error) {
                installed.delete(path)
                throw error
            }
        }

        async function copy(path: string): Promise<void> {
            await files.copy(path)
        }
        """),
    # The map ends with the function around.
    good(_CACHED, "csharp", """
        class Enricher
        {
            async Task Enrich(List<Content> contents)
            {
                var schemas = new Dictionary<string, Task<Schema>>();

                Task<Schema> Find(string id)
                {
                    return schemas.GetOrAdd(id, async x => await provider.GetSchemaAsync(x));
                }

                foreach (var each in contents)
                    each.Schema = await Find(each.SchemaId);
            }
        }
        """),
    # The variable only has the name of a shared one.
    good(_INSERTED, "python", """
        seen = set()

        class Tree:
            async def walk(self, queue):
                seen = set()
                while queue:
                    room = queue.pop()
                    if room in seen:
                        continue
                    await self.store.visit(room)
                    seen.add(room)
        """),
    # A cache of this process, between whose two steps nothing else runs.
    good(_LOST, "javascript", """
        async function delay(req, res) {
            let count = delayCache.get(req.ip) || 0;
            delayCache.set(req.ip, count + 1);
            await wait(count);
        }
        """),
    # The cache is filled with another object than the one that was read.
    good(_LOST, "typescript", """
        async function view(id: string) {
            let found = await redis.get(id)
            if (found) {
                found.ranges = await ranges(id)
            } else {
                found = await meta.load(id)
                found.ranges = await ranges(id)
                await redis.set(id, found)
            }
            return found
        }
        """),
]
