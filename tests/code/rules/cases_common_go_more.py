"""More defects as services in Go have them."""

from __future__ import annotations

from tests.code.rules.cases import bad

CASES = [
    bad(
        "error-answered-as-success",
        "go",
        """
        package api

        import (
            "net/http"

            "github.com/labstack/echo/v4"
        )

        func (h *Handler) Get(c echo.Context) error {
            user, err := h.repo.Find(c.Param("id"))
            if err != nil {
                return c.JSON(http.StatusOK, map[string]interface{}{"success": false, "message": err.Error()})
            }
            return c.JSON(http.StatusOK, user)
        }
    """,
        12,
    ),
    bad(
        "error-answered-as-success",
        "go",
        """
        package api

        import "github.com/gofiber/fiber/v2"

        func get(c *fiber.Ctx) error {
            v, err := load(c.Context())
            if err != nil {
                return c.JSON(fiber.Map{"error": err.Error()})
            }
            return c.JSON(v)
        }
    """,
        8,
    ),
    bad(
        "error-answered-as-success",
        "go",
        """
        package api

        import "net/http"

        func (s *server) balance(w http.ResponseWriter, r *http.Request) {
            b, err := s.accounts.Balance(r.Context(), r.PathValue("id"))
            if err != nil {
                w.Write([]byte(`{"error":"internal"}`))
                return
            }
            writeJSON(w, b)
        }
    """,
        8,
    ),
    bad(
        "secret-in-log",
        "go",
        """
        package main

        import (
            "log"
            "os"
        )

        type Config struct {
            Host     string
            Password string
        }

        func main() {
            cfg := Config{Host: os.Getenv("HOST"), Password: os.Getenv("DB_PASSWORD")}
            log.Printf("config: %+v", cfg)
        }
    """,
        15,
    ),
    bad(
        "goroutine-leak",
        "go",
        """
        package a

        import "context"

        func (s *Service) Load(ctx context.Context, id string) (*Item, error) {
            type result struct {
                item *Item
                err  error
            }
            resCh := make(chan result)
            go func() {
                item, err := s.repo.Find(id)
                resCh <- result{item, err}
            }()
            select {
            case <-ctx.Done():
                return nil, ctx.Err()
            case res := <-resCh:
                return res.item, res.err
            }
        }
    """,
        13,
    ),
    bad(
        "goroutine-leak",
        "go",
        """
        package a

        func validate(xs []string) error {
            errs := make(chan error)
            for _, x := range xs {
                go func(x string) {
                    errs <- check(x)
                }(x)
            }
            for i := 0; i < len(xs); i++ {
                if err := <-errs; err != nil {
                    return err
                }
            }
            return nil
        }
    """,
        7,
    ),
    bad(
        "waitgroup-add-inside-goroutine",
        "go",
        """
        package a

        import "sync"

        type Pool struct {
            wg sync.WaitGroup
        }

        func (p *Pool) Run(fs []func()) {
            for _, f := range fs {
                f := f
                go func() {
                    p.wg.Add(1)
                    defer p.wg.Done()
                    f()
                }()
            }
            p.wg.Wait()
        }
    """,
        13,
    ),
    bad(
        "released-on-success-only",
        "go",
        """
        package a

        import "database/sql"

        func (r *Repo) Move(db *sql.DB, a, b int) error {
            tx, err := db.Begin()
            if err != nil {
                return err
            }
            _, err = tx.Exec("UPDATE t SET n = n - 1 WHERE id = $1", a)
            if err != nil {
                return err
            }
            _, err = tx.Exec("UPDATE t SET n = n + 1 WHERE id = $1", b)
            if err != nil {
                return err
            }
            return tx.Commit()
        }
    """,
        6,
    ),
    bad(
        "request-in-transaction",
        "go",
        """
        package a

        import (
            "context"
            "database/sql"
            "net/http"
        )

        func (s *Svc) Create(ctx context.Context) error {
            tx, err := s.db.BeginTx(ctx, nil)
            if err != nil {
                return err
            }
            defer tx.Rollback()
            if _, err := tx.ExecContext(ctx, "INSERT INTO orders DEFAULT VALUES"); err != nil {
                return err
            }
            req, _ := http.NewRequestWithContext(ctx, http.MethodPost, s.url, nil)
            resp, err := s.client.Do(req)
            if err != nil {
                return err
            }
            defer resp.Body.Close()
            return tx.Commit()
        }

        type Svc struct {
            db     *sql.DB
            client *http.Client
            url    string
        }
    """,
        19,
    ),
    bad(
        "acknowledged-before-work",
        "go",
        """
        package a

        func (c *Consumer) Handle(msg *nats.Msg) {
            msg.Ack()
            var o Order
            if err := json.Unmarshal(msg.Data, &o); err != nil {
                return
            }
            c.svc.Process(o)
        }
    """,
        4,
    ),
    bad(
        "lost-update",
        "go",
        """
        package a

        func (s *Store) Add(ctx context.Context, key string, n int) error {
            cur, err := s.rdb.Get(ctx, key).Int()
            if err != nil {
                return err
            }
            return s.rdb.Set(ctx, key, cur+n, 0).Err()
        }
    """,
        8,
    ),
    bad(
        "file-written-in-place",
        "go",
        """
        package a

        import (
            "encoding/json"
            "os"
        )

        const stateFile = "/var/lib/agent/state.json"

        func Load() (*State, error) {
            b, err := os.ReadFile(stateFile)
            if err != nil {
                return nil, err
            }
            var s State
            return &s, json.Unmarshal(b, &s)
        }

        func Save(s *State) error {
            b, err := json.Marshal(s)
            if err != nil {
                return err
            }
            return os.WriteFile(stateFile, b, 0o644)
        }
    """,
        24,
    ),
    bad(
        "busy-loop",
        "go",
        """
        package a

        func (w *Worker) Run() {
            for {
                select {
                case job := <-w.jobs:
                    w.do(job)
                default:
                    continue
                }
            }
        }
    """,
        8,
    ),
    bad(
        "no-graceful-shutdown",
        "go",
        """
        package main
        import ("net/http"; "log")
        func main() {
            mux := http.NewServeMux()
            srv := &http.Server{Addr: ":80", Handler: mux, ReadTimeout: t}
            log.Fatal(srv.ListenAndServe())
        }
    """,
        6,
    ),
    bad(
        "secret-in-log",
        "go",
        """
        package a

        import "github.com/sirupsen/logrus"

        func connect(dsn, password string) {
            logrus.WithFields(logrus.Fields{"dsn": dsn, "password": password}).Info("connecting")
        }
    """,
        6,
    ),
    bad(
        "secret-in-log",
        "go",
        """
        package a

        import ("fmt"; "net/http")

        func handler(w http.ResponseWriter, r *http.Request) {
            fmt.Println("headers:", r.Header)
            next(w, r)
        }
    """,
        6,
    ),
    bad(
        "goroutine-leak",
        "go",
        """
        package a

        import ("context"; "net/http")

        func handler(w http.ResponseWriter, r *http.Request) {
            result := make(chan string)
            go func() {
                result <- compute(r.Context())
            }()
            select {
            case v := <-result:
                w.Write([]byte(v))
            case <-r.Context().Done():
                return
            }
        }
    """,
        8,
    ),
    bad(
        "goroutine-leak",
        "go",
        """
        package a

        import "time"

        func ping(host string) bool {
            done := make(chan bool)
            go func() {
                done <- dial(host)
            }()
            timer := time.NewTimer(time.Second)
            defer timer.Stop()
            select {
            case ok := <-done:
                return ok
            case <-timer.C:
                return false
            }
        }
    """,
        8,
    ),
    bad(
        "released-on-success-only",
        "go",
        """
        package a

        import "os"

        func hash(p string) (string, error) {
            f, err := os.Open(p)
            if err != nil {
                return "", err
            }
            sum, err := sumOf(f)
            if err != nil {
                return "", err
            }
            if err := f.Close(); err != nil {
                return "", err
            }
            return sum, nil
        }
    """,
        6,
    ),
    bad(
        "grpc-call-without-deadline",
        "go",
        """
        package main

        import (
            "context"
            "log"

            "google.golang.org/grpc"
            pb "google.golang.org/grpc/examples/helloworld/helloworld"
        )

        func main() {
            conn, err := grpc.NewClient("localhost:50051")
            if err != nil {
                log.Fatal(err)
            }
            defer conn.Close()
            c := pb.NewGreeterClient(conn)
            ctx := context.Background()
            r, err := c.SayHello(ctx, &pb.HelloRequest{Name: "x"})
            log.Println(r, err)
        }
    """,
        19,
    ),
    bad(
        "busy-loop",
        "go",
        """
        package a

        import "sync/atomic"

        func wait(ready *atomic.Bool) {
            for !ready.Load() {
            }
        }
    """,
        6,
    ),
    bad(
        "shared-mutable-state",
        "go",
        """
        package main

        import "net/http"

        var sessions = map[string]string{}

        func login(w http.ResponseWriter, r *http.Request) {
            sessions[r.FormValue("user")] = r.FormValue("token")
        }
    """,
        8,
    ),
]
