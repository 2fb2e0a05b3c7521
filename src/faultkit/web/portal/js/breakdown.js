/** Figures by tool: a bar of calls with the failed part, and durations. */

import { el, fill, svg } from "./dom.js";
import { count, milliseconds, percent } from "./numerals.js";
import { headOf, noRow, rowOf, scrolled } from "./tables.js";

const COLUMNS = [["Tool"], ["Calls", "n"], ["Failed", "n failed"], ["p50", "n"], ["p95", "n"], ["p99", "n"]];

export function breakdownTable(linkTo) {
  const body = el("tbody");
  const node = scrolled("Figures by tool", el("table", { class: "breakdown" }, headOf(COLUMNS), body));
  return {
    node,
    show(items) {
      const most = Math.max(1, ...items.map((item) => item.count));
      fill(
        body,
        items.length
          ? items.map((item) => row(item, most, linkTo))
          : noRow(COLUMNS, "No calls in this time."),
      );
    },
  };
}

const row = (item, most, linkTo) =>
  rowOf(COLUMNS, [
    [item.key ? el("a", { href: linkTo(item.key) }, item.key) : "(none)", bar(item, most)],
    count(item.count),
    item.errors ? el("span", { class: "bad" }, `${count(item.errors)} · ${percent(item.error_rate)}`) : "0",
    ...["p50", "p95", "p99"].map((name) => milliseconds(item[`${name}_duration_ms`])),
  ]);

/** A bar whose length is relative to the tool with the most calls. */
function bar(item, most) {
  const part = (kind, number) =>
    svg("rect", { class: kind, width: `${(number / most) * 100}%`, height: "6", rx: "3" });
  return svg(
    "svg",
    { class: "bar", width: "100%", height: "6", "aria-hidden": "true" },
    part("rail", most),
    part("good", item.count),
    part("errors", item.errors),
  );
}
