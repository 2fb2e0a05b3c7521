"""Ends of programs that cut off work: signals, hooks, and servers that are left too early."""

# ruff: noqa: E101  (snippets of Go)

from __future__ import annotations

from tests.code.rules.cases import bad, good

_RULE = "work-cut-off-at-the-end"

CASES = [
    bad(
        _RULE,
        "go",
        """
        package main

        import (
        	"net/http"
        	"os/signal"
        )

        func main() {
        	srv := &http.Server{Addr: ":8080"}
        	go func() {
        		<-stop
        		srv.Shutdown(context.Background())
        	}()
        	if err := srv.ListenAndServe(); err != http.ErrServerClosed {
        		log.Fatal(err)
        	}
        }
        """,
        10,
    ),
    bad(
        _RULE,
        "go",
        """
        package api

        import "net/http"

        type API struct{ server *http.Server }

        func (a *API) Run(ctx context.Context) error {
        	go a.stop(ctx)
        	return a.server.ListenAndServe()
        }

        func (a *API) stop(ctx context.Context) {
        	<-ctx.Done()
        	a.server.Shutdown(context.Background())
        }
        """,
        8,
    ),
    bad(
        _RULE,
        "go",
        """
        package main

        import (
        	"net/http"
        	"os/signal"
        )

        func main() {
        	srv := &http.Server{Addr: ":8080"}
        	go srv.ListenAndServe()
        	<-ctx.Done()
        	srv.Close()
        }
        """,
        12,
    ),
    good(
        _RULE,
        "go",
        """
        package main

        import (
        	"net/http"
        	"os/signal"
        )

        func main() {
        	srv := &http.Server{Addr: ":8080"}
        	done := make(chan struct{})
        	go func() {
        		<-stop
        		srv.Shutdown(context.Background())
        		close(done)
        	}()
        	srv.ListenAndServe()
        	<-done
        }

        func group(g *errgroup.Group, srv *http.Server) error {
        	g.Go(srv.ListenAndServe)
        	g.Go(func() error {
        		<-ctx.Done()
        		return srv.Shutdown(context.Background())
        	})
        	return g.Wait()
        }

        func plain(srv *http.Server) error {
        	go srv.ListenAndServe()
        	<-stop
        	defer srv.Close()
        	return srv.Shutdown(context.Background())
        }
        """,
    ),
    bad(
        _RULE,
        "python",
        """
        import os
        import signal
        import sys

        def stop(signum, frame):
            print("stopping")
            sys.exit(0)

        def drop(*_):
            pool.shutdown(wait=False, cancel_futures=True)

        signal.signal(signal.SIGTERM, stop)
        signal.signal(signal.SIGINT, drop)
        loop.add_signal_handler(signal.SIGTERM, lambda: os._exit(0))
        while True:
            work(queue.get())
        """,
        7,
        10,
        14,
    ),
    good(
        _RULE,
        "python",
        """
        import signal
        import sys

        def stop(signum, frame):
            sys.exit(0)

        def ask(signum, frame):
            stopping.set()

        def finish(signum, frame):
            worker.join()
            sys.exit(0)

        signal.signal(signal.SIGTERM, stop)
        signal.signal(signal.SIGINT, ask)
        signal.signal(signal.SIGTERM, finish)
        try:
            while True:
                work(queue.get())
        finally:
            queue.close()
        """,
    ),
    good(
        _RULE,
        "python",
        """
        import signal
        import sys

        def stop(signum, frame):
            sys.exit(130)

        signal.signal(signal.SIGINT, stop)
        convert(sys.argv[1])
        """,
    ),
    bad(
        _RULE,
        "rust",
        """
        #[tokio::main]
        async fn main() {
            tokio::spawn(async {
                tokio::signal::ctrl_c().await.ok();
                std::process::exit(0);
            });
            axum::serve(listener, app).await.unwrap();
        }
        """,
        5,
    ),
    good(
        _RULE,
        "rust",
        """
        #[tokio::main]
        async fn main() {
            tokio::signal::ctrl_c().await.ok();
            worker.stop().await;
            std::process::exit(0);
        }

        fn check(listener: &Listener) {
            if listener.is_closed() {
                std::process::exit(1);
            }
        }
        """,
    ),
    bad(
        _RULE,
        "csharp",
        """
        Console.CancelKeyPress += (_, e) =>
        {
            Environment.Exit(0);
        };
        await worker.RunAsync();
        """,
        3,
    ),
    good(
        _RULE,
        "csharp",
        """
        Console.CancelKeyPress += (_, e) =>
        {
            e.Cancel = true;
            stop.Cancel();
        };
        if (args.Length == 0) Environment.Exit(2);
        """,
    ),
    bad(
        _RULE,
        "java",
        """
        class Main {
            void run() {
                Runtime.getRuntime().addShutdownHook(new Thread(() -> {
                    log.info("stop");
                    Runtime.getRuntime().halt(0);
                }));
                Runtime.getRuntime().addShutdownHook(new Thread(() -> server.stop(0)));
                Runtime.getRuntime().addShutdownHook(new Thread(() -> workers.shutdownNow()));
            }
        }
        """,
        5,
        7,
        8,
    ),
    good(
        _RULE,
        "java",
        """
        class Main {
            void run() {
                Runtime.getRuntime().addShutdownHook(new Thread(() -> {
                    server.stop(10);
                    workers.shutdown();
                    if (!workers.awaitTermination(10, TimeUnit.SECONDS)) workers.shutdownNow();
                }));
            }

            void fail() {
                Runtime.getRuntime().halt(1);
            }
        }
        """,
    ),
    bad(
        "no-graceful-shutdown",
        "javascript",
        """
        app.listen(3000);
        for (const signal of ['SIGTERM', 'SIGINT']) {
          process.on(signal, () => {
            console.log(signal);
            process.exit(0);
          });
        }
        """,
        5,
    ),
    good(
        "no-graceful-shutdown",
        "javascript",
        """
        const server = app.listen(3000);
        for (const signal of ['SIGTERM', 'SIGINT']) {
          process.on(signal, () => server.close(() => process.exit(0)));
        }
        for (const event of ['warning', 'exit']) {
          process.on(event, () => console.log(event));
        }
        """,
    ),
    bad(
        "workers-not-awaited",
        "go",
        """
        package main

        import "os/signal"

        func main() {
        	go worker(jobs)
        	signal.Notify(stop, syscall.SIGTERM)
        	<-stop
        	cancel()
        }
        """,
        6,
    ),
    good(
        "workers-not-awaited",
        "go",
        """
        package main

        import "os/signal"

        func main() {
        	go serveMetrics()
        	signal.Notify(stop, syscall.SIGTERM)
        	<-stop
        	cancel()
        }
        """,
    ),
    bad(
        "no-graceful-shutdown",
        "python",
        """
        import grpc

        def serve():
            server = grpc.server(threads)
            server.start()
            server.wait_for_termination()
        """,
        6,
    ),
    bad(
        "no-graceful-shutdown",
        "python",
        """
        import grpc
        import signal

        def stop(*_):
            server.stop(0)
        """,
        5,
    ),
    good(
        "no-graceful-shutdown",
        "python",
        """
        import grpc

        def serve():
            server = grpc.server(threads)
            server.start()
            stopping.wait()
            server.stop(grace=20).wait()
            server.wait_for_termination()
        """,
    ),
    bad(
        "no-graceful-shutdown",
        "java",
        """
        class Config {
            @Bean
            public ThreadPoolTaskExecutor mails() {
                ThreadPoolTaskExecutor executor = new ThreadPoolTaskExecutor();
                executor.setQueueCapacity(100);
                return executor;
            }
        }
        """,
        4,
    ),
    good(
        "no-graceful-shutdown",
        "java",
        """
        class Config {
            @Bean
            public ThreadPoolTaskExecutor mails() {
                ThreadPoolTaskExecutor executor = new ThreadPoolTaskExecutor();
                executor.setWaitForTasksToCompleteOnShutdown(true);
                return executor;
            }
        }
        """,
    ),
    bad(
        "no-graceful-shutdown",
        "typescript",
        """
        import { Worker } from 'bullmq';

        const worker = new Worker('mails', async (job) => send(job.data));
        worker.on('failed', (job, error) => console.error(error));
        """,
        3,
    ),
    good(
        "no-graceful-shutdown",
        "typescript",
        """
        import { Worker } from 'bullmq';

        export const worker = new Worker('mails', async (job) => send(job.data));
        """,
    ),
    bad(
        "no-graceful-shutdown",
        "typescript",
        """
        import { Worker } from 'bullmq';

        export const worker = new Worker('mails', async (job) => send(job.data), { connection });

        function shutdown(signal: string): void {
          console.log(signal);
          connection.disconnect();
          process.exit(0);
        }

        process.on('SIGTERM', () => shutdown('SIGTERM'));
        """,
        7,
    ),
    good(
        "no-graceful-shutdown",
        "typescript",
        """
        import { Worker } from 'bullmq';

        export const worker = new Worker('mails', async (job) => send(job.data), { connection });

        async function shutdown(signal: string): Promise<void> {
          await worker.close();
          connection.disconnect();
          process.exit(0);
        }

        process.on('SIGTERM', () => shutdown('SIGTERM'));
        """,
    ),
]
