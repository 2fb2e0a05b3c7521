"""Defects as services in Go have them."""

from __future__ import annotations

from tests.code.rules.cases import bad

CASES = [
    bad(
        "error-answered-as-success",
        "go",
        """
        package api

        import (
            "encoding/json"
            "log"
            "net/http"
        )

        type apiResponse struct {
            OK    bool   `json:"ok"`
            Error string `json:"error,omitempty"`
        }

        func (s *Server) handleCreate(w http.ResponseWriter, r *http.Request) {
            if err := s.store.Create(r.Context()); err != nil {
                log.Printf("create: %v", err)
                json.NewEncoder(w).Encode(apiResponse{OK: false, Error: err.Error()})
                return
            }
            json.NewEncoder(w).Encode(apiResponse{OK: true})
        }
    """,
        17,
    ),
    bad(
        "error-answered-as-success",
        "go",
        """
        package api

        import (
            "fmt"
            "net/http"
        )

        func quote(w http.ResponseWriter, r *http.Request) {
            q, err := fetchQuote(r.Context())
            if err != nil {
                fmt.Fprintf(w, "error: %v", err)
                return
            }
            fmt.Fprint(w, q)
        }
    """,
        11,
    ),
    bad(
        "secret-in-log",
        "go",
        """
        package auth

        import (
            "log"
            "net/http"
        )

        func Login(w http.ResponseWriter, r *http.Request) {
            user := r.FormValue("user")
            password := r.FormValue("password")
            log.Printf("login user=%s password=%s", user, password)
        }
    """,
        11,
    ),
    bad(
        "secret-in-log",
        "go",
        """
        package client

        import (
            "go.uber.org/zap"
        )

        func (c *Client) Do() error {
            c.logger.Info("calling api", zap.String("token", c.token), zap.String("url", c.url))
            return nil
        }
    """,
        8,
    ),
    bad(
        "secret-in-log",
        "go",
        """
        package mw

        import (
            "log/slog"
            "net/http"
        )

        func Logging(next http.Handler) http.Handler {
            return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
                slog.Info("request", "path", r.URL.Path, "authorization", r.Header.Get("Authorization"))
                next.ServeHTTP(w, r)
            })
        }
    """,
        10,
    ),
    bad(
        "goroutine-leak",
        "go",
        """
        package a

        import (
            "context"
            "time"
        )

        func Query(ctx context.Context, q string) (string, error) {
            ch := make(chan string)
            errCh := make(chan error)
            go func() {
                r, err := slow(q)
                if err != nil {
                    errCh <- err
                    return
                }
                ch <- r
            }()
            select {
            case r := <-ch:
                return r, nil
            case err := <-errCh:
                return "", err
            case <-time.After(2 * time.Second):
                return "", context.DeadlineExceeded
            }
        }
    """,
        14,
        17,
    ),
    bad(
        "goroutine-leak",
        "go",
        """
        package a

        func First(urls []string) string {
            results := make(chan string)
            for _, u := range urls {
                go func(u string) {
                    results <- fetch(u)
                }(u)
            }
            return <-results
        }
    """,
        7,
    ),
    bad(
        "goroutine-leak",
        "go",
        """
        package a

        func process(items []int) error {
            jobs := make(chan int)
            for i := 0; i < 4; i++ {
                go func() {
                    for j := range jobs {
                        work(j)
                    }
                }()
            }
            for _, it := range items {
                jobs <- it
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

        func run(tasks []func()) {
            wg := &sync.WaitGroup{}
            for _, t := range tasks {
                go func(t func()) {
                    wg.Add(1)
                    defer wg.Done()
                    t()
                }(t)
            }
            wg.Wait()
        }
    """,
        9,
    ),
    bad(
        "timer-made-in-every-round",
        "go",
        """
        package a

        import "time"

        func loop(events <-chan string, done <-chan struct{}) {
            for {
                select {
                case e := <-events:
                    handle(e)
                case <-time.After(30 * time.Second):
                    flush()
                case <-done:
                    return
                }
            }
        }
    """,
        10,
    ),
    bad(
        "grpc-call-without-deadline",
        "go",
        """
        package client

        import (
            "context"

            "google.golang.org/grpc"
            pb "example.com/proto"
        )

        type Client struct{ api pb.UserServiceClient }

        func New(conn *grpc.ClientConn) *Client { return &Client{api: pb.NewUserServiceClient(conn)} }

        func (c *Client) Get(id string) (*pb.User, error) {
            return c.api.GetUser(context.Background(), &pb.GetUserRequest{Id: id})
        }
    """,
        15,
    ),
    bad(
        "lost-update",
        "go",
        """
        package a
        func (s *Service) Withdraw(id uint, amount int64) error {
            var acc Account
            if err := s.db.First(&acc, id).Error; err != nil {
                return err
            }
            acc.Balance -= amount
            return s.db.Save(&acc).Error
        }
    """,
        7,
    ),
    bad(
        "busy-loop",
        "go",
        """
        package a
        func worker(jobs <-chan int, quit <-chan bool) {
            for {
                select {
                case j := <-jobs:
                    process(j)
                case <-quit:
                    return
                default:
                }
            }
        }
    """,
        9,
    ),
    bad(
        "no-graceful-shutdown",
        "go",
        """
        package main
        import "github.com/gin-gonic/gin"
        func main() {
            r := gin.Default()
            r.GET("/ping", ping)
            r.Run(":8080")
        }
    """,
        6,
    ),
]
