/** Form fields that several views share. */

import { el, fill } from "./dom.js";

let made = 0;
const freshId = () => `field-${++made}`;

export function choice(label, options, chosen) {
  const select = el("select", { id: freshId(), onchange: () => chosen(select.value) });
  const node = el(
    "span",
    { class: "choice" },
    el("label", { for: select.id, class: "unseen" }, label),
    select,
  );
  const offer = (pairs, value = select.value) => {
    // A value from a shared address may be one that the server does not list.
    const all = pairs.some(([each]) => each === value) ? pairs : [...pairs, [value, value]];
    const texts = all.map(([each, text]) => `${each}\n${text}`).join("\n");
    // Filling the list again would close it while the user has it open.
    if (texts !== select.dataset.texts)
      fill(
        select,
        all.map(([each, text]) => el("option", { value: each }, text)),
      );
    select.dataset.texts = texts;
    select.value = value;
  };
  offer(options, options[0][0]);
  return { node, select, offer, set: (value) => offer(optionsOf(select), value) };
}

const optionsOf = (select) => [...select.options].map((option) => [option.value, option.textContent]);

/** A field with its label above and its help text below. */
export function labelled(label, control, { hint, required, beside } = {}) {
  control.id ||= freshId();
  const said = hint ? el("p", { class: "hint", id: `${control.id}-hint` }, hint) : null;
  if (said) control.setAttribute("aria-describedby", said.id);
  return el(
    "div",
    { class: "field" },
    el("label", { for: control.id }, label, required && el("span", { class: "must" }, " required"), beside),
    control,
    said,
  );
}

/** A choice of a few visible values: radio buttons that look like a switch. */
export function segments(legend, options, chosen) {
  const name = freshId();
  const inputs = options.map(([value]) =>
    el("input", { type: "radio", name, value, id: `${name}-${value}`, onchange: () => chosen(value) }),
  );
  const node = el(
    "fieldset",
    { class: "segments" },
    el("legend", { class: "unseen" }, legend),
    inputs.map((input, place) => [input, el("label", { for: input.id }, options[place][1])]),
  );
  return { node, set: (value) => inputs.forEach((input) => (input.checked = input.value === value)) };
}
