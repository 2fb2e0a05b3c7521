"""Lists that are scanned for each item, and lists that are used as queues."""

# ruff: noqa: E101  (snippets of Go)

from __future__ import annotations

from tests.code.rules.cases import bad, good

_MEMBER = "list-membership-in-loop"
_SEARCH = "nested-search"
_QUEUE = "list-as-queue"
_ONLY_ITEM = """
        class Documents {
            private List<Document> items = new List<Document>();

            public void Open(Document next, int limit) {
                if ((items.Count == 1) && !items[0].IsOpen) {
                    items.RemoveAt(0);
                }
                items.Add(next);
            }
        }
        """

CASES = [
    bad(_MEMBER, "java", """
        import java.util.*;

        class Diff {
            List<String> fresh(List<String> known, List<String> given) {
                List<String> result = new ArrayList<>();
                for (String email : given) {
                    if (!known.contains(email)) result.add(email);
                }
                return result;
            }
        }
        """, 7),
    good(_MEMBER, "java", """
        import java.util.*;

        class Modes {
            List<String> wrong(List<String> allowed, List<String> given) {
                List<String> result = new ArrayList<>();
                for (String mode : given) {
                    if (!allowed.contains(mode)) result.add(mode);
                }
                return result;
            }
        }
        """),
    bad(_MEMBER, "csharp", """
        class Diff
        {
            List<Member> Fresh(List<Member> known, List<Member> given)
            {
                var mails = known.Select(m => m.Email).ToList();
                return given.Where(m => !mails.Contains(m.Email)).ToList();
            }
        }
        """, 6),
    good(_MEMBER, "csharp", """
        class Diff
        {
            List<Member> Fresh(List<Member> known, List<Member> given)
            {
                var mails = known.Select(m => m.Email).ToHashSet();
                return given.Where(m => !mails.Contains(m.Email)).ToList();
            }
        }
        """),
    bad(_MEMBER, "kotlin", """
        fun fresh(known: List<Member>, given: List<Member>): List<Member> {
            val mails = known.map { it.email }
            return given.filter { it.email !in mails }
        }
        """, 3),
    bad(_MEMBER, "go", """
        package a

        import "slices"

        func fresh(known, given []string) (out []string) {
        	for _, email := range given {
        		if !slices.Contains(known, email) {
        			out = append(out, email)
        		}
        	}
        	return out
        }
        """, 7),
    bad(_MEMBER, "rust", """
        fn fresh(known: &[String], given: Vec<String>) -> Vec<String> {
            let mut out = Vec::new();
            for email in given {
                if !known.contains(&email) {
                    out.push(email);
                }
            }
            out
        }
        """, 4),
    good(_MEMBER, "rust", """
        fn fresh(known: &[String], given: Vec<String>) -> Vec<String> {
            let known: HashSet<&String> = known.iter().collect();
            given.into_iter().filter(|email| !known.contains(email)).collect()
        }
        """),
    bad(_MEMBER, "rust", """
        struct Recent {
            ids: Vec<Uuid>,
        }

        impl Recent {
            fn is_new(&mut self, id: Uuid) -> bool {
                if self.ids.contains(&id) {
                    return false;
                }
                self.ids.push(id);
                true
            }
        }
        """, 7),
    bad(_MEMBER, "typescript", """
        async function crawl(start: string) {
          const todo = [start];
          const done: string[] = [];
          while (todo.length > 0) {
            const url = todo.pop()!;
            if (done.includes(url)) continue;
            done.push(url);
            todo.push(...(await links(url)));
          }
        }
        """, 6),
    good(_MEMBER, "typescript", """
        class Listeners {
          private handlers: Handler[] = [];
          remove(handler: Handler) {
            const at = this.handlers.indexOf(handler);
            if (at >= 0) this.handlers.splice(at, 1);
          }
        }
        """),
    bad(_SEARCH, "python", """
        def priced(goods, prices):
            result = []
            for one in goods:
                match = next((p for p in prices if p["sku"] == one["sku"]), None)
                result.append((one, match))
            return result
        """, 4),
    good(_SEARCH, "python", """
        def chosen(modes, settings):
            return [next((s for s in settings if s.mode == mode.value), None) for mode in modes]
        """),
    bad(_SEARCH, "go", """
        package a

        func apply(invoices []Invoice, payments []Payment) {
        	for i := range invoices {
        		for _, p := range payments {
        			if p.Ref == invoices[i].Ref {
        				invoices[i].Paid += p.Cents
        			}
        		}
        	}
        }
        """, 5),
    bad(_SEARCH, "rust", """
        fn totals(lines: &[Line], products: &[Product]) -> Vec<i64> {
            lines
                .iter()
                .map(|line| products.iter().find(|p| p.sku == line.sku).map_or(0, |p| p.price))
                .collect()
        }
        """, 4),
    good(_SEARCH, "rust", """
        fn one(sku: &str, products: &[Product]) -> Option<&Product> {
            products.iter().find(|p| p.sku == sku)
        }
        """),
    bad(_QUEUE, "python", """
        class Window:
            def __init__(self, size):
                self.recent = []
                self.size = size

            def add(self, event):
                self.recent.append(event)
                if len(self.recent) > self.size:
                    self.recent.pop(0)
        """, 9),
    good(_QUEUE, "python", """
        class Window:
            def __init__(self):
                self.recent = []

            def add(self, event):
                self.recent.append(event)
                if len(self.recent) > 50:
                    self.recent.pop(0)
        """),
    good(_QUEUE, "python", """
        def command(args):
            return args.pop(0), args
        """),
    bad(_QUEUE, "java", """
        import java.util.*;

        class Buffer {
            private final List<Event> events = new ArrayList<>();

            synchronized void add(Event event) {
                events.add(event);
                while (events.size() > capacity) events.remove(0);
            }
        }
        """, 8),
    good(_QUEUE, "java", """
        import java.util.*;

        class Buffer {
            private final List<Event> events = new LinkedList<>();

            synchronized void add(Event event) {
                events.add(event);
                while (events.size() > capacity) events.remove(0);
            }
        }
        """),
    bad(_QUEUE, "csharp", """
        class Buffer
        {
            private readonly List<Event> _events = new();

            public void Add(Event one)
            {
                _events.Add(one);
                if (_events.Count > Capacity) _events.RemoveAt(0);
            }
        }
        """, 8),
    bad(_QUEUE, "kotlin", """
        class Window(private val size: Int) {
            private val recent = mutableListOf<String>()

            fun add(id: String) {
                recent.add(id)
                if (recent.size > size) recent.removeAt(0)
            }
        }
        """, 6),
    bad(_QUEUE, "rust", """
        struct Buffer {
            events: Vec<Event>,
        }

        impl Buffer {
            fn push(&mut self, event: Event) {
                if self.events.len() == self.events.capacity() {
                    self.events.remove(0);
                }
                self.events.push(event);
            }
        }
        """, 8),
    # The only item: nothing is moved.
    bad(_QUEUE, "csharp", _ONLY_ITEM.replace("Count == 1", "Count > limit"), 6),
    good(_QUEUE, "csharp", _ONLY_ITEM),
]  # fmt: skip
