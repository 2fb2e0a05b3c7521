"""Bodies and stored objects that are taken into memory as a whole, though they are used in parts."""

# ruff: noqa: E101  (snippets of Go)

from __future__ import annotations

from tests.code.rules.cases import bad, good

_BODY = "whole-body-loaded"
_DOCUMENT = """
        class Importer {
            void Import(Stream input, Encoding encoding) {
                StreamReader raw = new StreamReader(input, encoding, true);
                string text = raw.ReadToEnd();
                using (StringReader reader = new StringReader(text)) {
                    Use(XmlReader.Create(reader));
                }
            }
        }
        """

CASES = [
    bad(_BODY, "python", """
        def lines(store, name):
            body = store.get_object(Bucket="b", Key=name)["Body"]
            text = body.read().decode("utf-8")
            yield from text.splitlines()
        """, 3),
    good(_BODY, "python", """
        def lines(store, name):
            body = store.get_object(Bucket="b", Key=name)["Body"]
            for line in body.iter_lines():
                yield line.decode("utf-8")
        """),
    good(_BODY, "python", """
        import json

        def report(store, name):
            return json.loads(store.get_object(Bucket="b", Key=name)["Body"].read())
        """),
    good(_BODY, "python", """
        def users(process):
            return process.stdout.read().splitlines()
        """),
    bad(_BODY, "javascript", """
        const axios = require("axios");
        const fs = require("fs");

        async function save(url, to) {
          const answer = await axios.get(url, { responseType: "arraybuffer", timeout: 9000 });
          fs.writeFileSync(to, answer.data);
        }
        """, 5),
    bad(_BODY, "typescript", """
        import { gunzip } from "node:zlib";
        import { promisify } from "node:util";

        const unpack = promisify(gunzip);

        export async function rows(packed: Buffer) {
          const text = (await unpack(packed)).toString("utf8");
          return text.split("\\n").map(toRow);
        }
        """, 7),
    good(_BODY, "typescript", """
        import { gunzip } from "node:zlib";
        import { promisify } from "node:util";

        const unpack = promisify(gunzip);

        export async function settings(packed: Buffer) {
          return JSON.parse((await unpack(packed)).toString("utf8"));
        }
        """),
    bad(_BODY, "go", """
        package a

        import (
        	"io"
        	"os"
        )

        func store(name string, from io.Reader) error {
        	out, err := os.Create(name)
        	if err != nil {
        		return err
        	}
        	defer out.Close()
        	data, err := io.ReadAll(from)
        	if err != nil {
        		return err
        	}
        	_, err = out.Write(data)
        	return err
        }
        """, 14),
    good(_BODY, "go", """
        package a

        import (
        	"io"
        	"os"
        )

        func store(name string, from io.Reader) error {
        	data, err := io.ReadAll(io.LimitReader(from, 1<<20))
        	if err != nil {
        		return err
        	}
        	return os.WriteFile(name, data, 0o600)
        }
        """),
    bad(_BODY, "java", """
        class Copies {
            void copy(S3Client s3, String key, OutputStream out) throws IOException {
                byte[] all = s3.getObjectAsBytes(r -> r.bucket("b").key(key)).asByteArray();
                out.write(all);
            }
        }
        """, 3),
    bad(_BODY, "kotlin", """
        class Copies(private val s3: S3Client) {
            fun copy(name: String, out: OutputStream) {
                s3.getObject(request(name)).use { body -> out.write(body.readAllBytes()) }
            }
        }
        """, 3),
    good(_BODY, "kotlin", """
        class Copies(private val s3: S3Client) {
            fun copy(name: String, out: OutputStream) {
                s3.getObject(request(name)).use { body -> body.transferTo(out) }
            }
        }
        """),
    bad(_BODY, "csharp", """
        class Lines
        {
            public async Task ReadAsync(Stream from, Action<string> use)
            {
                using var reader = new StreamReader(from);
                var text = await reader.ReadToEndAsync();
                foreach (var line in text.Split('\\n')) use(line);
            }
        }
        """, 6),
    bad(_BODY, "rust", """
        use aws_sdk_s3::Client;
        use tokio::io::AsyncWriteExt;

        async fn copy(s3: &Client, name: &str, mut to: tokio::fs::File) -> anyhow::Result<()> {
            let object = s3.get_object().bucket("b").key(name).send().await?;
            let all = object.body.collect().await?.into_bytes();
            to.write_all(&all).await?;
            Ok(())
        }
        """, 6),
    good(_BODY, "rust", """
        async fn save(file: &mut tokio::fs::File, state: &State) -> anyhow::Result<()> {
            let all = serde_json::to_vec(state)?;
            file.write_all(&all).await?;
            Ok(())
        }
        """),
    # A document is parsed as a whole.
    bad(_BODY, "csharp", _DOCUMENT.replace("XmlReader.Create(reader)", "reader.ReadLine()"), 4),
    good(_BODY, "csharp", _DOCUMENT),
]  # fmt: skip
