"""Code that stops an event loop or goes on when it should not: forms of several libraries."""

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
          source.on('error', (error) => res.destroy(error));
          source.pipe(res);
          rows.data.pipe(map);
        }
        """,
    ),
]
