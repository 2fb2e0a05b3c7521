"""Loops that end on an error, and state that is half written."""

# ruff: noqa: E101  (snippets of Go)

from __future__ import annotations

from tests.code.rules.cases import bad, good

_ROWS = "iteration-error-ignored"
_PLACE = "file-written-in-place"
_CONTEXT = "missing-cancellation"

CASES = [
    bad(
        _ROWS,
        "go",
        """
        package feed
        import "go.mongodb.org/mongo-driver/mongo"
        func Load(ctx context.Context, coll *mongo.Collection, user string) ([]Item, error) {
        	cur, err := coll.Find(ctx, bson.M{"user": user})
        	if err != nil {
        		return nil, err
        	}
        	defer cur.Close(ctx)
        	var items []Item
        	for cur.Next(ctx) {
        		items = append(items, decode(cur.Current))
        	}
        	return items, nil
        }
        func Lines(r io.Reader) ([]string, error) {
        	var lines []string
        	scanner := bufio.NewScanner(r)
        	for scanner.Scan() {
        		lines = append(lines, scanner.Text())
        	}
        	return lines, nil
        }
        """,
        10,
        18,
    ),
    good(
        _ROWS,
        "go",
        """
        package feed
        func Lines(text string) ([]string, error) {
        	var lines []string
        	scanner := bufio.NewScanner(strings.NewReader(text))
        	for scanner.Scan() {
        		lines = append(lines, scanner.Text())
        	}
        	return lines, nil
        }
        func Rows(ctx context.Context, db *sql.DB) ([]Item, error) {
        	rows, err := db.QueryContext(ctx, "SELECT id FROM items WHERE open")
        	if err != nil {
        		return nil, err
        	}
        	defer rows.Close()
        	var items []Item
        	for rows.Next() {
        		items = append(items, Item{})
        	}
        	if err := rows.Err(); err != nil {
        		return nil, err
        	}
        	return items, nil
        }
        func Walk(tree *Tree) error {
        	each := tree.Iterator()
        	for each.Next() {
        		visit(each.Value())
        	}
        	return nil
        }
        """,
    ),
    good(
        _CONTEXT,
        "go",
        """
        package feed
        func Sum(ctx context.Context, pool *pgxpool.Pool) error {
        	rows, err := pool.Query(ctx, "SELECT cents FROM sales WHERE day = 1")
        	if err != nil {
        		return err
        	}
        	defer rows.Close()
        	return rows.Err()
        }
        """,
    ),
    bad(
        _PLACE,
        "python",
        """
        import json
        class Checkpoint:
            def __init__(self, path):
                self._path = path
                self._cursors = json.loads(path.read_text()) if path.exists() else {}
            def save(self):
                with open(self._path, "w") as file:
                    json.dump(self._cursors, file)
        """,
        7,
    ),
    bad(
        _PLACE,
        "go",
        """
        package state
        func (f *File) Load(v any) error {
        	data, err := os.ReadFile(f.path)
        	if err != nil {
        		return err
        	}
        	return json.Unmarshal(data, v)
        }
        func (f *File) Save(v any) error {
        	data, err := json.Marshal(v)
        	if err != nil {
        		return err
        	}
        	return os.WriteFile(f.path, data, 0o600)
        }
        """,
        14,
    ),
    bad(
        _PLACE,
        "java",
        """
        class Registry {
            private final File file;
            Devices load() throws IOException { return mapper.readValue(file, Devices.class); }
            void store(Devices devices) throws IOException { mapper.writeValue(file, devices); }
        }
        """,
        4,
    ),
    bad(
        _PLACE,
        "rust",
        """
        pub fn load(path: &Path) -> anyhow::Result<Index> {
            Ok(serde_json::from_slice(&std::fs::read(path)?)?)
        }
        pub fn store(path: &Path, index: &Index) -> anyhow::Result<()> {
            std::fs::write(path, serde_json::to_vec(index)?)?;
            Ok(())
        }
        """,
        5,
    ),
    good(
        _PLACE,
        "rust",
        """
        pub fn load(path: &Path) -> anyhow::Result<Index> {
            Ok(serde_json::from_slice(&std::fs::read(path)?)?)
        }
        pub fn store(path: &Path, index: &Index) -> anyhow::Result<()> {
            let next = path.with_extension("tmp");
            std::fs::write(&next, serde_json::to_vec(index)?)?;
            std::fs::rename(next, path)?;
            Ok(())
        }
        pub fn render(path: &Path, page: &Page) -> anyhow::Result<()> {
            std::fs::write(path, page.html())?;
            Ok(())
        }
        """,
    ),
    bad(
        _PLACE,
        "csharp",
        """
        class Licenses {
            private readonly string _path;
            License Load() => JsonSerializer.Deserialize<License>(File.ReadAllText(_path));
            void Save(License license) { File.WriteAllText(_path, JsonSerializer.Serialize(license)); }
        }
        """,
        4,
    ),
]
