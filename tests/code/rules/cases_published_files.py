"""Files that are written again and again under the same name."""

# ruff: noqa: E101  (snippets of Go; a line of a snippet stays one)

from __future__ import annotations

from tests.code.rules.cases import bad, good

CASES = [
    bad(
        "file-written-in-place",
        "python",
        """
        import json
        from pathlib import Path

        class FeedPublisher:
            def __init__(self, target: Path):
                self._target = target

            def publish(self, entries: list[dict]) -> None:
                self._target.write_text(json.dumps({"entries": entries}), encoding="utf-8")
        """,
        9,
    ),
    bad(
        "file-written-in-place",
        "python",
        """
        import json
        import os
        import time

        STATUS_FILE = "/var/lib/agent/status.json"

        def write_status(status):
            with open(STATUS_FILE, "w") as fh:
                json.dump(status, fh)

        def main(probe):
            while True:
                write_status(probe.collect())
                time.sleep(15)
        """,
        8,
    ),
    bad(
        "file-written-in-place",
        "javascript",
        """
        const fs = require('node:fs/promises');
        const METRICS_PATH = process.env.METRICS_PATH || '/var/lib/node_exporter/app.prom';
        function render(stats) {
          return Object.entries(stats).map(([k, v]) => `app_${k} ${v}\\n`).join('');
        }
        function start(stats, log) {
          return setInterval(() => {
            fs.writeFile(METRICS_PATH, render(stats)).catch((err) => log.error(err));
          }, 15000);
        }
        module.exports = { start };
        """,
        8,
    ),
    bad(
        "file-written-in-place",
        "typescript",
        """
        import { promises as fs } from "node:fs";
        import type { FastifyInstance } from "fastify";
        const FLAGS = "/etc/app/flags.json";
        export async function routes(app: FastifyInstance) {
          app.put<{ Body: Record<string, boolean> }>("/flags", async (request, reply) => {
            await fs.writeFile(FLAGS, JSON.stringify(request.body, null, 2));
            return reply.code(204).send();
          });
        }
        """,
        6,
    ),
    bad(
        "file-written-in-place",
        "go",
        """
        package agent

        import (
        	"context"
        	"encoding/json"
        	"os"
        	"time"
        )

        type Exporter struct {
        	path string
        	src  Source
        }

        func (e *Exporter) Run(ctx context.Context) error {
        	ticker := time.NewTicker(time.Minute)
        	defer ticker.Stop()
        	for {
        		select {
        		case <-ctx.Done():
        			return nil
        		case <-ticker.C:
        			raw, err := json.Marshal(e.src.Snapshot())
        			if err != nil {
        				return err
        			}
        			if err := os.WriteFile(e.path, raw, 0o644); err != nil {
        				return err
        			}
        		}
        	}
        }
        """,
        27,
    ),
    bad(
        "file-written-in-place",
        "java",
        """
        package com.acme;

        import com.fasterxml.jackson.databind.ObjectMapper;
        import java.io.IOException;
        import java.nio.file.Files;
        import java.nio.file.Path;
        import org.springframework.scheduling.annotation.Scheduled;
        import org.springframework.stereotype.Component;

        @Component
        public class PriceListWriter {
            private final PriceService prices;
            private final ObjectMapper mapper;
            private final Path target;

            public PriceListWriter(PriceService prices, ObjectMapper mapper, PriceProperties props) {
                this.prices = prices;
                this.mapper = mapper;
                this.target = props.target();
            }

            @Scheduled(fixedDelay = 60_000)
            public void refresh() throws IOException {
                Files.writeString(target, mapper.writeValueAsString(prices.current()));
            }
        }
        """,
        24,
    ),
    bad(
        "file-written-in-place",
        "kotlin",
        """
        package com.acme

        import kotlinx.coroutines.delay
        import kotlinx.serialization.encodeToString
        import kotlinx.serialization.json.Json
        import java.io.File
        import kotlin.time.Duration.Companion.minutes

        class TimetablePublisher(private val target: File, private val source: TimetableSource) {
            suspend fun run() {
                while (true) {
                    target.writeText(Json.encodeToString(source.today()))
                    delay(5.minutes)
                }
            }
        }
        """,
        12,
    ),
    bad(
        "file-written-in-place",
        "rust",
        """
        use std::path::PathBuf;
        use std::time::Duration;

        pub struct Publisher {
            path: PathBuf,
        }

        impl Publisher {
            pub async fn run(&self, source: &Source) -> anyhow::Result<()> {
                let mut ticks = tokio::time::interval(Duration::from_secs(60));
                loop {
                    ticks.tick().await;
                    let json = serde_json::to_vec(&source.snapshot().await?)?;
                    tokio::fs::write(&self.path, json).await?;
                }
            }
        }
        """,
        14,
    ),
    bad(
        "file-written-in-place",
        "csharp",
        """
        using System.Text.Json;

        public sealed class RatesFile(RateSource source, IOptions<RatesOptions> options) : BackgroundService
        {
            private readonly string _path = options.Value.Path;

            protected override async Task ExecuteAsync(CancellationToken stoppingToken)
            {
                using var timer = new PeriodicTimer(TimeSpan.FromMinutes(1));
                while (await timer.WaitForNextTickAsync(stoppingToken))
                {
                    var rates = await source.CurrentAsync(stoppingToken);
                    await File.WriteAllTextAsync(_path, JsonSerializer.Serialize(rates), stoppingToken);
                }
            }
        }
        """,
        13,
    ),
    good(
        "file-written-in-place",
        "python",
        """
        import json
        import sys
        from pathlib import Path

        def main(argv):
            rows = [json.loads(line) for line in Path(argv[1]).open()]
            with open(argv[2], "w") as out:
                json.dump({"rows": rows}, out)

        if __name__ == "__main__":
            main(sys.argv)
        """,
    ),
    good(
        "file-written-in-place",
        "go",
        """
        package agent

        import (
        	"context"
        	"encoding/json"
        	"os"
        	"time"
        )

        type Exporter struct {
        	path string
        	src  Source
        }

        func (e *Exporter) Run(ctx context.Context) error {
        	ticker := time.NewTicker(time.Minute)
        	defer ticker.Stop()
        	for {
        		select {
        		case <-ctx.Done():
        			return nil
        		case <-ticker.C:
        			raw, err := json.Marshal(e.src.Snapshot())
        			if err != nil {
        				return err
        			}
        			tmp := e.path + ".tmp"
        			if err := os.WriteFile(tmp, raw, 0o644); err != nil {
        				return err
        			}
        			if err := os.Rename(tmp, e.path); err != nil {
        				return err
        			}
        		}
        	}
        }
        """,
    ),
    good(
        "file-written-in-place",
        "rust",
        """
        use std::path::Path;

        pub fn publish(path: &Path, catalogue: &Catalogue) -> anyhow::Result<()> {
            let dir = path.parent().unwrap_or(Path::new("."));
            let mut file = tempfile::NamedTempFile::new_in(dir)?;
            serde_json::to_writer(&mut file, catalogue)?;
            file.as_file().sync_all()?;
            file.persist(path)?;
            Ok(())
        }
        """,
    ),
]
