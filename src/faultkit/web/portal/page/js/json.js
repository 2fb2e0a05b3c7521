/**
 * JSON for the eye, and to the digit: a number that JavaScript cannot hold (an int64, 1.0, 3e-05) stays as it was
 * written, where the browser is able to.
 */

import { el } from "./dom.js";

const keepsSources = typeof JSON.rawJSON === "function";

/** For showing and for sending on. What is counted with must come from JSON.parse. */
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

/** A block of coloured JSON, or of plain text if that is what came. */
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
