"""Work that grows with the square of the data, and compilation in loops, in C#, Kotlin and Rust."""

# ruff: noqa: E101, E501  (snippets of Go and of other languages)

from __future__ import annotations

from tests.code.rules.cases import bad, good

_MEMBER, _TEXT, _SEARCH, _COMPILED = (
    "list-membership-in-loop",
    "text-built-in-loop",
    "nested-search",
    "compiled-per-call",
)

CASES = [
    bad(
        _MEMBER,
        "csharp",
        """
        class A { List<Payment> Missing(List<Payment> ours, List<string> theirs) {
         var open = new List<Payment>();
         foreach (var p in ours) {
         if (!theirs.Contains(p.Reference)) open.Add(p);
         }
         return open; } }
        """,
        4,
    ),
    good(
        _MEMBER,
        "csharp",
        "class A { void F(List<Payment> ours, HashSet<string> theirs) { foreach (var p in ours) { if (!theirs.Contains(p.Reference)) Add(p); } } }",
    ),
    good(
        _MEMBER,
        "csharp",
        "class A { void F(List<Flag> ours, List<string> theirs) { foreach (var p in ours) { if (!theirs.Contains(p.Name)) Add(p); } } }",
    ),
    bad(
        _MEMBER,
        "kotlin",
        """
        fun missing(ours: List<Payment>, theirs: List<String>): List<Payment> {
         return ours.filter { it.reference !in theirs }
        }
        """,
        2,
    ),
    bad(
        _MEMBER,
        "kotlin",
        """
        fun fresh(orders: List<Order>): List<String> {
         val seen = mutableListOf<String>()
         for (o in orders) {
         if (o.id in seen) continue
         seen.add(o.id)
         }
         return seen
        }
        """,
        4,
    ),
    good(
        _MEMBER,
        "kotlin",
        "fun missing(ours: List<Payment>, theirs: Set<String>) = ours.filter { it.reference !in theirs }",
    ),
    good(_MEMBER, "kotlin", "fun inside(orders: List<Order>) = orders.filter { it.total in 1..100 }"),
    bad(
        _MEMBER,
        "rust",
        """
        pub fn missing(ours: &[Payment], theirs: &Vec<String>) -> usize {
         let mut n = 0;
         for p in ours {
         if !theirs.contains(&p.reference) { n += 1; }
         }
         n
        }
        """,
        4,
    ),
    good(
        _MEMBER,
        "rust",
        "pub fn missing(ours: &[Payment], theirs: &HashSet<String>) -> usize { let mut n = 0; for p in ours { if !theirs.contains(&p.reference) { n += 1; } } n }",
    ),
    good(
        _MEMBER,
        "rust",
        "pub fn inside(orders: &[Order], text: &str) -> usize { let mut n = 0; for o in orders { if text.contains(&o.id) { n += 1; } } n }",
    ),
    bad(
        _MEMBER,
        "java",
        """
        import java.util.List;
        class A { int f(List<Payment> ours, List<String> theirs) { int n = 0;
         for (Payment p : ours) {
         if (!theirs.contains(p.reference())) n++;
         }
         return n; } }
        """,
        4,
    ),
    bad(
        _TEXT,
        "csharp",
        """
        class A { string F(IEnumerable<Order> orders) { var csv = "";
         foreach (var o in orders) {
         csv += o.Id + ";";
         }
         return csv; } }
        """,
        3,
    ),
    good(
        _TEXT,
        "csharp",
        "class A { string F(IEnumerable<Order> orders) { var csv = new StringBuilder(); foreach (var o in orders) { csv.Append(o.Id); } return csv.ToString(); } }",
    ),
    good(
        _TEXT,
        "csharp",
        "class A { decimal F(IEnumerable<Order> orders) { var sum = 0m; foreach (var o in orders) { sum += o.Total; } return sum; } }",
    ),
    bad(
        _TEXT,
        "kotlin",
        """
        fun render(items: List<Item>): String {
         var xml = "<feed>"
         for (item in items) {
         xml += "<item>${item.title}</item>"
         }
         return xml
        }
        """,
        4,
    ),
    good(
        _TEXT,
        "kotlin",
        """
        fun total(items: List<Item>): Long { var sum = 0L
         for (item in items) { sum += item.price }
         return sum }
        """,
    ),
    bad(
        _SEARCH,
        "csharp",
        """
        class A { void F(List<Order> orders, List<Customer> customers) {
         foreach (var o in orders) {
         var c = customers.FirstOrDefault(x => x.Id == o.CustomerId);
         Use(o, c);
         } } }
        """,
        3,
    ),
    good(
        _SEARCH,
        "csharp",
        "class A { void F(List<Order> orders, Dictionary<int, Customer> byId) { foreach (var o in orders) { byId.TryGetValue(o.CustomerId, out var c); Use(o, c); } } }",
    ),
    good(
        _SEARCH,
        "csharp",
        "class A { void F(List<Order> orders) { foreach (var o in orders) { var first = o.Lines.FirstOrDefault(x => x.Id == o.MainLine); Use(first); } } }",
    ),
    bad(
        _SEARCH,
        "kotlin",
        """
        fun enrich(orders: List<Order>, customers: List<Customer>) =
         orders.map { o ->
         Row(o, customers.find { it.id == o.customerId })
         }
        """,
        3,
    ),
    good(
        _SEARCH,
        "kotlin",
        "fun enrich(orders: List<Order>, byId: Map<Long, Customer>) = orders.map { o -> Row(o, byId[o.customerId]) }",
    ),
    bad(
        _COMPILED,
        "csharp",
        'class A { int F(IEnumerable<string> lines) { var n = 0;\n foreach (var line in lines) {\n var re = new Regex(@"ERR (\\w+)");\n if (re.IsMatch(line)) n++;\n }\n return n; } }',
        3,
    ),
    good(
        _COMPILED,
        "csharp",
        'class A { static readonly Regex Err = new Regex("ERR"); bool F(string line) => Err.IsMatch(line); }',
    ),
    bad(
        _COMPILED,
        "kotlin",
        """
        fun count(lines: List<String>): Int { var n = 0
         for (line in lines) {
         if (Regex("ERR (a|b)").containsMatchIn(line)) n++
         }
         return n }
        """,
        3,
    ),
    good(_COMPILED, "kotlin", 'val ERR = Regex("ERR")\nfun hit(line: String) = ERR.containsMatchIn(line)'),
    bad(
        "copied-or-sorted-in-loop",
        "csharp",
        """
        class A { void F(List<Job> jobs, IEnumerable<Job> incoming) { foreach (var job in incoming) {
         jobs.Add(job);
         jobs.Sort((a, b) => a.Due.CompareTo(b.Due));
         } } }
        """,
        3,
    ),
    good(
        "copied-or-sorted-in-loop",
        "csharp",
        "class A { void F(List<Job> jobs, IEnumerable<Job> incoming) { foreach (var job in incoming) { jobs.Add(job); } jobs.Sort(); } }",
    ),
    bad(
        "copied-or-sorted-in-loop",
        "kotlin",
        """
        fun merge(events: MutableList<Event>, incoming: List<Event>) { for (e in incoming) {
         events.add(e)
         events.sortBy { it.at }
         } }
        """,
        3,
    ),
    bad(
        "copied-or-sorted-in-loop",
        "kotlin",
        """
        fun collect(pages: List<Page>): List<Row> { var rows = listOf<Row>()
         for (page in pages) {
         rows = rows + page.rows
         }
         return rows }
        """,
        3,
    ),
    good(
        "copied-or-sorted-in-loop",
        "kotlin",
        """
        fun collect(pages: List<Page>): List<Row> { val rows = mutableListOf<Row>()
         for (page in pages) { rows.addAll(page.rows) }
         return rows }
        """,
    ),
    bad(
        "copied-or-sorted-in-loop",
        "rust",
        """
        fn merge(events: &mut Vec<Event>, incoming: Vec<Event>) { for e in incoming {
         events.push(e);
         events.sort_by_key(|e| e.at);
         } }
        """,
        3,
    ),
    bad(
        "unbuffered-writes",
        "rust",
        """
        use std::fs::File;
        fn f(path: &str, rows: &[Row]) -> R { let mut out = File::create(path)?;
         for row in rows {
         writeln!(out, "{}", row.id)?;
         }
         Ok(()) }
        """,
        4,
    ),
    good(
        "unbuffered-writes",
        "rust",
        """
        use std::fs::File;
        fn f(path: &str, rows: &[Row]) -> R { let mut out = BufWriter::new(File::create(path)?); for row in rows { writeln!(out, "{}", row.id)?; } Ok(()) }
        """,
    ),
    bad(
        "unbuffered-writes",
        "go",
        """
        package a
        import (
        	"fmt"
        	"os"
        )
        func f(path string, rows []Row) {
        	f, _ := os.Create(path)
        	for _, r := range rows {
        		fmt.Fprintf(f, "%d", r.ID)
        	}
        }
        """,
        9,
    ),
    good(
        "unbuffered-writes",
        "go",
        """
        package a
        import (
        	"bufio"
        	"fmt"
        	"os"
        )
        func f(path string, rows []Row) {
        	f, _ := os.Create(path)
        	w := bufio.NewWriter(f)
        	for _, r := range rows {
        		fmt.Fprintf(w, "%d", r.ID)
        	}
        }
        """,
    ),
    good(
        "unbuffered-writes",
        "go",
        """
        package a
        import "os"
        func f(path string, flags []string) {
        	f, _ := os.Create(path)
        	for _, each := range flags {
        		f.WriteString(each)
        	}
        }
        """,
    ),
    bad(
        "deep-copy-in-loop",
        "python",
        """
        import copy
        def expand(template, rows):
            out = []
            for row in rows:
                item = copy.deepcopy(template)
                out.append(item)
            return out
        """,
        5,
    ),
    good(
        "deep-copy-in-loop",
        "python",
        "import copy\ndef expand(rows):\n    return [copy.deepcopy(row) for row in rows]",
    ),
    bad(
        "deep-copy-in-loop",
        "javascript",
        """
        function f(state, events) { const seen = [];
         for (const event of events) {
         seen.push(JSON.parse(JSON.stringify(state)));
         }
         return seen; }
        """,
        3,
    ),
    good("deep-copy-in-loop", "javascript", "function f(state) { return structuredClone(state); }"),
    bad(
        _COMPILED,
        "javascript",
        """
        function f(orders) { return orders.map((o) => {
         const money = new Intl.NumberFormat('de-DE');
         return money.format(o.total); }); }
        """,
        2,
    ),
    good(
        _COMPILED,
        "javascript",
        """
        const money = new Intl.NumberFormat('de-DE');
        function f(orders) { return orders.map((o) => money.format(o.total)); }
        """,
    ),
    bad(
        _MEMBER,
        "rust",
        """
        pub fn fresh(orders: &[Order], known: &Vec<u64>) -> Vec<u64> {
         orders.iter().map(|o| o.id).filter(|id| !known.contains(id)).collect()
        }
        """,
        2,
    ),
    bad(
        _MEMBER,
        "csharp",
        """
        class A { IEnumerable<Order> F(List<Order> orders, List<int> known) {
         return orders.Where(o => !known.Contains(o.Id)); } }
        """,
        2,
    ),
    good(
        _MEMBER,
        "csharp",
        "class A { IQueryable<Order> F(List<int> ids) { return _db.Orders.Where(o => ids.Contains(o.Id)); } }",
    ),
    bad(
        _MEMBER,
        "java",
        """
        import java.util.List;
        class A { List<Order> f(List<Order> orders, List<Long> known) {
         return orders.stream().filter(o -> !known.contains(o.id())).toList(); } }
        """,
        3,
    ),
]
