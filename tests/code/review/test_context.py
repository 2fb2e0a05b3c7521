"""What a file is for: by its path, and by how it begins."""

from __future__ import annotations

import pytest

from faultkit.code.facts import NO_PROJECT, Project
from faultkit.code.languages import known_language_of
from faultkit.code.review.context import (
    CONTEXT_NAMES,
    context_of,
    contexts_of_folder,
)
from faultkit.code.review.context_rules import (
    FOR_MANY_USERS,
    FOR_SERVICES,
    PER_REQUEST,
    SERVER_ONLY,
    rules_in,
)
from faultkit.code.review.engine import RULES
from faultkit.code.review.file_head import FileHead


def context(path: str, text: str = "", size: int = 0, project: Project = NO_PROJECT) -> str:
    language = known_language_of(path)
    assert language is not None
    found = context_of(FileHead(path, language.name, text, size, project=project))
    return "production" if found is None else found.name


PATHS = {
    "generated": "api/user_pb2.py api/user_pb2_grpc.py api/user.pb.go api/user.pb.gw.go "
    "zz_generated.deepcopy.go src/generated/client.ts src/__generated__/a.ts "
    "src/schema.generated.ts Forms/Main.Designer.cs a.gen.go",
    "vendored": "vendor/github.com/a/b.go third_party/x.py static/jquery.js static/jquery.ui.js "
    "web/lib-1.2.3.js pip/_vendor/a.py",
    "built": "dist/app.js out/_next/static/chunks/1a.js public/app.min.js a.bundle.js static/1.chunk.js",
    "tests": "tests/a.py a/test/b.js test_a.py a_test.go a_test.py src/a.test.ts src/a.spec.tsx "
    "conftest.py src/test/java/a/B.java src/main/java/ATest.java AppIT.java __tests__/a.js "
    "Api.Tests/A.cs spec/a.js e2e/a.ts testing/a.py integration_tests/a.rs "
    "test_app/a.py http-testing-support/A.java web/webtest/a.go src/testserver.rs TestSupport.cs "
    "internal/suites/a.go Shop.ApiTest/A.cs UnitTest/A.cs Shop.TestClient/A.cs "
    "src/commonTest/kotlin/A.kt src/testFixtures/java/A.java acceptance-tests/a.go systemtests/a.py "
    "shop/testing.py vitest.redis.setup.ts jest.setup.js src/globalSetup.ts QueueForTests.java "
    "Shop/OrderTestHelper.cs shop-e2e/src/a.ts e2e-shop/src/pages/a.ts crates/shop_test_utils/src/a.rs "
    "src/Shop.TestFramework/A.cs src/Shop.Test.Common/A.cs relay/testbed/a.go integration/try/a.go "
    "packages/test-federation/a.ts src/Shop.TestingHost/A.cs "
    "src/common/Shop.Testing.Shared/A.cs src/table/test-fixtures/a.ts",
    "fixtures": "fixtures/a.py testdata/a.go __mocks__/a.ts service_mock.go pkg/httpmock/a.go "
    "mockwebserver/src/main/java/A.java src/main/java/FakeClock.java "
    "Shop/StoreMock.cs Shop.PrepareTestData/Types/A.cs Tools/TestDataGenerator/A.cs",
    "benchmarks": "bench/a.py benches/a.rs bench_a.py src/a.bench.ts FooBenchmark.java "
    "extras/qps-bench-server.py src/Shop.Benchmark/A.cs fuzz/a.rs loadgen/a.go src/jmh/java/A.java "
    "tools/k6/a.js crates/shop-search-bench/src/a.rs",
    "examples": "examples/a.py example/a.go samples/A.java docs_src/a.py demo/a.js sample-apps/a.js"
    " example.js toys/TcpServer/A.cs Shop.Client.UsageExample/A.cs SampleShopClient/A.cs "
    "shop-examples/shop-examples-mcp/src/main/java/A.java",
    "docs": "docs/conf.py doc/a.py website/docs/a.ts",
    "migrations": "app/migrations/0001_initial.py db/migrations/20240101_a.js db/V1__a.java "
    "data/migrations/a.ts src/upgrades/1.4.4/a.js schema/delta/72/a.py "
    "src/jobs/migration-jobs/a.ts db/migration/V12.kt",
    "scripts": "scripts/a.py packages/a/scripts/b.js hack/a.go setup.py manage.py build.rs webpack.config.js "
    ".eslintrc.js contrib/hook.py bin/repair.js bin/admin.py "
    "cmd/app-gen/a.go dev/code-generation/a.py ci_cd/a.py ReleaseBuilder/A.cs release-tools/a.go xtask/a.rs "
    "buildSrc/a.kt Tools/ZipDebugger/A.cs backend/tools/Languages/A.cs "
    "build-plugin/plugin/src/main/kotlin/A.kt "
    "packages/ci-actions/src/a.mjs scripts-dev/a.py "
    "src/Shop.CodeGenerator/A.cs src/Shop.SourceGenerators/A.cs src/Shop.Analyzers/A.cs "
    "src/web/vite.config.ts postinstall.js",
    "cli": "apps/cli/src/a.ts shop-cli/src/a.rs Shop/CommandLine/A.cs shop/cli/users.py pkg/cli/a.go",
    "commands": "shop/management/commands/prune.py",
    "browser": "public/app.js frontend/api.ts src/App.tsx static/a.js "
    "frontend/src/hooks/api/a.ts web/src/services/a.ts Server/webroot/scripts/controllers/a.js",
    "production": "app.py src/api.ts internal/docs/a.go pkg/spec/a.go app/latest.py contest.py "
    "app/scripts/run.py django/db/migrations/executor.py a/vendor/B.java server/static/a.ts "
    "attestation.go dist/a.py src/index.js testimonials/a.py lib/protest.js api/latest/a.go "
    "mcp/mock/a.py pytest_plugin/a.py django/contrib/auth/a.py app/stub.py src/bin/server.rs cmd/bin/a.js "
    "benchmarked.py contrib/plugin/a.go workbench_a.py src/Latest/A.cs Contest/A.cs src/Tools/A.cs "
    "client/a.py libs/shop/a.ts cmd/shop/main.go src/Testimonials/A.cs clients/a.ts UserStub.java "
    "cookbook/models.py Library/Snapshots/A.cs crates/shop/src/scripts/a.rs crates/shop-scripts/src/a.rs "
    "src/api/test-trigger/a.ts src/pieces/piece-bundle.ts src/bundle/a.ts tools/src/main/java/A.java "
    "core/tools/capture/src/main/kotlin/A.kt "
    "src/config/database.config.ts app/src/main/java/shop/migration/BackupService.java "
    "script/src/main/java/shop/Runner.java Actions/Script/A.cs testable/a.go src/sampler/A.cs "
    "src/transforms/sample/a.rs src/pages/playground/a.ts src/main/java/shop/devtools/A.java "
    "lib/routes/release.ts "
    "feature/migration/qrcode/src/main/kotlin/A.kt",
}


