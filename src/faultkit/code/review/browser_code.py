"""Which files run in browsers: those of pages, and .NET as WebAssembly. Pure."""

from __future__ import annotations

import re

from faultkit.base.patterns import lazy_regex
from faultkit.code.review.file_head import FileHead

_IMPORTED = lazy_regex(r"""\b(?:from|import|require)\s{0,9}\(?\s{0,9}['"]([^'"\n]{1,100})['"]""")
_UI_MODULES = frozenset(
    {
        "backbone", "jquery", "lit", "mobx", "mobx-react", "mobx-react-lite", "next/image", "next/link",
        "next/navigation", "next/router", "pinia", "preact", "react", "react-dom", "react-router",
        "react-router-dom", "redux", "socket.io-client", "solid-js", "styled-components", "svelte", "swr",
        "vue", "vue-router", "vuex", "zustand",
    }
)  # fmt: skip
_UI_SCOPES = (
    "@angular/",
    "@ember",
    "ember",
    "@glimmer/",
    "@reduxjs/",
    "@tanstack/react",
    "@mui/",
    "@radix-ui/",
    "prosemirror-",
    "$lib/",
    "$app/",
    "@vueuse/",
    "react-dom/",
)
_SERVER_MODULES = frozenset(
    {
        "@prisma/client", "amqplib", "aws-sdk", "cheerio", "child_process", "cluster", "dgram", "express",
        "fastify", "fs", "fs/promises", "hono", "http", "http2", "https", "ioredis", "jsdom", "kafkajs",
        "knex", "koa", "mongodb", "mongoose", "mysql", "mysql2", "mysql2/promise", "net", "next/headers",
        "next/server", "os", "path", "pg", "redis", "sequelize", "socket.io", "tls", "typeorm",
        "worker_threads", "ws",
    }
)  # fmt: skip
_UI_PACKAGES = (
    "react-dom", "react-native", "vue", "svelte", "@angular/core", "preact", "solid-js", "ember-source",
    "lit", "nuxt",
)  # fmt: skip
_SERVER_PACKAGES = (
    "@apollo/server", "@hapi/hapi", "@nestjs/core", "@prisma/client", "@remix-run/node", "@sveltejs/kit",
    "@trpc/server", "apollo-server", "astro", "drizzle-orm", "electron", "express", "fastify", "graphql-yoga",
    "hono", "ioredis", "knex", "koa", "mongodb", "mongoose", "mysql2", "next", "pg", "redis", "sequelize",
    "socket.io", "typeorm", "ws",
)  # fmt: skip
_PAGE_PACKAGES = (
    *_UI_PACKAGES, "@remix-run/node", "@sveltejs/kit", "alpinejs", "astro", "backbone", "electron",
    "htmx.org", "jquery", "next", "parcel", "react", "vite", "webpack",
)  # fmt: skip
"""Packages of pages, and what builds pages."""
_SERVER_SCOPES = ("node:", "@aws-sdk/", "@hapi/", "@koa/", "@nestjs/")
_DOM = lazy_regex(
    r"""(?<![\w.$'"])(?:
          document\.(?:querySelector|getElement|createElement|addEventListener|body|head|cookie|documentElement
            |location)
        | window\.(?:location|addEventListener|document|localStorage|sessionStorage|history|navigator|open\(
            |alert\(|matchMedia|__\w+|\$|jQuery)
        | (?:localStorage|sessionStorage)\.
        | new\ (?:XMLHttpRequest|FileReader)\b
        | (?:browser|chrome)\.(?:action|contextMenus|runtime|storage|tabs)\.
        | frappe\.(?:call|listview_settings|pages|query_reports|ui)\b
        | self\.(?:addEventListener|skipWaiting|clients)\b
        | (?:\$|jQuery)\(\s*(?:document|function|['"][.#])
        )""",
    re.VERBOSE,
)
_DRIVER = lazy_regex(r"\bpage\.evaluate\((?!\))|['\"]@?(?:puppeteer|playwright)\b")
_DOM_WORDS = (
    "document.",
    "window.",
    "localStorage.",
    "sessionStorage.",
    "XMLHttpRequest",
    "FileReader",
    "browser.",
    "chrome.",
    "frappe.",
    "self.",
    "$(",
    "jQuery(",
)
"""One of them is in each text that `_DOM` matches; they are found faster."""
_PROCESS = lazy_regex(r"""(?<![\w.$])process\.(?:exit|on|argv|stdout|stdin|pid)\b|['"]use server['"]""")
_BROWSER_FOLDER = lazy_regex(
    r"(?:^|/)(?:public|static|assets|frontend|front-end|wwwroot|webroot|www|browser|webapp|webui|ui)/"
)
_FRONTEND = lazy_regex(r"(?:^|/)(?:frontend|front-end|static/js|webapp|webui|webroot|wwwroot|ui/src)/")
"""Folders in which `api` is what a page asks, and no server."""
_WEB = lazy_regex(r"(?:^|/)web/src/")
"""Sources of pages, unless the package is that of a server."""

