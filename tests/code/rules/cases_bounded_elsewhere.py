"""What is bounded by something beside it, and broadcasts whose slow clients are not."""

from __future__ import annotations

from tests.code.rules.cases import bad, good

CASES = [
    good(
        "unbounded-queue",
        "python",
        """
        class Subscriber:
            def __init__(self, store):
                self._writers = ThreadPoolExecutor(max_workers=8)

            def on_message(self, message):
                self._writers.submit(self._persist, message)

            def run(self):
                flow = FlowControl(max_messages=200)
                self._client.subscribe(self._path, callback=self.on_message, flow_control=flow)
        """,
    ),
    good(
        "whole-body-loaded",
        "csharp",
        """
        public sealed class ImportController : ControllerBase
        {
            [RequestSizeLimit(4 * 1024 * 1024)]
            public async Task<IActionResult> Import(CancellationToken ct)
            {
                using var reader = new StreamReader(Request.Body);
                var text = await reader.ReadToEndAsync(ct);
                foreach (var line in text.Split('\\n')) { Take(line); }
                return Ok();
            }
        }
        """,
    ),
    good(
        "whole-body-loaded",
        "python",
        """
        import requests

        def page(url, path):
            response = requests.get(url, timeout=5)
            if not response.content.strip():
                return False
            path.write_bytes(response.content)
            return True
        """,
    ),
    good(
        "pool-per-call",
        "python",
        """
        from concurrent.futures import ThreadPoolExecutor

        def archive(folder):
            with ThreadPoolExecutor(max_workers=6) as pool:
                return [pool.submit(upload, each) for each in folder.glob("*.wav")]

        def run(root):
            for folder in root.iterdir():
                archive(folder)
        """,
    ),
    good(
        "call-per-item",
        "java",
        """
        class Cleaner {
            private final VolumeRepository volumes;
            void purge(Instant limit) {
                for (String volumeId : volumes.findIdsPublishedBefore(limit)) {
                    Path folder = properties.workDirectory().resolve(volumeId);
                    remove(folder);
                }
            }
        }
        """,
    ),
    good(
        "compiled-per-call",
        "java",
        """
        class PerformEditsOperation {
            static Change load(String line, Pool pool) throws IOException {
                return new ObjectMapper().readValue(line, Change.class);
            }
        }
        """,
    ),
    bad(
        "backpressure-ignored",
        "typescript",
        """
        import { WebSocket, WebSocketServer } from 'ws';
        export class Feed {
          private readonly wss: WebSocketServer;
          publish(positions: Position[]): void {
            const frame = JSON.stringify(positions);
            for (const socket of this.wss.clients) {
              if (socket.readyState !== WebSocket.OPEN) continue;
              socket.send(frame);
            }
          }
        }
        """,
        8,
    ),
    bad(
        "backpressure-ignored",
        "javascript",
        """
        const { WebSocketServer } = require('ws');
        const viewers = new Set();
        function broadcast(tick) {
          viewers.forEach((viewer) => viewer.send(tick));
        }
        """,
        4,
    ),
    good(
        "backpressure-ignored",
        "typescript",
        """
        import { WebSocket, WebSocketServer } from 'ws';
        export class Feed {
          private readonly wss: WebSocketServer;
          publish(frame: string): void {
            for (const socket of this.wss.clients) {
              if (socket.bufferedAmount > MAX_BACKLOG) {
                socket.terminate();
                continue;
              }
              socket.send(frame);
            }
          }
        }
        """,
    ),
]