@pytest.mark.parametrize(("expected", "paths"), PATHS.items())
def test_paths_tell_the_context(expected: str, paths: str) -> None:
    assert {path: context(path) for path in paths.split()} == dict.fromkeys(paths.split(), expected)


@pytest.mark.parametrize(
    ("path", "text", "expected"),
    [
        ("a.go", "// Code generated by go-swagger; DO NOT EDIT.\n\npackage a\n", "generated"),
        (
            "a.go",
            "// Copyright\n\n// Code generated by x. DO NOT EDIT.\n\n// Package a\npackage a\n",
            "generated",
        ),
        ("a.py", '"""Client. Generated by x, do not modify."""\n', "generated"),
        ("a.ts", "/* eslint-disable */\n/**\n * @generated by relay\n */\n", "generated"),
        ("a.cs", "// <auto-generated>\n", "generated"),
        ("a.java", "// Generated by the protocol buffer compiler.\n", "generated"),
        ("a.ts", "// This file was automatically generated by a tool\n", "generated"),
        ("a.py", 'HEADER = "# Code generated by x. DO NOT EDIT."\n', "production"),
        ("a.py", '"""Schemas that are automatically generated from routes."""\n', "production"),
        ("a.py", "# Reads files that were generated by the build.\n", "production"),
        ("a.ts", "// Plain fetch: these are links\n// generated by our own app, and safe.\n", "production"),
        ("a.ts", "// Client\n//\n// generated by a tool\n", "generated"),
        ("a.js", "/******/ (() => { // webpackBootstrap\n", "built"),
        ("a.js", '"use strict";\nObject.defineProperty(exports, "__esModule", { value: true });\n', "built"),
        ("a.ts", "// patches __webpack_require__\n", "production"),
        ("a.js", "!function(){" + "a=b;" * 2000, "built"),
        ("a.js", "const a = 1;\n" * 300, "production"),
        ("a.py", "x = '" + "a" * 5000 + "'\n", "production"),
        ("v/abc_add.py", '"""add\n\nRevision ID: 1\n"""\n', "migrations"),
        ("a.ts", "export class A1 implements MigrationInterface {\n", "migrations"),
        ("internal/ocsp/ocsp.go", 'package ocsp\n\nimport (\n\t"fmt"\n\t"testing"\n)\n', "tests"),
        ("internal/a.go", 'package a\n\nvar x = "testing"\n', "production"),
        ("src/Support.java", "package a;\n\nimport org.junit.Assert;\n", "tests"),
        ("src/Support.cs", "using System;\nusing Xunit.Abstractions;\n", "tests"),
        ("server/errors_gen.go", "//go:build ignore\n// +build ignore\n\npackage main\n", "scripts"),
        ("internal/suites/a.go", 'import (\n\t"github.com/stretchr/testify/suite"\n)\n', "tests"),
        ("src/setup.ts", "import { vi } from 'vitest';\n", "tests"),
        ("src/pages/a.ts", "import {\n  Page,\n} from '@playwright/test';\n", "tests"),
        ("src/store.py", "from unittest import TestCase\n", "tests"),
        ("src/store.py", "from unittest import mock  # not a value\n", "production"),
        ("src/Containers.java", "import org.testcontainers.containers.GenericContainer;\n", "tests"),
        ("src/handlers/a.ts", "import { http } from 'msw';\n", "fixtures"),
        ("src/a.stories.impl.ts", "import { action } from 'storybook/actions';\n", "fixtures"),
        ("load/a.js", "import http from 'k6/http';\n", "benchmarks"),
        ("src/A.java", "import org.openjdk.jmh.annotations.Benchmark;\n", "benchmarks"),
        ("src/A.cs", "using BenchmarkDotNet.Attributes;\n", "benchmarks"),
        ("src/a.py", "from locust import HttpUser\n", "benchmarks"),
        ("src/a.ts", "import assert from 'node:assert';\nconst nocked = 1;\n", "production"),
        ("src/main/java/P.java", "import javax.annotation.processing.AbstractProcessor;\n", "scripts"),
        ("plugin/src/P.kt", "import org.gradle.api.Plugin\n", "scripts"),
        ("src/Gen.cs", "using System;\n\n[Generator]\npublic class Gen {}\n", "scripts"),
        ("_build/backend.py", "from setuptools import build_meta\n", "scripts"),
        ("real_ip/update-data.py", "import os\n\nif __name__ == '__main__':\n    main()\n", "scripts"),
        (
            "real_ip/run-worker.py",
            "while True:\n    pass\nif __name__ == '__main__':\n    main()\n",
            "production",
        ),
        ("release.py", "#!/usr/bin/env python3\n", "scripts"),
        ("src/debug-send.ts", "send();\nprocess.exit(0);\n", "scripts"),
        ("src/debug-server.ts", "app.listen(8080);\nprocess.exit(0);\n", "production"),
        ("src/scripts/fill.ts", "main().then(() => process.exit(0));\n", "scripts"),
        ("src/scripts/fill.ts", "import db from './db';\n\nmain().catch(report);\n", "scripts"),
        ("src/scripts/a.go", "package main\n", "scripts"),
        (
            "front/generator/Generator/Program.cs",
            "public static async Task Main(string[] args) {}\n",
            "scripts",
        ),
        ("front/generator/Ids.cs", "public class Ids {}\n", "production"),
        ("src/migration/A.kt", "object A : Migration(1, 2) {\n", "migrations"),
        ("src/migration/A.java", "class A implements Migration {\n", "migrations"),
        ("src/main/java/com/shop/android/A.java", "class A {}\n", "app"),
        ("util/AppFactory.cs", "using NSubstitute;\n", "tests"),
        ("server/errors.go", "//go:build linux\n\npackage server\n", "production"),
        ("build.go", "//go:build tools\n// +build tools\n\npackage main\n", "scripts"),
        ("server/store.go", "//go:build integration\n\npackage server\n", "tests"),
        ("server/store.go", "//go:build !integration\n\npackage server\n", "production"),
        ("cmd/dev/events/main.go", "package main\n\nfunc main() {\n\tfor {\n\t}\n}\n", "scripts"),
        ("shop/migrations/env.py", "from alembic import context\n", "migrations"),
        ("shop/order/order_list.js", "frappe.listview_settings['Order'] = {};\n", "browser"),
        (
            "lib/routes/b.ts",
            "import { load } from 'cheerio';\nconst $ = load(text);\n$('.a').text();\n",
            "production",
        ),
        ("lib/routes/a.ts", "page.evaluate(() => document.querySelector('a'));\n", "production"),
        ("src/background.ts", "chrome.runtime.onMessage.addListener(answer);\n", "browser"),
        ("shop/static/js/controllers/a.js", "export default class {}\n", "browser"),
        ("brokers/stub.py", 'class Stub(Broker):\n    """A broker for unit tests."""\n', "fixtures"),
        ("brokers/stub.py", "channel.unary_unary('/latest')\n", "production"),
        ("brokers/real.py", '"""Can be replaced in tests."""\n', "production"),
        ("bin/www.js", "const server = http.createServer(app);\nserver.listen(port);\n", "production"),
        ("tools/a.py", "#!/usr/bin/env python3\n", "scripts"),
        ("tools/a.js", "process.exit(1);\n", "scripts"),
        ("dev/setup/a.go", 'package main\n\nimport "fmt"\n', "scripts"),
        ("app/scripts/a.py", "import os\n\nif __name__ == '__main__':\n    main()\n", "scripts"),
        ("tools/a.py", "def search(query): ...\n", "production"),
        ("Tools/shop/a.py", "import os\n\nif __name__ == '__main__':\n    main()\n", "scripts"),
        ("tools/a.ts", "net.createServer().listen(0);\nprocess.exit(0);\n", "scripts"),
        ("tools/a.ts", "http.createServer(app).listen(8080);\nprocess.exit(0);\n", "production"),
        ("ui/src/generate_texts.py", "if __name__ == '__main__':\n    main()\n", "scripts"),
        ("shop/generate_texts.py", "def generate(): ...\n", "production"),
        (
            "ui/plugins/a.ts",
            'import type {Plugin} from "vite";\nexport default (): Plugin => ({});\n',
            "scripts",
        ),
        ("src/bundler.ts", 'import webpack from "webpack";\n', "production"),
        ("internal/release/a.go", "package main\n\nfunc main() {}\n", "scripts"),
        ("internal/server/a.go", "package main\n\nfunc main() { http.ListenAndServe(a, b) }\n", "production"),
        ("internal/worker/a.go", "package main\n\nfunc main() { run() }\n", "production"),
        (
            "publish_events.py",
            "while True:\n    send()\n\nif __name__ == '__main__':\n    main()\n",
            "production",
        ),
        ("src/a.py", "import argparse\nparser = argparse.ArgumentParser()\n", "cli"),
        ("src/a.py", "parser = argparse.ArgumentParser()\nwhile True:\n    work()\n", "production"),
        ("src/a.py", "parser = argparse.ArgumentParser()\nuvicorn.run(app)\n", "production"),
        ("src/a.py", "@bot.command()\nasync def hello(ctx): ...\n", "production"),
        ("src/a.ts", "import { Command } from 'commander';\nprogram.command('list');\n", "cli"),
        ("src/a.ts", "import { Command } from 'discord-akairo';\nclass A extends Command {}\n", "production"),
        ("src/a.ts", "bot.command('start', start);\n", "production"),
        ("pkg/cmd/list.go", "package list\n\nfunc New() *cobra.Command { for {} }\n", "cli"),
        ("cmd/run/run.go", "func New() *cobra.Command {}\n\nvar s = &http.Server{Addr: a}\n", "production"),
        ("cmd/shop-fill/main.go", "package main\n\nfunc main() { flag.Parse() }\n", "cli"),
        ("cmd/shop/main.go", "package main\n\nfunc main() { flag.Parse()\n\tfor {\n\t}\n}\n", "production"),
        ("infra/stack.ts", "import { Stack } from 'aws-cdk-lib';\n", "scripts"),
        ("src/bin/replay.rs", "fn main() { let path = std::env::args().nth(1); }\n", "cli"),
        ("src/main/java/A.java", "import picocli.CommandLine;\n\nclass A {}\n", "cli"),
        ("src/main/java/A.java", '@Command(name = "ban")\nclass A {}\n', "production"),
        ("Commands/A.cs", 'var root = new RootCommand("export");\n', "cli"),
        (
            "Agent/A.cs",
            "var root = new RootCommand();\nwhile (!token.IsCancellationRequested) {}\n",
            "production",
        ),
        ("src/main/kotlin/A.kt", "package a\n\nimport androidx.room.Dao\n", "app"),
        ("Tray/A.cs", "using Avalonia.Controls;\n", "app"),
        ("Shop/A.cs", "using System.Windows.Input;\n", "production"),
        ("shop/gui.py", "import tkinter as tk\n", "app"),
        ("shop/cli/serve.py", "uvicorn.run(app)\n", "production"),
        ("lib/a.js", "// Source: https://github.com/a/b\n", "vendored"),
        ("server/libs/a/b.js", "/**\n * @license a | (c) 2020 B\n */\n", "vendored"),
        ("lib/a.js", "// See https://example.com/a\n", "production"),
        ("src/a.js", "// Source: https://github.com/a/b\n", "production"),
        (
            "static/a/b.js",
            "// A, (c) B\n// Distributed under an MIT license: https://b.example\n",
            "vendored",
        ),
        ("static/js/a.js", "// Copyright (c) Shop and others\n// MIT License. See LICENSE\n", "browser"),
        ("static/js/a.js", "// Copyright Shop. Licensed under the AGPL\n", "browser"),
        ("server/a.js", "// Distributed under an MIT license\n", "production"),
        ("src/lib/a.ts", "/** Needed.\n *\n * @see https://github.com/a/b/issues/417\n */\n", "production"),
        ("src/fork/A.kt", "/* Copyright */\n\n// This is a temporary fork.\n", "vendored"),
        ("src/a.rs", "//! Table\n//!\n//! Vendored from a/b:\n", "vendored"),
        ("src/a.ts", "// This file is a modified copy of a/b.\n", "vendored"),
        ("src/a.ts", "// The bulk is vendored from a/b. We add some.\n", "production"),
        ("src/a.ts", "// A canvas: a fork of plugins/b.ts.\n", "production"),
        ("A/Program.cs", "var builder = WebAssemblyHostBuilder.CreateDefault(args);\n", "browser"),
        ("src/a.ts", "import { ref } from 'vue';\n", "browser"),
        ("frontend/src/hooks/api/useUsers.ts", "import useSWR from 'swr';\n", "browser"),
        ("src/lib/apis/files.ts", "import { BASE } from '$lib/constants';\n", "browser"),
        ("src/routes/a/+server.ts", "import { BASE } from '$lib/constants';\n", "production"),
        ("views/worker.js", "self.addEventListener('fetch', answer);\n", "browser"),
        ("app/stores/a.ts", "import { observable } from 'mobx';\n", "browser"),
        ("src/a.js", "document.querySelector('#a');\n", "browser"),
        ("src/a.js", "$('#a').on('click', f);\n", "browser"),
        ("src/a.js", "const fs = require('fs');\ndocument.querySelector('#a');\n", "production"),
        ("src/a.ts", "import express from 'express';\nimport React from 'react';\n", "production"),
        ("src/server/a.js", "res.send('<script>window.location = 1</script>');\n", "production"),
        ("src/a.ts", "const document = await load(); document.save();\n", "production"),
    ],
)
def test_the_head_of_a_file_tells_the_context(path: str, text: str, expected: str) -> None:
    assert context(path, text) == expected


