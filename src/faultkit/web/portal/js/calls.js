/**
 * The view of the audit log: filters, the table of calls, new calls as they are logged, and the panel of the open call.
 * Its whole state is in the address; this file puts the parts together.
 */

import { ask, download } from "./api.js";
import { detailPane } from "./detail.js";
import { button, el, fill } from "./dom.js";
import { filterForm, filtersOf } from "./filters.js";
import { announce, notice } from "./notice.js";
import { count, plural } from "./numerals.js";
import { address, changed, go } from "./route.js";
import { rowTable } from "./rows.js";
import { empty, failed, waiting } from "./states.js";
import { tail } from "./tail.js";

const PAGE = 50;
/** Most rows in the table while it is live: more would slow the page. */
const MOST_ROWS = 300;
const ANNOUNCE_MS = 2000;

/** The list is sorted by start, the log by end: the newest row of the log need not be the first of the list. */
const newest = (rows) => (rows.length ? Math.max(...rows.map((row) => row.seq)) : null);

export function callsView(place) {
  let settings = new URLSearchParams();
  let shownQuery = null;
  let asking = new AbortController();
  let endTail = () => {};
  let isFollowing = false;
  let held = [];
  let total = 0;
  let next = null;
  let isCut = false;
  let shownByHand = 0;

  const set = (changes) => go("calls", changes);
  const filters = filterForm(set);
  const detail = detailPane(() => close());
  const table = rowTable({
    hrefOf: (row) => address("calls", changed(settings, { call: row.id })),
    walked: (id) => settings.has("call") && go("calls", changed(settings, { call: id }), { quietly: true }),
  });
  const status = el("p", { class: "status", role: "status" });
  const fresh = button("", release, { class: "fresh", hidden: true });
  const live = button(
    [el("i", { class: "pulse" }), "Live"],
    () => set(changed(settings, { live: isFollowing ? "off" : null })),
    { class: "live", "aria-pressed": "false" },
  );
  const keep = button("Export", exported, { class: "quiet" });
  const below = el("div", { class: "below" });
  const list = el("div", { class: "list" }, table.node, below);

  fill(
    place,
    el(
      "div",
      { class: "heading" },
      el("h1", { tabindex: "-1" }, "Calls"),
      el("div", { class: "controls" }, keep, live),
    ),
    filters.node,
    el(
      "div",
      { class: "browser" },
      el(
        "section",
        { class: "card flush", "aria-label": "Calls" },
        el("div", { class: "strip" }, status, hint(), fresh),
        list,
      ),
      detail.node,
    ),
  );

  const keys = new AbortController();
  addEventListener("keydown", pressed, { signal: keys.signal });
  ask("portal/audit/meta").then(filters.offer, () => {}); // only suggestions

  async function load() {
    asking.abort();
    asking = new AbortController();
    const { signal } = asking;
    const query = filtersOf(settings);
    stopFollowing();
    [held, fresh.hidden] = [[], true];
    if (!table.count) fill(below, waiting(8));
    list.setAttribute("aria-busy", "true");
    try {
      const page = await ask("portal/audit/events", { query: [...query, ["limit", PAGE]], signal });
      table.show(page.events);
      [total, next, isCut, shownByHand] = [page.total, page.next, false, 0];
      showBelow();
      follow(newest(page.events));
    } catch (error) {
      if (error.name === "AbortError") return;
      table.show([]);
      [total, next] = [0, null];
      status.textContent = "";
      fill(below, failed(error, load));
    }
    list.removeAttribute("aria-busy");
  }

  async function more() {
    try {
      const query = [...filtersOf(settings), ["limit", PAGE], ["cursor", next]];
      const page = await ask("portal/audit/events", { query, signal: asking.signal });
      table.append(page.events.filter((row) => !table.has(row.id)));
      [next, shownByHand] = [page.next, table.count];
      showBelow();
    } catch (error) {
      if (error.name !== "AbortError") fill(below, failed(error, more));
    }
  }

  function showBelow() {
    status.textContent =
      total > table.count ? `${count(table.count)} of ${plural(total, "call")}` : plural(total, "call");
    const left = Math.min(PAGE, Math.max(1, total - table.count));
    fill(
      below,
      !table.count && nothing(),
      next && button(`Show ${left} more`, more, { class: "wide" }),
      isCut && button("Older calls were removed to make room for new ones: reload the list", load, { class: "wide" }),
    );
  }

  const nothing = () =>
    [...filtersOf(settings)].length
      ? empty(
          "No calls match these filters",
          "Matching calls will appear here.",
          button("Clear all filters", () => set(new URLSearchParams())),
        )
      : empty(
          "No calls yet",
          "Point a client at /mcp, or try a tool: its call appears here.",
          el("a", { class: "button", href: address("tools") }, "Try a tool"),
        );

  // The live tail.

  function follow(after) {
    const wanted = settings.get("live") !== "off" && !settings.has("to");
    live.disabled = settings.has("to");
    live.title = settings.has("to") ? "A time range in the past gets no new calls" : "Show new calls as they are logged";
    live.setAttribute("aria-pressed", String(wanted));
    isFollowing = wanted;
    if (!wanted) return showState("off");
    const query = [...filtersOf(settings)].filter(([name]) => name !== "from");
    endTail = tail(query, after, {
      rows: arrived,
      state: showState,
      lost: load,
      dropped: (number) =>
        notice(`${plural(number, "call")} came too fast to be shown here. They are in the log.`, "warn"),
    });
  }

  function stopFollowing() {
    endTail();
    endTail = () => {};
  }

  function showState(state, why = "") {
    live.dataset.state = isFollowing ? state : "paused";
    if (why) live.title = why;
  }

  function arrived(all) {
    const rows = all.filter((row) => !table.has(row.id));
    if (!rows.length) return;
    total += rows.length;
    held = [...held, ...rows].slice(-MOST_ROWS);
    // Rows must not move while the user reads or clicks them.
    if (table.isWalked || settings.has("call") || list.getBoundingClientRect().top < 0) {
      fresh.hidden = false;
      fresh.textContent = `Show ${plural(held.length, "new call")}`;
    } else {
      release();
    }
    tell(rows);
  }

  function release() {
    const rows = held.toReversed();
    [held, fresh.hidden] = [[], true];
    const cut = table.prepend(rows, Math.max(MOST_ROWS, shownByHand));
    // After rows were dropped from the end, the cursor of the next page no longer fits.
    if (cut) next = null;
    isCut ||= cut;
    showBelow();
  }

  let untold = [];
  function tell(rows) {
    if (!untold.length) {
      setTimeout(() => {
        const bad = untold.filter((row) => !row.success).length;
        announce(`${plural(untold.length, "new call")}${bad ? `, ${bad} failed` : ""}`);
        untold = [];
      }, ANNOUNCE_MS);
    }
    untold.push(...rows);
  }

  // Keyboard shortcuts.

  function pressed(event) {
    const typing = event.target.closest?.("input, textarea, select, dialog");
    if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey) {
      event.preventDefault();
      filters.focus();
    } else if (event.key === "Escape" && !typing && settings.has("call")) {
      close();
    }
  }

  function close() {
    const id = settings.get("call");
    go("calls", changed(settings, { call: null }));
    table.focus(id);
  }

  async function exported() {
    try {
      await download("portal/audit/export", filtersOf(settings), "calls.jsonl");
    } catch (error) {
      notice(error.message, "bad");
    }
  }

  return {
    title: "Calls",
    update(settingsNow) {
      settings = settingsNow;
      filters.show(settings);
      const id = settings.get("call");
      place.classList.toggle("has-detail", id !== null);
      table.mark(id);
      detail.show(id);
      // The live tail starts at the newest row, so the list is loaded first.
      const query = `${filtersOf(settings)}#${settings.get("live")}`;
      if (query !== shownQuery) load();
      shownQuery = query;
      for (const link of table.node.querySelectorAll("a.open"))
        link.href = address("calls", changed(settings, { call: link.dataset.id }));
    },
    leave() {
      keys.abort();
      asking.abort();
      stopFollowing();
    },
  };
}

const KEYS = [
  ["↑↓", "walk"],
  ["Enter", "open"],
  ["Esc", "close"],
];

const hint = () =>
  el(
    "span",
    { class: "key-hint", "aria-hidden": "true" },
    KEYS.map(([key, does]) => [el("kbd", {}, key), does]),
  );
