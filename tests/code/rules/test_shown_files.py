"""Findings about files and bodies are shown only where the file proves what they say."""

# ruff: noqa: E101  (snippets of Go)

from __future__ import annotations

import pytest

from faultkit.code.review.engine import RULES, findings_of
from faultkit.code.rules.rule import LIKELY
from tests.code.rules.cases import Case, bad, good

BY_SLUG = {rule.slug: rule for rule in RULES}
_WHOLE = "whole-file-loaded"
_PLACE = "file-written-in-place"
_BODY = "whole-body-loaded"

_CASES = [
    # Spring refuses large files: it matters only where a stream would do.
    bad(_WHOLE, "java", """
        class Forms {
          Form read(MultipartFile sheet) throws IOException {
            byte[] content = sheet.getBytes();
            return mapper.readValue(content, Form.class);
          }
        }
    """, 3),
    good(_WHOLE, "java", """
        class Forms {
          KeyStore read(MultipartFile keys) throws IOException {
            byte[] content = keys.getBytes();
            return store.open(content, content.length);
          }
        }
    """),
    bad(_WHOLE, "javascript", """
        const express = require("express");
        app.use(express.json({ limit: "2gb" }));
    """, 2),
    good(_WHOLE, "javascript", """
        const express = require("express");
        app.use(express.json({ limit: "200mb" }));
    """),
    bad(_WHOLE, "java", """
        class Server {
          void open(ChannelPipeline line) { line.addLast(new HttpObjectAggregator(Integer.MAX_VALUE)); }
        }
    """, 2),
    good(_WHOLE, "java", """
        class Encoder {
          Encoder(int body) {
            int maxMessageSize = Integer.MAX_VALUE - body > 1024 ? body + 1024 : Integer.MAX_VALUE;
            this.buffer = allocate(maxMessageSize);
          }
        }
    """),
    good(_WHOLE, "rust", """
        fn settings() -> SocketSettings {
            SocketSettings { max_message_size: None, max_frame_size: None }
        }
    """),
    # The listener counts bytes, and keeps none.
    good(_WHOLE, "javascript", """
        function count(req, res, next) {
          let received = 0;
          req.on("data", (part) => { received += part.length; });
          next();
        }
    """),
    bad(_WHOLE, "javascript", """
        function collect(req, res, next) {
          let received = "";
          req.on("data", (part) => { received += part; });
          req.on("end", () => next(received));
        }
    """, 3),
    bad(_WHOLE, "go", """
        package pages

        func Preview(pageURL string) ([]byte, error) {
        	resp, err := http.Get(pageURL)
        	if err != nil {
        		return nil, err
        	}
        	defer resp.Body.Close()
        	return io.ReadAll(resp.Body)
        }
    """, 9),
    # All callers give the address of one service.
    good(_WHOLE, "go", """
        package pages

        func Profile(token string) ([]byte, error) {
        	return readPage("https://api.example.com/v2/me", token)
        }

        func readPage(pageURL string, token string) ([]byte, error) {
        	resp, err := http.Get(pageURL)
        	if err != nil {
        		return nil, err
        	}
        	defer resp.Body.Close()
        	return io.ReadAll(resp.Body)
        }
    """),
    # Files of a program are mostly small.
    good(_WHOLE, "csharp", """
        class Names { int Count(string importPath) { var n = 0;
         foreach (var line in File.ReadAllLines(importPath)) n++;
         return n; } }
    """),
    bad(_PLACE, "python", """
        import json

        class Marks:
            def __init__(self, path):
                self._path = path

            def load(self):
                with open(self._path) as file:
                    return json.load(file)

            def save(self, marks):
                with open(self._path, "w") as file:
                    json.dump(marks, file)
    """, 12),
    # One function edits a setting once.
    good(_PLACE, "python", """
        import json

        def enable(config_path, name):
            with open(config_path) as file:
                config = json.load(file)
            config[name] = True
            with open(config_path, "w") as file:
                json.dump(config, file)
    """),
    bad(_BODY, "go", """
        package store

        func save(w http.ResponseWriter, r *http.Request) {
        	content, err := io.ReadAll(r.Body)
        	if err != nil {
        		return
        	}
        	sum := sha256.Sum256(content)
        	os.WriteFile(path, content, 0o600)
        	fmt.Fprintf(w, "%x", sum)
        }
    """, 4),
    # What is written is needed for something else, too.
    good(_BODY, "go", """
        package store

        func save(w http.ResponseWriter, r *http.Request) {
        	content, err := io.ReadAll(r.Body)
        	if err != nil {
        		return
        	}
        	content = bytes.ReplaceAll(content, newline, returns)
        	os.WriteFile(path, content, 0o600)
        }
    """),
    good(_BODY, "kotlin", """
        import okhttp3.OkHttpClient
        fun send(out: File, content: OutgoingContent) {
            out.writeBytes(content.bytes())
        }
    """),
    bad(_BODY, "kotlin", """
        import okhttp3.OkHttpClient
        fun send(out: File, answer: Response) {
            out.writeBytes(answer.body!!.bytes())
        }
    """, 3),
    bad(_BODY, "python", """
        def rows(client, key):
            text = client.get_object(Bucket=BUCKET, Key=key)["Body"].read().decode()
            return sum(1 for line in gzip.decompress(packed(key)).splitlines())
    """, 3),
    good(_BODY, "python", """
        def names(listing):
            text = listing.read()
            return [line.strip() for line in text.splitlines()]
    """),
    good(_PLACE, "javascript", """
        function plain(text, word) {
          const temp = "tmp-" + word;
          return text.replace(temp, text + word);
        }
    """),
    good(_PLACE, "python", """
        import json

        class PageCache:
            def __init__(self, path):
                self._path = path

            def load(self):
                with open(self._path) as file:
                    return json.load(file)

            def save(self, pages):
                with open(self._path, "w") as file:
                    json.dump(pages, file)
    """),
    # Another copy is written beside it.
    good(_PLACE, "python", """
        import json

        class Marks:
            def __init__(self, path):
                self._path = path

            def load(self):
                with open(self._path) as file:
                    return json.load(file)

            def save(self, marks):
                shutil.copy(self._path, self._path + ".bak")
                with open(self._path, "w") as file:
                    json.dump(marks, file)
    """),
    # A new file is removed when it cannot be written.
    good(_PLACE, "go", """
        package marks

        func (m *Marks) Load() ([]byte, error) { return os.ReadFile(m.statePath) }

        func (m *Marks) Save(marks Set) error {
        	data, _ := json.Marshal(marks)
        	if err := os.WriteFile(m.statePath, data, 0o600); err != nil {
        		os.Remove(m.statePath)
        		return err
        	}
        	return nil
        }
    """),
    # A result in a folder that a caller gives.
    good(_PLACE, "python", """
        import json
        import os

        class Score:
            def save(self, folder):
                with open(os.path.join(folder, "metadata.json"), "w") as file:
                    json.dump(self.values, file)

            @classmethod
            def load(cls, folder):
                with open(os.path.join(folder, "metadata.json")) as file:
                    return cls(json.load(file))
    """),
    good(_WHOLE, "javascript", """
        import { load } from "cheerio";
        async function page(link) {
          const $ = load(await (await fetch(link)).json());
          return { title: $("title").text() };
        }
    """),
    bad(_WHOLE, "javascript", """
        async function previewPage(link) {
          const answer = await fetch(link);
          return await answer.text();
        }
    """, 3),
    good(_WHOLE, "rust", """
        async fn rewrite(response: Response) -> Response {
            let (parts, body) = response.into_parts();
            let bytes = axum::body::to_bytes(body, usize::MAX).await.unwrap();
            Response::from_parts(parts, Body::from(replaced(bytes)))
        }
    """),
    good(_WHOLE, "csharp", """
        class S { void Set(KestrelServerOptions options) { options.Limits.MaxRequestBodySize = null; } }
    """),
    good(_BODY, "csharp", """
        class C { public IActionResult Get(int id) { var stream = new MemoryStream(); print.Write(stream, id);
         var bytes = stream.ToArray();
         return File(bytes, "application/pdf"); } }
    """),
]  # fmt: skip


@pytest.mark.parametrize("case", _CASES, ids=str)
def test_only_what_the_file_proves_is_shown(case: Case) -> None:
    found = findings_of(case.code, case.language, rules=[BY_SLUG[case.rule]])
    shown = tuple(each.line for each in found if each.confidence >= LIKELY)
    assert shown == case.lines, [(each.line, each.message, each.confidence) for each in found]