@pytest.mark.parametrize(
    ("path", "text", "dependencies", "expected"),
    [
        ("src/api/users.ts", "", "react-dom vite", "browser"),
        ("client/store/users.js", "", "nuxt", "browser"),
        ("src/a.ts", "import { readFile } from 'node:fs/promises';\n", "react-dom", "production"),
        ("src/a.ts", "", "react-dom express", "production"),
        ("src/components/hooks/a.ts", "", "react-dom express", "browser"),
        ("client/js/events/a.ts", "", "vue express", "browser"),
        ("client/js/events/a.ts", "", "express", "production"),
        ("src/a.ts", "", "axios", "production"),
        ("web/src/users.js", "", "express pg", "production"),
        ("web/src/users.js", "", "express react-dom", "browser"),
        ("web/src/users.js", "", "express vite", "browser"),
        ("web/src/users.js", "document.querySelector('#a');\n", "express pg", "browser"),
        ("web/src/api/users.js", "", "axios", "browser"),
        ("public/a.js", "", "express pg", "browser"),
        ("app/src/a.rs", "", "yew", "browser"),
        ("app/src/a.rs", "", "leptos axum", "production"),
        ("src-tauri/src/a.rs", "", "tauri", "app"),
        ("src/main/a.ts", "", "electron", "app"),
        ("Shop/A.cs", "", "Microsoft.NET.Sdk.BlazorWebAssembly", "browser"),
        ("Shop/A.cs", "", "Microsoft.NET.Sdk.Web Polly", "production"),
    ],
)
def test_the_manifest_tells_the_context(path: str, text: str, dependencies: str, expected: str) -> None:
    project = Project(dict.fromkeys(dependencies.split(), ()))
    assert context(path, text, project=project) == expected


