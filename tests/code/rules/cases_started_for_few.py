"""Tasks of which there are few, and contents that are small or meant to have any size."""

# ruff: noqa: E101  (snippets of Go)

from __future__ import annotations

from tests.code.rules.cases import good

_FAN_OUT = "unbounded-fan-out"
_FILE = "whole-file-loaded"
_BODY = "whole-body-loaded"

CASES = [
    # The round waits for the task that it starts.
    good(
        _FAN_OUT,
        "csharp",
        """
        public class Processor
        {
            public async Task RunAsync(ChannelReader<Entry> input)
            {
                await foreach (var entry in input.ReadAllAsync())
                {
                    var meta = Task.Run(async () => await store.SendAsync(entry));
                    await data.WriteAsync(entry);
                    var id = await meta;
                }
            }
        }
        """,
    ),
    # A known number.
    good(
        _FAN_OUT,
        "csharp",
        """
        public class Load
        {
            public async Task RunAsync()
            {
                await Task.WhenAll(Enumerable.Range(0, 100).Select(async i => await client.SendAsync(i)));
            }
        }
        """,
    ),
    # One task for each open connection.
    good(
        _FAN_OUT,
        "typescript",
        """
        export async function speaking(room: Room, data: Payload) {
          await Promise.all(Array.from(room.members()).map((client) => Send(client.websocket, data)));
        }
        """,
    ),
    # A logger is given a context.
    good(
        _FAN_OUT,
        "go",
        """
        package server

        import (
        	"context"
        	"sync"
        )

        func (points Points) Stop() {
        	var wg sync.WaitGroup
        	for name, point := range points {
        		wg.Go(func() {
        			logger := log.With().Str("point", name).Logger()
        			point.Shutdown(logger.WithContext(context.Background()))
        		})
        	}
        	wg.Wait()
        }
        """,
    ),
    # The length is known before.
    good(
        _FILE,
        "csharp",
        """
        public class Info
        {
            public static List<string> Names(FileInfo file)
            {
                var found = new List<string>();
                if (file.Length < 1024 * 10)
                    foreach (var line in File.ReadAllLines(file.FullName))
                        found.Add(line.Trim());
                return found;
            }
        }
        """,
    ),
    # A setting says that there is no limit.
    good(
        _FILE,
        "go",
        """
        package proxy

        import (
        	"io"
        	"net/http"
        )

        func (p *Proxy) body(r *http.Request) ([]byte, error) {
        	if p.maxBody < 0 {
        		return io.ReadAll(r.Body)
        	}
        	return readAtMost(r.Body, p.maxBody)
        }
        """,
    ),
    # Two parts, not lines.
    good(
        _BODY,
        "python",
        """
        import boto3

        s3 = boto3.client("s3")

        def parts_of(key):
            body = s3.get_object(Bucket="letters", Key=key)["Body"]
            text = body.read().decode()
            return text.split("\\n", 1)
        """,
    ),
]
