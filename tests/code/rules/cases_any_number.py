"""Tasks, items and bytes of which there may be any number."""

# ruff: noqa: E101, E501  (snippets of Go; a line of a snippet stays one)

from __future__ import annotations

from tests.code.rules.cases import bad, good

CASES = [
    bad(
        "unbounded-fan-out",
        "javascript",
        """
        const axios = require('axios');
        async function notifyAll(subscribers, event) {
          const sent = [];
          subscribers.forEach((hook) => {
            sent.push(axios.post(hook.url, event, { timeout: 5000 }));
          });
          await Promise.all(sent);
        }
        module.exports = { notifyAll };
        """,
        7,
    ),
    good(
        "unbounded-fan-out",
        "typescript",
        """
        import { S3Client, DeleteObjectCommand } from "@aws-sdk/client-s3";
        import type { Pool } from "pg";
        const BATCH = 25;
        export async function purge(pool: Pool, s3: S3Client, bucket: string) {
          const { rows } = await pool.query<{ key: string }>("SELECT key FROM attachments WHERE deleted_at < now() - interval '30 days' LIMIT $1", [BATCH]);
          await Promise.all(rows.map((row) => s3.send(new DeleteObjectCommand({ Bucket: bucket, Key: row.key }))));
          return rows.length;
        }
        """,
    ),
    bad(
        "unbounded-fan-out",
        "go",
        """
        package crawl

        import (
        	"context"
        	"net/http"
        	"sync"
        )

        func CheckAll(ctx context.Context, client *http.Client, urls []string) []int {
        	codes := make([]int, len(urls))
        	var wg sync.WaitGroup
        	for i, u := range urls {
        		wg.Go(func() {
        			req, err := http.NewRequestWithContext(ctx, http.MethodHead, u, nil)
        			if err != nil {
        				return
        			}
        			resp, err := client.Do(req)
        			if err != nil {
        				return
        			}
        			defer resp.Body.Close()
        			codes[i] = resp.StatusCode
        		})
        	}
        	wg.Wait()
        	return codes
        }
        """,
        13,
    ),
    bad(
        "unbounded-fan-out",
        "kotlin",
        """
        package com.acme

        import kotlinx.coroutines.flow.*

        class Enricher(private val client: CrmClient) {
            fun enrich(contacts: Flow<Contact>): Flow<Profile> =
                contacts.flatMapMerge(concurrency = Int.MAX_VALUE) { contact -> flow { emit(client.fetchProfile(contact.id)) } }
        }
        """,
        7,
    ),
    bad(
        "unbounded-fan-out",
        "python",
        """
        from concurrent.futures import ThreadPoolExecutor
        import requests

        def fetch(url):
            r = requests.get(url, timeout=5)
            r.raise_for_status()
            return r.json()

        def fetch_all(urls):
            with ThreadPoolExecutor(max_workers=max(1, len(urls))) as pool:
                return list(pool.map(fetch, urls))
        """,
        10,
    ),
    bad(
        "unbounded-fan-out",
        "javascript",
        """
        import pMap from 'p-map';
        export async function refreshAll(skus, api) {
          return pMap(skus, (sku) => api.fetchPrice(sku));
        }
        """,
        3,
    ),
    bad(
        "unbounded-fan-out",
        "typescript",
        """
        import { from } from "rxjs";
        import { mergeMap, toArray } from "rxjs/operators";
        export function refreshAll(skus: string[], api: PriceClient) {
          return from(skus).pipe(mergeMap((sku) => api.fetchPrice(sku)), toArray());
        }
        """,
        4,
    ),
    bad(
        "unbounded-fan-out",
        "rust",
        """
        use futures::stream::{FuturesUnordered, StreamExt};

        pub async fn refresh(client: &PriceClient, skus: Vec<String>) -> usize {
            let mut tasks: FuturesUnordered<_> = skus.iter().map(|sku| client.fetch_price(sku)).collect();
            let mut ok = 0;
            while let Some(result) = tasks.next().await {
                if result.is_ok() {
                    ok += 1;
                }
            }
            ok
        }
        """,
        4,
    ),
    bad(
        "unbounded-queue",
        "javascript",
        """
        class Outbox {
          constructor(transport) {
            this.transport = transport;
            this.waiting = [];
            this.sending = false;
          }
          enqueue(message) {
            this.waiting.push(message);
            if (!this.sending) this.drain();
          }
          async drain() {
            this.sending = true;
            while (this.waiting.length > 0) {
              const message = this.waiting.shift();
              await this.transport.send(message);
            }
            this.sending = false;
          }
        }
        module.exports = { Outbox };
        """,
        4,
    ),
    bad(
        "growing-collection",
        "go",
        """
        package ship

        import (
        	"context"
        	"sync"
        )

        type Shipper struct {
        	mu    sync.Mutex
        	lines []Line
        	sink  Sink
        }

        func (s *Shipper) Add(line Line) {
        	s.mu.Lock()
        	defer s.mu.Unlock()
        	s.lines = append(s.lines, line)
        }

        func (s *Shipper) Flush(ctx context.Context) error {
        	s.mu.Lock()
        	defer s.mu.Unlock()
        	if err := s.sink.Send(ctx, s.lines); err != nil {
        		return err
        	}
        	s.lines = nil
        	return nil
        }
        """,
        17,
    ),
    bad(
        "growing-collection",
        "python",
        """
        class MetricShipper:
            def __init__(self, client):
                self._client = client
                self._lines = []

            def record(self, line: str) -> None:
                self._lines.append(line)

            def flush(self) -> None:
                if not self._lines:
                    return
                self._client.post("/ingest", content="\\n".join(self._lines), timeout=5).raise_for_status()
                self._lines.clear()
        """,
        7,
    ),
    good(
        "growing-collection",
        "go",
        """
        package ship

        import (
        	"context"
        	"sync"
        )

        const maxLines = 10_000

        type Shipper struct {
        	mu    sync.Mutex
        	lines []Line
        	sink  Sink
        }

        func (s *Shipper) Add(line Line) bool {
        	s.mu.Lock()
        	defer s.mu.Unlock()
        	if len(s.lines) >= maxLines {
        		return false
        	}
        	s.lines = append(s.lines, line)
        	return true
        }

        func (s *Shipper) Flush(ctx context.Context) error {
        	s.mu.Lock()
        	batch := s.lines
        	s.lines = nil
        	s.mu.Unlock()
        	return s.sink.Send(ctx, batch)
        }
        """,
    ),
    bad(
        "length-from-peer",
        "python",
        """
        import struct

        async def read_frame(reader):
            header = await reader.readexactly(4)
            (length,) = struct.unpack(">I", header)
            return await reader.readexactly(length)
        """,
        5,
    ),
    bad(
        "length-from-peer",
        "go",
        """
        package proto

        import (
        	"encoding/binary"
        	"io"
        	"net"
        )

        func readFrame(conn net.Conn) ([]byte, error) {
        	var head [4]byte
        	if _, err := io.ReadFull(conn, head[:]); err != nil {
        		return nil, err
        	}
        	body := make([]byte, binary.BigEndian.Uint32(head[:]))
        	_, err := io.ReadFull(conn, body)
        	return body, err
        }
        """,
        14,
    ),
    bad(
        "length-from-peer",
        "csharp",
        """
        using System.Buffers.Binary;
        using System.Net.Sockets;

        internal static class Frames
        {
            public static async Task<byte[]> ReadAsync(NetworkStream stream, CancellationToken ct)
            {
                var head = new byte[4];
                await stream.ReadExactlyAsync(head, ct);
                var body = new byte[BinaryPrimitives.ReadInt32BigEndian(head)];
                await stream.ReadExactlyAsync(body, ct);
                return body;
            }
        }
        """,
        10,
    ),
    bad(
        "length-from-peer",
        "javascript",
        """
        const net = require('node:net');
        net.createServer((socket) => {
          socket.once('readable', () => {
            const head = socket.read(4);
            if (!head) return;
            const body = Buffer.alloc(head.readUInt32BE(0));
            socket.on('data', (chunk) => chunk.copy(body));
          });
          socket.on('error', () => socket.destroy());
        }).listen(7000);
        """,
        6,
    ),
    bad(
        "length-from-peer",
        "kotlin",
        """
        package com.acme

        import java.io.DataInputStream
        import java.net.Socket

        fun readFrame(socket: Socket): ByteArray {
            val input = DataInputStream(socket.getInputStream())
            val body = ByteArray(input.readInt())
            input.readFully(body)
            return body
        }
        """,
        8,
    ),
]