@pytest.mark.parametrize(
    ("path", "project", "expected"),
    [
        ("Shop/A.cs", Project(kinds=frozenset({"tests"})), "tests"),
        ("core/integration/src/a.rs", Project(kinds=frozenset({"tests"})), "tests"),
        ("codegen/src/a.rs", Project(kinds=frozenset({"builds"})), "scripts"),
        ("macros/src/a.rs", Project(kinds=frozenset({"proc-macro"})), "scripts"),
        ("Shop/A.cs", Project(kinds=frozenset({"exe"})), "production"),
        ("app/src/main/kotlin/A.kt", Project(kinds=frozenset({"android"})), "app"),
        ("src/a.ts", Project(kinds=frozenset({"vscode"})), "app"),
        ("web/mv.js", Project(tool_files=frozenset({"web/mv.js"})), "scripts"),
        ("mv.js", Project(tool_files=frozenset({"web/mv.js"})), "scripts"),
        ("web/a/mv.js", Project(tool_files=frozenset({"web/mv.js"})), "production"),
        ("packages/notes/src/a.ts", Project(name="@shop/release-notes-generator"), "scripts"),
        ("packages/new/lib/a.js", Project(name="create-shop"), "scripts"),
        ("packages/ids/src/a.ts", Project(name="@shop/id-generator"), "production"),
    ],
)
def test_the_manifest_tells_what_a_project_is(path: str, project: Project, expected: str) -> None:
    assert context(path, project=project) == expected


