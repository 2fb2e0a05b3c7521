"""Code that stops an event loop or goes on when it should not: forms of several libraries."""

# ruff: noqa: E101  (snippets of Go)

from __future__ import annotations

from tests.code.rules.cases import bad, good

CASES = [
    bad(
        "blocking-call-in-async-code",
        "python",
        """
        import asyncio
        from concurrent.futures import ThreadPoolExecutor

        pool = ThreadPoolExecutor(4)

        def load(user):
            return asyncio.run(fetch(user))

        async def answer(user):
            return load(user)

        async def show(path):
            future = pool.submit(render, path)
            return future.result()
        """,
        10,
        14,
    ),
    good(
        "blocking-call-in-async-code",
        "python",
        """
        import asyncio
        from concurrent.futures import ThreadPoolExecutor

        pool = ThreadPoolExecutor(4)

        def main():
            asyncio.run(serve())

        async def show(path):
            loop = asyncio.get_running_loop()
            task = asyncio.create_task(fetch(path))
            await task
            return task.result(), await loop.run_in_executor(pool, render, path)
        """,
    ),
    bad(
        "blocking-call-in-async-code",
        "java",
        """
        import io.netty.channel.ChannelHandlerContext;
        import io.netty.channel.SimpleChannelInboundHandler;

        class Echo extends SimpleChannelInboundHandler<String> {
            protected void channelRead0(ChannelHandlerContext ctx, String text) throws Exception {
                Thread.sleep(100);
                ctx.writeAndFlush(text);
            }
        }
        """,
        6,
    ),
    bad(
        "blocking-call-in-async-code",
        "java",
        """
        import io.vertx.core.AbstractVerticle;
        import java.nio.file.Files;

        class Reports extends AbstractVerticle {
            public void start() {
                vertx.eventBus().<String>consumer("report", message -> {
                    message.reply(Files.readString(path(message)));
                });
            }
        }
        """,
        7,
    ),
    good(
        "blocking-call-in-async-code",
        "java",
        """
        import io.vertx.core.AbstractVerticle;
        import java.nio.file.Files;

        class Reports extends AbstractVerticle {
            public void start() {
                String text = Files.readString(path);
                vertx.eventBus().<String>consumer("report", message -> {
                    vertx.executeBlocking(() -> Files.readString(path(message)));
                });
            }
        }
        """,
    ),
    bad(
        "cancellation-not-passed-on",
        "csharp",
        """
        class Poller : BackgroundService
        {
            protected override async Task ExecuteAsync(CancellationToken stop)
            {
                while (!stop.IsCancellationRequested)
                {
                    await PollAsync(stop);
                    await Task.Delay(TimeSpan.FromMinutes(5));
                }
            }
        }
        """,
        8,
    ),
    good(
        "cancellation-not-passed-on",
        "csharp",
        """
        class Poller : BackgroundService
        {
            protected override async Task ExecuteAsync(CancellationToken stop)
            {
                await Task.Delay(100);
                while (!stop.IsCancellationRequested)
                {
                    await Task.Delay(TimeSpan.FromMinutes(5), stop);
                }
            }
        }
        """,
    ),
    bad(
        "pipe-without-error-handler",
        "javascript",
        """
        const { S3Client, GetObjectCommand } = require('@aws-sdk/client-s3');
        const { Storage } = require('@google-cloud/storage');

        async function send(key, res) {
          const found = await s3.send(new GetObjectCommand({ Bucket: 'files', Key: key }));
          found.Body.pipe(gzip).pipe(res);
        }

        function show(name, res) {
          const source = bucket.file(name).createReadStream();
          source.pipe(res);
        }
        """,
        6,
        11,
    ),
    good(
        "pipe-without-error-handler",
        "javascript",
        """
        const { S3Client, GetObjectCommand } = require('@aws-sdk/client-s3');
        const { pipeline } = require('stream/promises');

        async function send(key, res) {
          const found = await s3.send(new GetObjectCommand({ Bucket: 'files', Key: key }));
          await pipeline(found.Body, gzip, res);
        }

        function show(name, res) {
          const source = bucket.file(name).createReadStream();
          res.on('close', () => source.destroy());
          source.on('error', (error) => res.destroy(error));
          source.pipe(res);
          rows.data.pipe(map);
        }
        """,
    ),
    bad(
        "busy-loop",
        "rust",
        """
        fn run(rx: Receiver<Job>, stop: &AtomicBool) {
            while !stop.load(Ordering::Relaxed) {
                if let Ok(job) = rx.try_recv() {
                    job.run();
                }
            }
        }
        """,
        2,
    ),
    good(
        "busy-loop",
        "rust",
        """
        fn run(rx: Receiver<Job>, stop: &AtomicBool) {
            while !stop.load(Ordering::Relaxed) {
                match rx.try_recv() {
                    Ok(job) => job.run(),
                    Err(_) => std::thread::sleep(PAUSE),
                }
            }
            while let Ok(job) = rx.try_recv() {
                job.run();
            }
            loop {
                match rx.try_recv() {
                    Ok(job) => job.run(),
                    Err(_) => break,
                }
            }
        }
        """,
    ),
    bad(
        "busy-loop",
        "csharp",
        """
        class Pump
        {
            void Run(CancellationToken stop)
            {
                while (!stop.IsCancellationRequested)
                {
                    if (_queue.TryDequeue(out var job)) { job.Run(); }
                }
            }
        }
        """,
        7,
    ),
    good(
        "busy-loop",
        "csharp",
        """
        class Pump
        {
            void Run(CancellationToken stop)
            {
                while (_queue.TryDequeue(out var job)) { job.Run(); }
                while (!stop.IsCancellationRequested)
                {
                    if (_queue.TryTake(out var next, 1000)) { next.Run(); }
                }
            }
        }
        """,
    ),
    bad(
        "busy-loop",
        "kotlin",
        """
        fun run() {
            while (running) {
                val job = queue.poll() ?: continue
                job.run()
            }
        }
        """,
        3,
    ),
    bad(
        "goroutine-leak",
        "go",
        """
        package both

        func load(ctx context.Context) error {
        	errs := make(chan error)
        	go func() { errs <- one(ctx) }()
        	go func() { errs <- other(ctx) }()
        	for i := 0; i < 2; i++ {
        		if err := <-errs; err != nil {
        			return err
        		}
        	}
        	return nil
        }
        """,
        5,
    ),
    good(
        "goroutine-leak",
        "go",
        """
        package both

        func load(ctx context.Context) error {
        	errs := make(chan error, 2)
        	go func() { errs <- one(ctx) }()
        	go func() { errs <- other(ctx) }()
        	for i := 0; i < 2; i++ {
        		if err := <-errs; err != nil {
        			return err
        		}
        	}
        	return nil
        }
        """,
    ),
]
