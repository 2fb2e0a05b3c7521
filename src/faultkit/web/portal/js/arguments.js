/** The editor of arguments: a form, or JSON for values that the form does not allow. */

import { el } from "./dom.js";
import { segments } from "./fields.js";
import { schemaForm } from "./form.js";
import { parseExactly, pretty } from "./json.js";

const MODES = [
  ["form", "Form"],
  ["json", "JSON"],
];

/** `given`: initial JSON, or null. `read` returns null if something is wrong, and shows the error. */
export function argumentsEditor(schema, given) {
  const form = schemaForm(schema);
  const text = el("textarea", { class: "code", "aria-label": "Arguments as JSON", spellcheck: "false" });
  const problem = el("p", { class: "problem", role: "alert" });
  const byHand = el("div", { class: "field" }, text, problem);
  const mode = segments("Arguments", MODES, turn);

  function readByHand() {
    problem.textContent = "";
    try {
      return text.value.trim() ? parseExactly(text.value) : {};
    } catch (error) {
      problem.textContent = `Not valid JSON: ${error.message}`;
      return null;
    }
  }

  function show(which) {
    mode.set(which);
    form.node.hidden = which !== "form";
    byHand.hidden = which !== "json";
  }

  function turn(to) {
    if (to === "json") text.value = pretty(form.read() ?? {});
    else if (fits(readByHand(), schema)) form.write(readByHand());
    show(to);
  }

  text.value = given ?? "";
  const value = readByHand();
  if (fits(value, schema)) form.write(value);
  show(fits(value, schema) ? "form" : "json");

  return {
    mode: mode.node,
    node: el("div", {}, form.node, byHand),
    read: () => (form.node.hidden ? readByHand() : form.read()),
  };
}

/** Returns whether the form has a field for each argument. */
const fits = (value, { properties = {} }) =>
  typeof value === "object" &&
  value !== null &&
  !Array.isArray(value) &&
  Object.keys(value).every((name) => Object.hasOwn(properties, name));
