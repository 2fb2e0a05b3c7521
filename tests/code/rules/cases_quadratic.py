"""Work that grows with the square of the data, and compilation in loops, in C#, Kotlin and Rust."""

# ruff: noqa: E501  (a row of a table is one line)

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
        "class A { List<Payment> Missing(List<Payment> ours, List<string> theirs) {\n var open = new List<Payment>();\n foreach (var p in ours) {\n if (!theirs.Contains(p.Reference)) open.Add(p);\n }\n return open; } }",
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
        "fun missing(ours: List<Payment>, theirs: List<String>): List<Payment> {\n return ours.filter { it.reference !in theirs }\n}",
        2,
    ),
    bad(
        _MEMBER,
        "kotlin",
        "fun fresh(orders: List<Order>): List<String> {\n val seen = mutableListOf<String>()\n for (o in orders) {\n if (o.id in seen) continue\n seen.add(o.id)\n }\n return seen\n}",
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
        "pub fn missing(ours: &[Payment], theirs: &Vec<String>) -> usize {\n let mut n = 0;\n for p in ours {\n if !theirs.contains(&p.reference) { n += 1; }\n }\n n\n}",
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
        "import java.util.List;\nclass A { int f(List<Payment> ours, List<String> theirs) { int n = 0;\n for (Payment p : ours) {\n if (!theirs.contains(p.reference())) n++;\n }\n return n; } }",
        4,
    ),
    bad(
        _TEXT,
        "csharp",
        'class A { string F(IEnumerable<Order> orders) { var csv = "";\n foreach (var o in orders) {\n csv += o.Id + ";";\n }\n return csv; } }',
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
        'fun render(items: List<Item>): String {\n var xml = "<feed>"\n for (item in items) {\n xml += "<item>${item.title}</item>"\n }\n return xml\n}',
        4,
    ),
    good(
        _TEXT,
        "kotlin",
        "fun total(items: List<Item>): Long { var sum = 0L\n for (item in items) { sum += item.price }\n return sum }",
    ),
    bad(
        _SEARCH,
        "csharp",
        "class A { void F(List<Order> orders, List<Customer> customers) {\n foreach (var o in orders) {\n var c = customers.FirstOrDefault(x => x.Id == o.CustomerId);\n Use(o, c);\n } } }",
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
        "fun enrich(orders: List<Order>, customers: List<Customer>) =\n orders.map { o ->\n Row(o, customers.find { it.id == o.customerId })\n }",
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
        'fun count(lines: List<String>): Int { var n = 0\n for (line in lines) {\n if (Regex("ERR (a|b)").containsMatchIn(line)) n++\n }\n return n }',
        3,
    ),
    good(_COMPILED, "kotlin", 'val ERR = Regex("ERR")\nfun hit(line: String) = ERR.containsMatchIn(line)'),
    bad(
        "copied-or-sorted-in-loop",
        "csharp",
        "class A { void F(List<Job> jobs, IEnumerable<Job> incoming) { foreach (var job in incoming) {\n jobs.Add(job);\n jobs.Sort((a, b) => a.Due.CompareTo(b.Due));\n } } }",
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
        "fun merge(events: MutableList<Event>, incoming: List<Event>) { for (e in incoming) {\n events.add(e)\n events.sortBy { it.at }\n } }",
        3,
    ),
    bad(
        "copied-or-sorted-in-loop",
        "kotlin",
        "fun collect(pages: List<Page>): List<Row> { var rows = listOf<Row>()\n for (page in pages) {\n rows = rows + page.rows\n }\n return rows }",
        3,
    ),
    good(
        "copied-or-sorted-in-loop",
        "kotlin",
        "fun collect(pages: List<Page>): List<Row> { val rows = mutableListOf<Row>()\n for (page in pages) { rows.addAll(page.rows) }\n return rows }",
    ),
    bad(
        "copied-or-sorted-in-loop",
        "rust",
        "fn merge(events: &mut Vec<Event>, incoming: Vec<Event>) { for e in incoming {\n events.push(e);\n events.sort_by_key(|e| e.at);\n } }",
        3,
    ),
    bad(
        "unbuffered-writes",
        "rust",
        'use std::fs::File;\nfn f(path: &str, rows: &[Row]) -> R { let mut out = File::create(path)?;\n for row in rows {\n writeln!(out, "{}", row.id)?;\n }\n Ok(()) }',
        4,
    ),
    good(
        "unbuffered-writes",
        "rust",
        'use std::fs::File;\nfn f(path: &str, rows: &[Row]) -> R { let mut out = BufWriter::new(File::create(path)?); for row in rows { writeln!(out, "{}", row.id)?; } Ok(()) }',
    ),
    bad(
        "unbuffered-writes",
        "go",
        'package a\nimport (\n\t"fmt"\n\t"os"\n)\nfunc f(path string, rows []Row) {\n\tf, _ := os.Create(path)\n\tfor _, r := range rows {\n\t\tfmt.Fprintf(f, "%d", r.ID)\n\t}\n}',
        9,
    ),
    good(
        "unbuffered-writes",
        "go",
        'package a\nimport (\n\t"bufio"\n\t"fmt"\n\t"os"\n)\nfunc f(path string, rows []Row) {\n\tf, _ := os.Create(path)\n\tw := bufio.NewWriter(f)\n\tfor _, r := range rows {\n\t\tfmt.Fprintf(w, "%d", r.ID)\n\t}\n}',
    ),
    good(
        "unbuffered-writes",
        "go",
        'package a\nimport "os"\nfunc f(path string, flags []string) {\n\tf, _ := os.Create(path)\n\tfor _, each := range flags {\n\t\tf.WriteString(each)\n\t}\n}',
    ),
    bad(
        "deep-copy-in-loop",
        "python",
        "import copy\ndef expand(template, rows):\n    out = []\n    for row in rows:\n        item = copy.deepcopy(template)\n        out.append(item)\n    return out",
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
        "function f(state, events) { const seen = [];\n for (const event of events) {\n seen.push(JSON.parse(JSON.stringify(state)));\n }\n return seen; }",
        3,
    ),
    good("deep-copy-in-loop", "javascript", "function f(state) { return structuredClone(state); }"),
    bad(
        _COMPILED,
        "javascript",
        "function f(orders) { return orders.map((o) => {\n const money = new Intl.NumberFormat('de-DE');\n return money.format(o.total); }); }",
        2,
    ),
    good(
        _COMPILED,
        "javascript",
        "const money = new Intl.NumberFormat('de-DE');\nfunction f(orders) { return orders.map((o) => money.format(o.total)); }",
    ),
    bad(
        _MEMBER,
        "rust",
        "pub fn fresh(orders: &[Order], known: &Vec<u64>) -> Vec<u64> {\n orders.iter().map(|o| o.id).filter(|id| !known.contains(id)).collect()\n}",
        2,
    ),
    bad(
        _MEMBER,
        "csharp",
        "class A { IEnumerable<Order> F(List<Order> orders, List<int> known) {\n return orders.Where(o => !known.Contains(o.Id)); } }",
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
        "import java.util.List;\nclass A { List<Order> f(List<Order> orders, List<Long> known) {\n return orders.stream().filter(o -> !known.contains(o.id())).toList(); } }",
        3,
    ),
]
