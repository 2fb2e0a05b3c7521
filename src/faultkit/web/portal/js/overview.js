/** The first view: number, errors and durations of calls, over time and by tool. */

import { ask } from "./api.js";
import { breakdownTable } from "./breakdown.js";
import { callsChart, latencyChart, seriesOf } from "./charts.js";
import { el, fill } from "./dom.js";
import { choice } from "./fields.js";
import { BUCKETS, RANGES } from "./ranges.js";
import { address, changed, go } from "./route.js";
import { rowList } from "./rows.js";
import { empty, failed, lossOf } from "./states.js";
import { tileRow } from "./tiles.js";

const EVERY_MS = 5000;
const LATEST = 6;
const ANY_TOOL = ["", "All tools"];

export function overview(place) {
  let settings = new URLSearchParams();
  let timer = 0;
  let asking = new AbortController();

  const span = () => settings.get("window") ?? "1h";
  // For a range that is not in the list, which only an address can name, the server chooses the bucket.
  const bucket = () => (BUCKETS[span()] ? { bucket: BUCKETS[span()] } : {});
  const filters = () => (settings.get("tool") ? { tool: settings.get("tool") } : {});
  const set = (changes) => go("overview", changed(settings, changes));
  const isoOf = (at) => new Date(at).toISOString();
  const openSpan = ({ at }, step) => go("calls", { ...filters(), from: isoOf(at), to: isoOf(at + step) });

  const ranges = RANGES.map(([value, text]) => [value, `Last ${text}`]);
  const range = choice("Time", ranges, (value) => set({ window: value }));
  const tool = choice("Tool", [ANY_TOOL], (value) => set({ tool: value }));
  const trouble = el("div", { class: "trouble" });
  const tiles = tileRow();
  const calls = callsChart(openSpan);
  const latency = latencyChart(openSpan);
  const byTool = breakdownTable((key) => address("calls", { ...filters(), tool: key, from: span() }));
  const latest = el("div", { class: "latest" });

  fill(
    place,
    el(
      "div",
      { class: "heading" },
      el("h1", { tabindex: "-1" }, "Overview"),
      el("div", { class: "controls" }, tool.node, range.node),
    ),
    trouble,
    tiles.node,
    el("div", { class: "pair" }, calls.node, latency.node),
    el("div", { class: "pair wide-left" }, card("By tool", byTool.node), card("Latest failures", latest)),
  );

  ask("portal/tools").then(
    ({ tools }) => tool.offer([ANY_TOOL, ...tools.map(({ name }) => [name, name])]),
    () => {}, // only suggestions
  );

  async function refresh() {
    clearTimeout(timer);
    asking.abort();
    asking = new AbortController();
    const { signal } = asking;
    const within = { ...filters(), from: span() };
    const get = (path, query) => ask(`portal/${path}`, { query, signal });
    try {
      show(
        await Promise.all([
          get("dashboard", { ...filters(), window: span() }),
          get("audit/timeseries", { ...within, ...bucket() }),
          get("audit/breakdown", { ...within, by: "tool" }),
          get("audit/events", { ...within, success: "false", limit: LATEST }),
        ]),
      );
    } catch (error) {
      if (error.name !== "AbortError") fill(trouble, failed(error, refresh));
    }
    if (!signal.aborted) timer = setTimeout(() => (document.hidden ? wait() : refresh()), EVERY_MS);
  }

  function show([dashboard, series, breakdown, failures]) {
    fill(trouble, lossOf(dashboard.audit));
    tiles.show(dashboard.stats);
    calls.show(seriesOf(series));
    latency.show(seriesOf(series));
    // Drawing the table again would take the focus from an element in it.
    if (!isFocused(byTool.node)) byTool.show(breakdown.items);
    if (!isFocused(latest)) {
      fill(latest, failures.events.length ? rowList(failures.events) : calmness(dashboard.stats));
    }
  }

  // A hidden page sends no requests; it is refreshed when it becomes visible.
  const wait = () =>
    document.addEventListener("visibilitychange", refresh, { once: true, signal: asking.signal });

  return {
    title: "Overview",
    update(next) {
      settings = next;
      range.set(span());
      tool.set(settings.get("tool") ?? "");
      refresh();
    },
    leave() {
      clearTimeout(timer);
      asking.abort();
    },
  };
}

const isFocused = (node) => node.contains(document.activeElement);

const card = (title, node) =>
  el("section", { class: "card", "aria-label": title }, el("h3", {}, title), node);

const calmness = (stats) =>
  stats.count
    ? empty("Nothing failed", "No call failed in this time.")
    : empty(
        "No calls yet",
        "Point a client at /mcp, or try a tool from here.",
        el("a", { class: "button", href: address("tools") }, "Try a tool"),
      );