_UI_FOLDER = lazy_regex(r"^client/|(?:^|/)(?:components|composables|hooks)/(?:.+/)?[^/]+$")
"""Folders of pages in a project that has them beside a server."""
_SERVER_FOLDER = lazy_regex(r"(?:^|/)(?:server|servers|backend|back-end|api|controllers|middlewares?)/")


def is_browser(head: FileHead) -> bool:
    """Return whether a file of JavaScript runs in a page, by what it imports and uses."""
    modules = frozenset(_IMPORTED.findall(head.text))
    if modules & _SERVER_MODULES or any(each.startswith(_SERVER_SCOPES) for each in modules):
        return False
    if ("process." in head.text or "use server" in head.text) and _PROCESS.search(head.text):
        return False
    of_page = bool(
        modules & _UI_MODULES
        or any(each.startswith(_UI_SCOPES) for each in modules)
        or (head.project.has_any(*_UI_PACKAGES) and not head.project.has_any(*_SERVER_PACKAGES))
    )
    if ".server." in head.path or "+server." in head.path or "$lib/server" in head.text:
        return False
    if not of_page and head.project.has_any(*_UI_PACKAGES):
        of_page = _UI_FOLDER.search(head.path) is not None
    is_frontend = of_page or _FRONTEND.search(head.path) is not None or _is_web(head)
    if not is_frontend and _SERVER_FOLDER.search(head.path):
        return False
    if is_frontend or _BROWSER_FOLDER.search(head.path):
        return True
    if head.path.endswith((".tsx", ".jsx")):
        return True
    if not any(word in head.text for word in _DOM_WORDS) or _DOM.search(head.text) is None:
        return False
    # A server that drives a browser hands functions to it, which use the DOM.
    return _DRIVER.search(head.text) is None


def _is_web(head: FileHead) -> bool:
    if _WEB.search(head.path) is None:
        return False
    return head.project.has_any(*_PAGE_PACKAGES) or not head.project.has_any(*_SERVER_PACKAGES)


def is_web_assembly(head: FileHead) -> bool:
    """Return whether a file of .NET runs in a browser."""
    web = ("Microsoft.NET.Sdk.BlazorWebAssembly", "Microsoft.AspNetCore.Components.WebAssembly")
    return "WebAssemblyHostBuilder" in head.text or head.project.has_any(*web)


def is_rust_page(head: FileHead) -> bool:
    """Return whether a file of Rust belongs to a page, by the libraries of its crate."""
    has_any = head.project.has_any
    is_page = has_any("dioxus", "leptos", "sycamore", "yew") or (
        has_any("web-sys") and "cdylib" in head.project.kinds
    )
    return is_page and not has_any("actix-web", "axum", "hyper", "rocket", "tokio", "warp")
