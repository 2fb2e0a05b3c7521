/** A form made from the input schema of a tool. Empty fields are not sent. */

import { el } from "./dom.js";
import { labelled } from "./fields.js";
import { parseExactly, pretty } from "./json.js";

const exact = (text) => parseExactly(text);

/** The field of each type. `read` converts its text, and throws an Error for a wrong one. */
const TYPES = {
  string: { make: () => el("textarea", { rows: "1" }), read: (text) => text },
  integer: {
    make: () => el("input", { inputmode: "numeric" }),
    read: matching(/^-?\d+$/, "a whole number such as 5"),
  },
  number: {
    make: () => el("input", { inputmode: "decimal" }),
    read: matching(/^-?\d+(\.\d+)?([eE][+-]?\d+)?$/, "a number such as 0.5"),
  },
  boolean: { make: () => options(["true", "false"]), read: (text) => text === "true" },
};
const ANYTHING = { make: () => el("textarea", { rows: "3", class: "code" }), read: asJson };

function matching(pattern, expected) {
  return (text) => {
    if (!pattern.test(text))
      throw new Error(`Expected ${expected}. To send something else, write the arguments as JSON.`);
    return exact(text);
  };
}

function asJson(text) {
  try {
    return exact(text);
  } catch (error) {
    throw new Error(`Not valid JSON: ${error.message}`);
  }
}

const options = (values) =>
  el(
    "select",
    {},
    el("option", { value: "" }, "not given"),
    values.map((value) => el("option", { value }, value)),
  );

function kindOf(property) {
  if (property.enum)
    return {
      make: () => options(property.enum.map(String)),
      read: (text) => property.enum.find((each) => String(each) === text),
    };
  return TYPES[property.type] ?? ANYTHING;
}

export function schemaForm(schema) {
  const required = new Set(schema.required ?? []);
  const fields = Object.entries(schema.properties ?? {}).map(([name, property]) =>
    field(name, property, required.has(name)),
  );
  const node = el(
    "div",
    { class: "arguments" },
    fields.map((each) => each.node),
  );
  if (!fields.length) node.append(el("p", { class: "fine" }, "This tool takes no arguments."));
  return {
    node,
    /** Returns the arguments; null if a field is wrong, which then shows its error. */
    read() {
      const read = fields.map((each) => each.read());
      const wrong = read.findIndex((each) => each.wrong);
      if (wrong >= 0) fields[wrong].focus();
      return wrong >= 0
        ? null
        : Object.fromEntries(read.filter((each) => each.given).map((each) => [each.name, each.value]));
    },
    write: (given) => fields.forEach((each) => each.write(given[each.name])),
  };
}

function field(name, property, isRequired) {
  const kind = kindOf(property);
  const control = kind.make();
  control.name = name;
  if (isRequired) control.setAttribute("aria-required", "true");
  if (property.default !== undefined && "placeholder" in control)
    control.placeholder = JSON.stringify(property.default);
  const problem = el("p", { class: "problem", role: "alert" });
  const type = el("span", { class: "type" }, property.enum ? "one of" : (property.type ?? "JSON"));
  const node = labelled(name, control, { hint: property.description, required: isRequired, beside: type });
  node.append(problem);
  const isText = property.type === "string" && !property.enum;

  function read() {
    const text = isText ? control.value : control.value.trim();
    problem.textContent = "";
    control.removeAttribute("aria-invalid");
    if (text === "" && !(isRequired && isText)) return { name, given: false };
    try {
      return { name, given: true, value: kind.read(text) };
    } catch (error) {
      problem.textContent = error.message;
      control.setAttribute("aria-invalid", "true");
      return { name, wrong: true };
    }
  }

  function write(value) {
    if (value === undefined) control.value = "";
    else control.value = typeof value === "string" && kind !== ANYTHING ? value : pretty(value);
    read();
  }

  return { name, node, read, write, focus: () => control.focus() };
}
