/** Parts of a table. Columns are [name, class]; the first cell of a row is its header. */

import { el } from "./dom.js";

export const headOf = (columns) =>
  el(
    "thead",
    {},
    el(
      "tr",
      {},
      columns.map(([name, kind]) => el("th", { scope: "col", class: kind }, name)),
    ),
  );

export const rowOf = (columns, [head, ...cells], attributes) =>
  el(
    "tr",
    attributes,
    el("th", { scope: "row" }, head),
    cells.map((cell, place) => el("td", { class: columns[place + 1][1] }, cell)),
  );

/** A row with one text across all columns. */
export const noRow = (columns, text) =>
  el("tr", {}, el("td", { colspan: columns.length, class: "fine" }, text));

/** Wraps a table that may be wider than the page, so that it can be scrolled with the keyboard. */
export const scrolled = (label, table) =>
  el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": label }, table);
