/**
 * JSON for display, with exact numbers: one that JavaScript cannot hold (an int64, 1.0, 3e-05) stays as written, if
 * the browser supports it.
 */

import { el } from "./dom.js";

const keepsSources = typeof JSON.rawJSON === "function";

/** Parses JSON for display and for sending it on. Values for computing come from JSON.parse. */
export function parseExactly(text) {
  if (!keepsSources) return JSON.parse(text);
  return JSON.parse(text, (_, value, context) =>
    typeof value === "number" && context?.source !== undefined && String(value) !== context.source
      ? JSON.rawJSON(context.source)
      : value,
  );
}

export const pretty = (value) => JSON.stringify(value, null, 2) ?? "";

const TOKENS = /("(?:\\.|[^"\\])*")(\s*:)?|(-?\d[\d.eE+-]*)|(true|false|null)/g;

/** A block of coloured JSON, or of plain text. */
export function jsonBlock(value, label) {
  const text = typeof value === "string" ? value : pretty(value);
  return el(
    "pre",
    { class: "json", tabindex: "0", role: "region", "aria-label": label },
    typeof value === "string" ? text : coloured(text),
  );
}

export function coloured(text) {
  const parts = [];
  let done = 0;
  for (const match of text.matchAll(TOKENS)) {
    parts.push(text.slice(done, match.index));
    const [whole, quoted, colon, number] = match;
    const kind = quoted ? (colon ? "json-key" : "json-text") : number ? "json-number" : "json-word";
    parts.push(el("span", { class: kind }, quoted ?? whole), colon ?? "");
    done = match.index + whole.length;
  }
  parts.push(text.slice(done));
  return parts.filter((part) => part !== "");
}