def test_a_context_that_was_asked_for_is_passed_over() -> None:
    head = FileHead("examples/app/tests/a.tsx", "tsx", "")
    names = [
        None if found is None else found.name
        for found in (context_of(head, frozenset(each.split())) for each in ("", "tests", "tests examples"))
    ]
    assert names == ["tests", "examples", "browser"]


def test_a_folder_may_belong_to_several_contexts() -> None:
    assert contexts_of_folder("docs/examples/") == {"docs", "examples"}
    assert contexts_of_folder("a/dist") == {"built"}
    assert contexts_of_folder("src/app") == contexts_of_folder("frontend") == set()


def test_a_huge_script_is_built() -> None:
    assert context("a.mjs", "const a = 1;\n", 700_000) == "built"
    assert context("a.py", "a = 1\n", 700_000) == "production"


def test_rules_for_servers_exist() -> None:
    assert {rule.slug for rule in RULES} >= SERVER_ONLY
    some = [rule for rule in RULES if rule.id in ("FK-R001", "FK-R026")]
    assert [rule.id for rule in rules_in("browser", some)] == ["FK-R026"]
    assert rules_in("", some) == tuple(some)


def test_rules_about_requests_exist_and_leave_commands_alone() -> None:
    assert {rule.slug for rule in RULES} >= PER_REQUEST
    some = [rule for rule in RULES if rule.id in ("FK-P004", "FK-R026")]
    assert [rule.id for rule in rules_in("commands", some)] == ["FK-R026"]


def test_rules_about_services_exist_and_leave_command_line_tools_alone() -> None:
    assert {rule.slug for rule in RULES} >= FOR_SERVICES
    some = [rule for rule in RULES if rule.id in ("FK-P002", "FK-R001", "FK-R135")]
    assert [rule.id for rule in rules_in("cli", some)] == ["FK-R001"]


def test_rules_about_many_users_exist_and_leave_apps_alone() -> None:
    assert {rule.slug for rule in RULES} >= FOR_MANY_USERS
    some = [rule for rule in RULES if rule.id in ("FK-P009", "FK-R001")]
    assert [rule.id for rule in rules_in("app", some)] == ["FK-R001"]


def test_every_context_has_an_example_here() -> None:
    # No path tells that a file belongs to an app.
    assert {*CONTEXT_NAMES, "production"} == {*PATHS, "app"}
