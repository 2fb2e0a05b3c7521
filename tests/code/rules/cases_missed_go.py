"""Go code that is wrong and was once passed by, each beside its right twin."""

from __future__ import annotations

from tests.code.rules.cases import Case, bad, good

_HEAD = 'package main\nimport ("context"; "database/sql"; "encoding/json"; "net/http"; "time")\n'
"""Two lines."""


def _bad(rule: str, code: str, *lines: int) -> Case:
    return bad(rule, "go", _HEAD + code.lstrip("\n"), *(line + 2 for line in lines))


def _good(rule: str, code: str) -> Case:
    return good(rule, "go", _HEAD + code.lstrip("\n"))


_ROWS = """
func names(ctx context.Context, db *sql.DB) ([]string, error) {
	rows, err := db.QueryContext(ctx, "SELECT name FROM cities")
	if err != nil {
		return nil, err
	}
	%s
	var found []string
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			%sreturn nil, err
		}
		found = append(found, name)
	}
	%s
	return found, nil
}
"""
_ANSWER = """
func load(client *http.Client, req *http.Request, into any) error {
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	%s
	if resp.StatusCode != 200 {
		%sreturn errBad
	}
	err = json.NewDecoder(resp.Body).Decode(into)
	resp.Body.Close()
	return err
}
"""
_SELECT = """
func run(in <-chan string, stop <-chan bool) {
	for {
		select {
		case name, ok := <-in:
			if !ok {
				return
			}
			%s
		case <-time.After(time.Minute):
			flush()
		}
	}
}
"""
_SEEN = """
type Server struct {
	mu sync.Mutex; count int; seen map[string]bool
}
func (s *Server) mark(w http.ResponseWriter, r *http.Request) {
	%s
	%s
}
"""
_PING = """
func stream(w http.ResponseWriter, r *http.Request) {
	ticker := time.NewTicker(time.Second)
	go func() {
		%s
	}()
	copyTo(w, r)
}
"""
_WORKER = """
import "google.golang.org/grpc"
type Worker struct { client pb.MailClient }
func (w *Worker) Run(ctx context.Context, %s) { for %s { w.send(ctx) } }
func (w *Worker) send(ctx context.Context) error {
	%s

	_, err := w.client.Send(%s, &pb.Mail{})
	return err
}
"""

CASES = [
    # Rows and bodies that a return in between leaves open.
    _bad("released-on-success-only", _ROWS % ("", "", "rows.Close()"), 2),
    _good("released-on-success-only", _ROWS % ("defer rows.Close()", "", "")),
    _good("released-on-success-only", _ROWS % ("", "rows.Close()\n", "rows.Close()")),
    # Rows that were read to their end are closed by then.
    _good(
        "released-on-success-only",
        """
func count(db *sql.DB) (int, error) {
	rows, err := db.Query("SELECT id FROM cities")
	if err != nil {
		return 0, err
	}
	n := 0
	for rows.Next() {
		n++
	}
	if err := rows.Err(); err != nil {
		return 0, err
	}
	rows.Close()
	return n, nil
}
""",
    ),
    _bad("response-not-closed", _ANSWER % ("", ""), 7),
    _good("response-not-closed", _ANSWER % ("defer resp.Body.Close()", "")),
    _good("released-on-success-only", _ANSWER % ("defer resp.Body.Close()", "")),
    _good("released-on-success-only", _ANSWER % ("", "resp.Body.Close()\n")),
    # A case that returns only under a condition lets the loop go on.
    _bad("timer-made-in-every-round", _SELECT % "add(name)", 9),
    _good("timer-made-in-every-round", _SELECT % "return"),
    # Fields of the object that answers requests.
    _bad("shared-mutable-state", _SEEN % ("", "s.seen[r.URL.Path] = true"), 6),
    _bad("shared-mutable-state", _SEEN % ("", "delete(s.seen, r.URL.Path)"), 6),
    _bad("shared-mutable-state", _SEEN % ("", "s.count++"), 6),
    _good("shared-mutable-state", _SEEN % ("s.mu.Lock(); defer s.mu.Unlock()", "s.seen[r.URL.Path] = true")),
    _good("shared-mutable-state", _SEEN % ("", "seen := map[string]bool{}; seen[r.URL.Path] = true")),
    # A goroutine for each request that nothing ends.
    _bad("goroutine-leak", _PING % "for range ticker.C {\n\t\t\tping(w)\n\t\t}", 3),
    _bad("goroutine-leak", _PING % "for {\n\t\t\tping(w)\n\t\t\ttime.Sleep(time.Second)\n\t\t}", 3),
    _good("goroutine-leak", _PING % "for range ticker.C {\n\t\t\tif ping(w) != nil { return }\n\t\t}"),
    _good(
        "goroutine-leak",
        _PING % "for {\n\t\t\tselect {\n\t\t\tcase <-r.Context().Done():\n\t\t\t\treturn\n\t\t\t}\n\t\t}",
    ),
    # What runs as long as the process is started once.
    _good("goroutine-leak", "func start() {\n\tgo func() {\n\t\tfor {\n\t\t\tclean()\n\t\t}\n\t}()\n}"),
    # The context of a worker has no deadline for one message.
    _bad("grpc-call-without-deadline", _WORKER % ("in <-chan Job", "range in", "", "ctx"), 7),
    _bad("grpc-call-without-deadline", _WORKER % ("in Queue", "", "", "ctx"), 7),
    _good("grpc-call-without-deadline", _WORKER % ("in []Job", "range in", "", "ctx")),
    _good(
        "grpc-call-without-deadline",
        _WORKER
        % ("in <-chan Job", "range in", "one, end := context.WithTimeout(ctx, limit); defer end()", "one"),
    ),
    _good(
        "grpc-call-without-deadline",
        _WORKER
        % ("in <-chan Job", "range in", "ctx, end := context.WithTimeout(ctx, limit); defer end()", "ctx"),
    ),
    _good(
        "grpc-call-without-deadline",
        (_WORKER % ("in Queue", "", "", "ctx"))
        .replace("_, err := w", "got, err := w")
        .replace("return err", "got.Recv()\n\treturn err"),
    ),
]
