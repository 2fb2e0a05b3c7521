"""Goroutines, locks, transactions and queues."""

# ruff: noqa: E501  (a row of a table is one line)

from __future__ import annotations

from tests.code.rules.cases import Case, bad, good

_PY, _JS, _TS, _GO, _JAVA = "python", "javascript", "typescript", "go", "java"
_HEAD = 'package main\nimport ("context"; "errors"; "sync"; "time")\n'
"""Two lines."""
_LEAK, _TIMER, _GROUP = "goroutine-leak", "timer-made-in-every-round", "waitgroup-add-inside-goroutine"


def _bad_go(rule: str, code: str, *lines: int) -> Case:
    return bad(rule, _GO, _HEAD + code, *(line + 2 for line in lines))


def _good_go(rule: str, code: str) -> Case:
    return good(rule, _GO, _HEAD + code)


CASES = [
    # The receiver leaves first.
    _bad_go(
        _LEAK,
        "func f(ctx context.Context) (int, error) {\n ch := make(chan int)\n go func() {\n  ch <- work()\n }()\n select {\n case n := <-ch:\n  return n, nil\n case <-ctx.Done():\n  return 0, ctx.Err()\n }\n}",
        4,
    ),
    _bad_go(
        _LEAK,
        'func f() error {\n done := make(chan error)\n go func() { done <- work() }()\n select {\n case err := <-done:\n  return err\n case <-time.After(time.Second):\n  return errors.New("late")\n }\n}',
        3,
    ),
    _bad_go(
        _LEAK,
        "func f(u string) error {\n ch := make(chan error)\n go func() { ch <- work() }()\n if err := check(u); err != nil {\n  return err\n }\n return <-ch\n}",
        3,
    ),
    _bad_go(
        _LEAK,
        'func f(urls []string) (string, error) {\n ch := make(chan result)\n for _, u := range urls {\n  go func() { ch <- get(u) }()\n }\n for range urls {\n  r := <-ch\n  if r.err != nil { return "", r.err }\n }\n return "", nil\n}',
        4,
    ),
    _good_go(
        _LEAK,
        "func f(ctx context.Context) (int, error) {\n ch := make(chan int, 1)\n go func() { ch <- work() }()\n select {\n case n := <-ch:\n  return n, nil\n case <-ctx.Done():\n  return 0, ctx.Err()\n }\n}",
    ),
    _good_go(
        _LEAK,
        "func f(ctx context.Context) (int, error) {\n ch := make(chan int)\n go func() {\n  select {\n  case ch <- work():\n  case <-ctx.Done():\n  }\n }()\n select {\n case n := <-ch:\n  return n, nil\n case <-ctx.Done():\n  return 0, ctx.Err()\n }\n}",
    ),
    _good_go(_LEAK, "func f() int {\n ch := make(chan int)\n go func() { ch <- work() }()\n return <-ch\n}"),
    _good_go(
        _LEAK,
        "func f(urls []string) []result {\n ch := make(chan result)\n for _, u := range urls {\n  go func() { ch <- get(u) }()\n }\n var all []result\n for range urls {\n  all = append(all, <-ch)\n }\n return all\n}",
    ),
    _good_go(
        _LEAK,
        "func f(ctx context.Context) <-chan int {\n ch := make(chan int)\n go func() { ch <- work() }()\n return ch\n}",
    ),
    _good_go(
        _LEAK,
        "func f(ctx context.Context) {\n done := make(chan struct{})\n go func() { defer close(done); work() }()\n select {\n case <-done:\n case <-ctx.Done():\n }\n}",
    ),
    _good_go(
        _LEAK,
        "func main() {\n ch := make(chan error)\n go func() { ch <- work() }()\n select {\n case <-ch:\n case <-time.After(time.Second):\n }\n}",
    ),
    # Timers.
    _good_go(
        _TIMER,
        "func f(quit chan int) {\n for {\n  work()\n  select {\n  case <-quit:\n   return\n  case <-time.After(time.Minute):\n  }\n }\n}",
    ),
    _bad_go(
        _TIMER,
        "func f(in chan int) {\n for {\n  select {\n  case n := <-in:\n   use(n)\n  case <-time.After(time.Minute):\n   return\n  }\n }\n}",
        6,
    ),
    _good_go(
        _TIMER,
        "func f(in chan int) {\n select {\n case n := <-in:\n  use(n)\n case <-time.After(time.Minute):\n }\n}",
    ),
    _good_go(
        _TIMER,
        "func f(ctx context.Context) {\n for {\n  work()\n  select {\n  case <-ctx.Done():\n   return\n  case <-time.After(time.Minute):\n  }\n }\n}",
    ),
    _good_go(
        _TIMER,
        "func f(in chan int) {\n timer := time.NewTimer(time.Minute)\n for {\n  select {\n  case n := <-in:\n   use(n)\n  case <-timer.C:\n   return\n  }\n }\n}",
    ),
    # Groups.
    _bad_go(
        _GROUP,
        "func f(items []int) {\n var wg sync.WaitGroup\n for _, i := range items {\n  go func() {\n   wg.Add(1)\n   defer wg.Done()\n   use(i)\n  }()\n }\n wg.Wait()\n}",
        5,
    ),
    _good_go(
        _GROUP,
        "func f(items []int) {\n var wg sync.WaitGroup\n for _, i := range items {\n  wg.Add(1)\n  go func() {\n   defer wg.Done()\n   use(i)\n  }()\n }\n wg.Wait()\n}",
    ),
    _good_go(
        _GROUP,
        "func f(items []int) {\n var wg sync.WaitGroup\n wg.Add(1)\n go func() {\n  defer wg.Done()\n  for _, i := range items {\n   wg.Add(1)\n   go func() { defer wg.Done(); use(i) }()\n  }\n }()\n wg.Wait()\n}",
    ),
    _good_go(_GROUP, "func f(c *Counter) {\n go func() {\n  c.Add(1)\n }()\n}"),
]
