/** The figures at the top of the overview. */

import { el, fill } from "./dom.js";
import { compact, count, milliseconds, percent, plural } from "./numerals.js";

const time = (field) => (stats) => (stats.count ? milliseconds(stats[field]) : "–");

/** Name, figure, and the line below it. */
const TILES = [
  ["Calls", (stats) => compact(stats.count), (stats) => rate(stats.calls_per_s)],
  ["Failed", (stats) => compact(stats.errors), (stats) => failures(stats)],
  ["p50", time("p50_duration_ms"), () => "half were faster"],
  ["p95", time("p95_duration_ms"), () => "19 of 20 were faster"],
  ["p99", time("p99_duration_ms"), () => "99 of 100 were faster"],
  ["Callers", (stats) => count(stats.unique_subjects), (stats) => `of ${plural(stats.unique_tools, "tool")}`],
];

const PERIODS = [
  ["s", 1],
  ["min", 60],
  ["h", 3600],
];

/** Refused requests are not calls, and are counted separately. */
const failures = ({ error_rate: share, refusals }) =>
  `${percent(share)} of calls${refusals ? `; ${compact(refusals)} refused` : ""}`;

function rate(perS) {
  if (!perS) return "in this time";
  const [unit, seconds] = PERIODS.find(([, each]) => perS * each >= 1) ?? PERIODS.at(-1);
  return `${compact(perS * seconds)}/${unit} on average`;
}

export function tileRow() {
  const node = el(
    "dl",
    { class: "tiles" },
    TILES.map(([name]) => tile(name, "–", "")),
  );
  const show = (stats) =>
    fill(
      node,
      TILES.map(([name, figure, under]) =>
        tile(name, figure(stats), under(stats), name === "Failed" && stats.errors > 0),
      ),
    );
  return { node, show };
}

const tile = (name, figure, under, isBad = false) =>
  el(
    "div",
    { class: isBad ? "bad" : null },
    el("dt", {}, name),
    el("dd", {}, figure),
    el("dd", { class: "under" }, under),
  );
