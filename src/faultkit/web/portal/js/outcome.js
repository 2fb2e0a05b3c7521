/** The outcome of a call as one word and one colour, the same in every view. */

import { el, sign, unseen } from "./dom.js";

/** The name of the tool. A refused request has none, because it was not parsed. */
export const toolOf = (row) => row.tool_name || (row.source === "door" ? "(refused)" : "(no tool)");

const LONGEST = 24;
const short = (text) => (text.length > LONGEST ? `${text.slice(0, LONGEST - 1)}…` : text);

/** The outcome of a row. */
export const outcomeOf = (row) =>
  row.success ? OK : { kind: "bad", sign: "bad", text: short(row.error_category || "failed") };

/** The outcome of a response: a tool error is a result, a protocol error is not. */
export function answerOf({ result, error, success }) {
  if (error) return { ...PROTOCOL, text: `protocol error ${error.code ?? ""}`.trim() };
  if (result?.isError) return TOOL;
  return success === false ? { kind: "bad", sign: "bad", text: "failed" } : OK;
}

const OK = { kind: "good", sign: "good", text: "ok" };
const TOOL = {
  kind: "warn",
  sign: "bad",
  text: "tool error",
  explained: "The tool answered, and its answer says that it failed: a result with isError.",
};
const PROTOCOL = {
  kind: "bad",
  sign: "bad",
  explained: "The call itself failed: a JSON-RPC error in place of a result.",
};

export const badge = (outcome) =>
  el(
    "span",
    { class: `badge ${outcome.kind}`, title: outcome.explained },
    sign(outcome.sign),
    outcome.kind === "bad" && unseen("failed: "),
    outcome.text,
  );
