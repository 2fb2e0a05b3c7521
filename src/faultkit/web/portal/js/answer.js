/** The outcome of a tool that was tried: a result, a tool error, or a protocol error. */

import { el } from "./dom.js";
import { jsonBlock } from "./json.js";
import { noteList } from "./notes.js";
import { milliseconds, plural } from "./numerals.js";
import { answerOf, badge } from "./outcome.js";
import { address } from "./route.js";

/** `exact`: the response of the server. `ms`: the duration that the server measured. */
export function answer(exact, ms) {
  const error = exact.result ? null : { code: exact.code, message: exact.error, data: exact.data };
  const notes = exact.notifications ?? [];
  const outcome = answerOf({ result: exact.result, error, success: exact.success });
  return [
    el(
      "p",
      { class: "sub" },
      badge(outcome),
      el("b", {}, milliseconds(ms)),
      exact.event_id && el("a", { href: address("calls", { call: exact.event_id }) }, "See it in the log"),
    ),
    outcome.explained && el("p", { class: "fine" }, outcome.explained),
    notes.length > 0 && section(plural(notes.length, "notification"), noteList(notes)),
    error ? protocolError(error) : result(exact.result),
  ];
}

const protocolError = (error) => [
  el("p", { class: "callout bad message" }, error.message),
  section("JSON-RPC error", jsonBlock(error, "JSON-RPC error")),
];

function result(said) {
  const texts = (said.content ?? []).map((block, place) => contentBlock(block, place, said.content.length));
  const { content, structuredContent, ...rest } = said;
  return [
    section(plural(texts.length, "content block"), texts),
    structuredContent !== undefined &&
      section("Structured content", jsonBlock(structuredContent, "Structured content")),
    Object.keys(rest).length > 0 &&
      section("The rest of the result", jsonBlock(rest, "The rest of the result")),
  ];
}

function contentBlock(block, place, all) {
  const label = all > 1 ? `Block ${place + 1} of ${all}` : "Content";
  if (block.type !== "text") return jsonBlock(block, label);
  return el(
    "pre",
    { class: "json text", tabindex: "0", role: "region", "aria-label": label },
    String(block.text),
  );
}

const section = (title, ...inside) => el("section", {}, el("h4", {}, title), inside);
