/**
 * Creates elements. A text always becomes a text node, so what a caller sent can never become markup.
 */

const SVG = "http://www.w3.org/2000/svg";

export const el = (name, attributes, ...children) =>
  filled(document.createElement(name), attributes, children);

export const svg = (name, attributes, ...children) =>
  filled(document.createElementNS(SVG, name), attributes, children);

/** `onclick` and the like are listeners; true is an attribute without a value; false and null are left out. */
function filled(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(
    ...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false),
  );
  return node;
}

export function fill(node, ...children) {
  node.replaceChildren();
  return filled(node, {}, children);
}

export const button = (text, onclick, attributes = {}) =>
  el("button", { type: "button", onclick, ...attributes }, text);

/** Text for screen readers only. */
export const unseen = (text) => el("span", { class: "unseen" }, text);

/** An icon of our own set, in the colour of the surrounding text. */
export const sign = (name) =>
  svg("svg", { class: "sign", viewBox: "0 0 16 16", "aria-hidden": "true" }, svg("path", { d: SIGNS[name] }));

const SIGNS = {
  good: "M3.5 8.5l3 3 6-7",
  bad: "M4.5 4.5l7 7m0-7l-7 7",
  close: "M4 4l8 8m0-8l-8 8",
  search: "M7 2.5a4.5 4.5 0 1 0 0 9a4.5 4.5 0 0 0 0-9zm3.4 7.9L14 14",
  replay: "M3 8a5 5 0 1 0 1.6-3.7M3 2.2v3h3",
  link: "M6.5 9.5l3-3M5 8L3.6 9.4a2.2 2.2 0 0 0 3.1 3.1L8 11M8 5l1.3-1.5a2.2 2.2 0 0 1 3.1 3.1L11 8",
  copy: "M6 5.5V3h7v7h-2.5M3 6h7v7H3z",
  play: "M5 3l8 5-8 5z",
  more: "M2.5 4.5h11M4.5 8h7M6.5 11.5h3",
  older: "M6 3l5 5-5 5",
  newer: "M10 3L5 8l5 5",
};
