"""What a function takes and gives back itself, in Java, JavaScript and Python."""

from __future__ import annotations

from tests.code.rules.cases import bad, good

# fmt: off
CASES = [
    bad("released-on-success-only", "java", """
        package com.acme.docs;

        import java.io.File;
        import java.io.IOException;
        import org.apache.pdfbox.Loader;
        import org.apache.pdfbox.pdmodel.PDDocument;
        import org.apache.pdfbox.text.PDFTextStripper;

        public class ContractReader {
            private final ContractParser parser;

            public ContractReader(ContractParser parser) {
                this.parser = parser;
            }

            public Contract read(File file) throws IOException {
                PDDocument document = Loader.loadPDF(file);
                if (document.getNumberOfPages() == 0) {
                    throw new IOException("empty document " + file);
                }
                String text = new PDFTextStripper().getText(document);
                Contract contract = parser.parse(text);
                document.close();
                return contract;
            }
        }
        """, 17),
    good("released-on-success-only", "java", """
        package com.acme.docs;

        import java.io.File;
        import java.io.IOException;
        import org.apache.pdfbox.Loader;
        import org.apache.pdfbox.pdmodel.PDDocument;
        import org.apache.pdfbox.text.PDFTextStripper;

        public class ContractReader {
            private final ContractParser parser;

            public ContractReader(ContractParser parser) {
                this.parser = parser;
            }

            public Contract read(File file) throws IOException {
                try (PDDocument document = Loader.loadPDF(file)) {
                    if (document.getNumberOfPages() == 0) {
                        throw new IOException("empty document " + file);
                    }
                    return parser.parse(new PDFTextStripper().getText(document));
                }
            }
        }
        """),
    bad("released-on-success-only", "java", """
        package com.acme.docs;

        import com.mongodb.client.MongoCollection;
        import com.mongodb.client.MongoCursor;
        import org.bson.Document;

        public class UsageExport {
            private final MongoCollection<Document> usage;
            private final Sink sink;

            public UsageExport(MongoCollection<Document> usage, Sink sink) {
                this.usage = usage;
                this.sink = sink;
            }

            public int export(String tenant) {
                MongoCursor<Document> cursor = usage.find(eq("tenant", tenant)).iterator();
                int count = 0;
                while (cursor.hasNext()) {
                    sink.write(cursor.next());
                    count++;
                }
                cursor.close();
                return count;
            }
        }
        """, 17),
    bad("released-on-success-only", "java", """
        package com.acme.docs;

        import java.io.IOException;
        import java.nio.file.FileSystem;
        import java.nio.file.FileSystems;
        import java.nio.file.Files;
        import java.nio.file.Path;

        public class PluginReader {
            public String manifest(Path jar) throws IOException {
                FileSystem archive = FileSystems.newFileSystem(jar);
                Path manifest = archive.getPath("/plugin.json");
                if (!Files.exists(manifest)) {
                    return null;
                }
                String text = Files.readString(manifest);
                archive.close();
                return text;
            }
        }
        """, 11),
    good("released-on-success-only", "java", """
        package near;

        import java.io.ByteArrayOutputStream;
        import java.io.IOException;
        import java.sql.Connection;
        import java.sql.PreparedStatement;
        import java.sql.ResultSet;
        import javax.sql.DataSource;

        class Near {
            private final DataSource source;

            Near(DataSource source) {
                this.source = source;
            }

            byte[] pack(Document document) throws IOException {
                ByteArrayOutputStream out = new ByteArrayOutputStream();
                document.write(out);
                out.close();
                return out.toByteArray();
            }

            int count() throws Exception {
                try (Connection connection = source.getConnection();
                        PreparedStatement statement = connection.prepareStatement("select count(*) from t")) {
                    ResultSet rows = statement.executeQuery();
                    rows.next();
                    int count = rows.getInt(1);
                    rows.close();
                    return count;
                }
            }

            Report render(Engine engine, String name) {
                Session session = engine.newRenderSession();
                try {
                    return session.render(name);
                } finally {
                    session.close();
                }
            }
        }
        """),
    bad("released-on-success-only", "javascript", """
        import { connectSftp } from './sftp.js';

        export class StatementUploader {
          constructor(config, repo) {
            this.config = config;
            this.repo = repo;
          }

          async upload(batchId) {
            const sftp = await connectSftp(this.config);
            const files = await this.repo.pendingFiles(batchId);
            if (files.length === 0) return 0;
            for (const file of files) {
              await sftp.put(file.data, `/in/${file.name}`);
            }
            await sftp.end();
            return files.length;
          }
        }
        """, 10),
    good("released-on-success-only", "javascript", """
        import { connectSftp } from './sftp.js';

        export class StatementUploader {
          constructor(config, repo) {
            this.config = config;
            this.repo = repo;
          }

          async upload(batchId) {
            const files = await this.repo.pendingFiles(batchId);
            if (files.length === 0) return 0;
            const sftp = await connectSftp(this.config);
            try {
              for (const file of files) {
                await sftp.put(file.data, `/in/${file.name}`);
              }
            } finally {
              await sftp.end();
            }
            return files.length;
          }
        }
        """),
    bad("released-on-success-only", "typescript", """
        import { DuckDBInstance } from "@duckdb/node-api";

        export async function summarise(path: string, month: string): Promise<Row[]> {
          const instance = await DuckDBInstance.create(path);
          const connection = await instance.connect();
          const reader = await connection.runAndReadAll("select * from usage where month = ?", [month]);
          const rows = reader.getRowObjects();
          if (rows.length === 0) {
            throw new Error(`no usage for ${month}`);
          }
          connection.closeSync();
          instance.closeSync();
          return rows.map(toRow);
        }
        """, 4),
    bad("released-on-success-only", "typescript", """
        export class Thumbnailer {
          private readonly slots: SlotPool;

          constructor(slots: SlotPool, private readonly assets: AssetStore) {
            this.slots = slots;
          }

          async thumbnail(id: string): Promise<Buffer> {
            const slot = await this.slots.take();
            const asset = await this.assets.find(id);
            if (!asset) throw new NotFoundError(id);
            const image = await resize(asset.data, 320);
            slot.giveBack();
            return image;
          }
        }
        """, 9),
    good("released-on-success-only", "typescript", """
        export class Thumbnailer {
          private readonly slots: SlotPool;

          constructor(slots: SlotPool, private readonly assets: AssetStore) {
            this.slots = slots;
          }

          async thumbnail(id: string): Promise<Buffer> {
            const slot = await this.slots.take();
            try {
              const asset = await this.assets.find(id);
              if (!asset) throw new NotFoundError(id);
              return await resize(asset.data, 320);
            } finally {
              slot.giveBack();
            }
          }
        }
        """),
    bad("released-on-success-only", "typescript", """
        import { Worker } from "node:worker_threads";

        export async function parseInWorker(file: string): Promise<Report> {
          const worker = new Worker(new URL("./parse.js", import.meta.url));
          worker.postMessage({ file });
          const result = await once(worker, "message");
          if (result.error) throw new Error(result.error);
          await worker.terminate();
          return result.report;
        }
        """, 4),
    good("released-on-success-only", "typescript", """
        export class Sessions {
          private client?: Client;

          async connect(url: string): Promise<Client> {
            const client = await open(url);
            try {
              await client.hello();
            } catch (error) {
              await client.close();
              throw error;
            }
            this.client = client;
            return client;
          }

          async ping(url: string): Promise<boolean> {
            const client = await open(url);
            const ok = await client.ping().then(() => true, () => false);
            return client.close().then(() => ok);
          }

          async read(url: string): Promise<Buffer> {
            const handle = await open(url);
            return handle.readAll().finally(() => handle.close());
          }
        }

        const visiting = new Set<string>();
        export async function walk(node: Node): Promise<void> {
          if (visiting.has(node.id)) throw new Error("cycle");
          visiting.add(node.id);
          for (const child of await node.children()) await walk(child);
          visiting.delete(node.id);
        }
        """),
    bad("released-on-success-only", "python", """
        class Indexer:
            def __init__(self, broker, store):
                self.broker = broker
                self.store = store

            async def rebuild(self, name: str) -> int:
                lease = await self.broker.claim(name, ttl=60)
                if lease is None:
                    return 0
                rows = await self.store.rows(name)
                if not rows:
                    return 0
                for row in rows:
                    await self.store.put(row)
                await lease.release()
                return len(rows)
        """, 7),
    good("released-on-success-only", "python", """
        class Indexer:
            def __init__(self, broker, store):
                self.broker = broker
                self.store = store

            async def rebuild(self, name: str) -> int:
                lease = await self.broker.claim(name, ttl=60)
                if lease is None:
                    return 0
                try:
                    rows = await self.store.rows(name)
                    if not rows:
                        return 0
                    for row in rows:
                        await self.store.put(row)
                finally:
                    await lease.release()
                return len(rows)
        """),
    bad("released-on-success-only", "python", """
        import rasterio
        import numpy as np


        class TileMaker:
            def __init__(self, cache):
                self.cache = cache

            def render(self, path, bounds):
                dataset = rasterio.open(path)
                if dataset.crs is None:
                    raise ValueError(f"{path} has no projection")
                window = dataset.window(*bounds)
                data = dataset.read(window=window)
                image = self.cache.palette.apply(np.moveaxis(data, 0, 2))
                dataset.close()
                return image
        """, 10),
    good("released-on-success-only", "python", """
        import rasterio
        import numpy as np


        class TileMaker:
            def __init__(self, cache):
                self.cache = cache

            def render(self, path, bounds):
                with rasterio.open(path) as dataset:
                    if dataset.crs is None:
                        raise ValueError(f"{path} has no projection")
                    window = dataset.window(*bounds)
                    data = dataset.read(window=window)
                return self.cache.palette.apply(np.moveaxis(data, 0, 2))
        """),
    good("released-on-success-only", "python", """
        import asyncio


        class Parser:
            def __init__(self, text):
                self.text = text
                self.depth = 0

            def value(self):
                if self.depth > 100:
                    raise ValueError("too deep")
                self.depth += 1
                out = self.inner.item()
                self.depth -= 1
                return out


        async def dial(host):
            reader, writer = await asyncio.open_connection(host, 80)
            try:
                writer.write(b"x")
                await writer.drain()
                return await reader.read(10)
            finally:
                writer.close()
                await writer.wait_closed()


        async def make(broker):
            channel = await broker.open_channel()
            try:
                await channel.declare("x")
            except BaseException:
                await channel.close()
                raise
            return channel


        class Metrics:
            def __init__(self, gauge):
                self.gauge = gauge
                self.running = 0

            async def run(self, job):
                self.running += 1
                self.gauge.set(self.running)
                await job()
                self.running -= 1
                self.gauge.set(self.running)
        """),
    bad("file-not-closed", "java", """
        package com.acme.docs;

        import java.io.IOException;
        import java.nio.file.Path;
        import java.util.ArrayList;
        import java.util.List;
        import org.apache.poi.ss.usermodel.Row;
        import org.apache.poi.ss.usermodel.Workbook;
        import org.apache.poi.ss.usermodel.WorkbookFactory;

        public class PriceListImport {
            public List<String> names(Path path) throws IOException {
                Workbook workbook = WorkbookFactory.create(path.toFile());
                List<String> names = new ArrayList<>();
                for (Row row : workbook.getSheetAt(0)) {
                    names.add(row.getCell(0).getStringCellValue());
                }
                return names;
            }
        }
        """, 13),
]
