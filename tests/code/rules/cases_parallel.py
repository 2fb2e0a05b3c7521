"""Variables and objects that several tasks change at once."""

# ruff: noqa: E101  (snippets of Go)

from __future__ import annotations

from tests.code.rules.cases import bad, good

_RULE = "race-between-tasks"

CASES = [
    bad(
        _RULE,
        "go",
        """
        package count

        func all(parts []Part) (int, map[string]int) {
        	total, found := 0, []Part{}
        	bySize := make(map[string]int)
        	for _, part := range parts {
        		go func() {
        			total += part.Size()
        			found = append(found, part)
        			bySize[part.Name] = part.Size()
        		}()
        	}
        	return total, bySize
        }
        """,
        8,
        9,
        10,
    ),
    good(
        _RULE,
        "go",
        """
        package count

        func all(parts []Part) []int {
        	sizes := make([]int, len(parts))
        	total := 0
        	for i, part := range parts {
        		own := 0
        		go func() {
        			own += part.Size()
        			sizes[i] = own
        		}()
        	}
        	for _, part := range parts {
        		go func() {
        			mu.Lock()
        			defer mu.Unlock()
        			total += part.Size()
        		}()
        	}
        	go func() { total++ }()
        	return sizes
        }
        """,
    ),
    bad(
        _RULE,
        "csharp",
        """
        class Import
        {
            private int _done;

            List<Row> Load(IEnumerable<string> files)
            {
                var rows = new List<Row>();
                Parallel.ForEach(files, file =>
                {
                    rows.AddRange(Parse(file));
                    _done++;
                });
                return rows;
            }
        }
        """,
        10,
        11,
    ),
    bad(
        _RULE,
        "csharp",
        """
        class Board
        {
            private readonly AppDbContext _db;

            async Task<Page> LoadAsync(int id)
            {
                var orders = _db.Orders.Where(o => o.Id == id).ToListAsync();
                var bills = _db.Bills.Where(b => b.Id == id).ToListAsync();
                await Task.WhenAll(orders, bills);
                return new Page(orders.Result, bills.Result);
            }
        }
        """,
        7,
    ),
    good(
        _RULE,
        "csharp",
        """
        class Import
        {
            private readonly AppDbContext _db;
            private int _done;

            async Task<List<Row>> LoadAsync(IEnumerable<string> files)
            {
                var rows = new ConcurrentBag<Row>();
                Parallel.ForEach(files, file =>
                {
                    rows.Add(Parse(file));
                    Interlocked.Increment(ref _done);
                });
                var own = new List<Row>();
                foreach (var row in rows) own.Add(row);
                var orders = await _db.Orders.ToListAsync();
                var one = _db.Bills.ToListAsync();
                var other = _http.GetStringAsync("/");
                await Task.WhenAll(one, other);
                return own;
            }
        }
        """,
    ),
    bad(
        _RULE,
        "kotlin",
        """
        suspend fun count(parts: List<Part>): Int = coroutineScope {
            var total = 0
            parts.forEach { part ->
                launch(Dispatchers.Default) { total += part.size }
            }
            total
        }
        """,
        4,
    ),
    good(
        _RULE,
        "kotlin",
        """
        suspend fun count(parts: List<Part>): Int = coroutineScope {
            val total = AtomicInteger()
            parts.forEach { part ->
                launch(Dispatchers.Default) { total.addAndGet(part.size) }
            }
            parts.map { part -> async(Dispatchers.Default) { part.size } }.awaitAll().sum()
        }
        """,
    ),
    bad(
        _RULE,
        "java",
        """
        class Import {
            List<Row> load(List<String> files) {
                List<Row> rows = new ArrayList<>();
                files.parallelStream().forEach(file -> rows.add(parse(file)));
                for (String file : files) {
                    pool.submit(() -> rows.add(parse(file)));
                }
                return rows;
            }
        }
        """,
        4,
        6,
    ),
    good(
        _RULE,
        "java",
        """
        class Import {
            List<Row> load(List<String> files) {
                List<Row> rows = Collections.synchronizedList(new ArrayList<>());
                files.parallelStream().forEach(file -> rows.add(parse(file)));
                List<Row> plain = new ArrayList<>();
                files.forEach(file -> plain.add(parse(file)));
                return rows;
            }
        }
        """,
    ),
    bad(
        _RULE,
        "python",
        """
        import asyncio
        from sqlalchemy.ext.asyncio import AsyncSession

        async def load(session: AsyncSession, first, second):
            return await asyncio.gather(session.execute(first), session.execute(second))
        """,
        5,
    ),
    good(
        _RULE,
        "python",
        """
        import asyncio
        from sqlalchemy.ext.asyncio import AsyncSession

        async def load(session: AsyncSession, first, second):
            rows = await session.execute(first)
            return rows, await asyncio.gather(session.execute(second), fetch())
        """,
    ),
]
