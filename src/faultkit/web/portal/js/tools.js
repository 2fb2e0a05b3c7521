/** The view to try tools: the list of tools, a form for one of them, and its result. */

import { ask, askCall } from "./api.js";
import { answer } from "./answer.js";
import { argumentsEditor } from "./arguments.js";
import { button, el, fill, sign } from "./dom.js";
import { announce } from "./notice.js";
import { milliseconds } from "./numerals.js";
import { address } from "./route.js";
import { missing } from "./session.js";
import { empty, failed, waiting } from "./states.js";

export function toolsView(place) {
  const list = el("nav", { class: "tool-list scroll", "aria-label": "Tools" }, waiting(12));
  const bench = el("div", { class: "bench" });
  fill(
    place,
    el("div", { class: "heading" }, el("h1", { tabindex: "-1" }, "Tools")),
    el("div", { class: "tools" }, list, bench),
  );

  let served = null;
  let settings = new URLSearchParams();
  let shown = null;
  let running = new AbortController();

  async function load() {
    try {
      served = await ask("portal/tools");
      show();
    } catch (error) {
      fill(list);
      fill(bench, failed(error, load));
    }
  }

  function show() {
    const wanted = settings.get("tool") ?? served.tools[0]?.name;
    fill(
      list,
      served.groups.map((group) =>
        toolGroup(
          group,
          served.tools.filter((tool) => tool.group === group),
          wanted,
        ),
      ),
    );
    // On a phone the list is one line that scrolls.
    list.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest", inline: "nearest" });
    const given = settings.get("arguments");
    if (shown === `${wanted} ${given}`) return;
    shown = `${wanted} ${given}`;
    running.abort();
    running = new AbortController();
    const tool = served.tools.find((each) => each.name === wanted);
    fill(
      bench,
      tool
        ? workbench(tool, given, running.signal)
        : empty("No such tool", `This server does not serve “${wanted}”.`),
    );
  }

  load();
  return {
    title: "Tools",
    update(next) {
      settings = next;
      if (served) show();
    },
    leave: () => running.abort(),
  };
}

const toolGroup = (group, tools, current) =>
  tools.length > 0 && [
    el("h2", {}, group),
    el(
      "ul",
      {},
      tools.map(({ name }) =>
        el(
          "li",
          {},
          el(
            "a",
            { href: address("tools", { tool: name }), "aria-current": name === current ? "true" : null },
            name,
          ),
        ),
      ),
    ),
  ];

const HINTS = {
  readOnlyHint: "only reads",
  idempotentHint: "idempotent",
  destructiveHint: "destroys",
  openWorldHint: "reaches out",
};

function workbench(tool, given, left) {
  const editor = argumentsEditor(tool.inputSchema, given);
  const why = missing("call");
  const run = el("button", { class: "primary", disabled: why !== null, title: why }, sign("play"), "Call");
  const stop = button("Cancel", () => calling.abort(), { hidden: true });
  const elapsed = el("span", { class: "fine", "aria-hidden": "true" });
  const place = el(
    "section",
    { class: "card answer", "aria-label": "Answer", "aria-live": "polite" },
    empty("No answer yet", "Fill in the form and call the tool."),
  );
  let calling = new AbortController();
  left.addEventListener("abort", () => calling.abort());

  async function call(event) {
    event.preventDefault();
    const args = editor.read();
    if (args === null || why !== null) return;
    calling.abort();
    const mine = (calling = new AbortController());
    [run.disabled, stop.hidden] = [true, false];
    const began = performance.now();
    const ticking = setInterval(
      () => (elapsed.textContent = milliseconds(Math.round(performance.now() - began))),
      100,
    );
    // Delayed: most answers arrive before the text could be read.
    const soon = setTimeout(() => fill(place, empty("Under way", "Waiting for the result.")), 300);
    try {
      const { plain, exact } = await askCall(`admin/tryit/${encodeURIComponent(tool.name)}`, {
        body: { arguments: args },
        signal: mine.signal,
      });
      clearTimeout(soon);
      fill(place, answer(exact, plain.duration_ms));
      place.scrollIntoView({ block: "nearest" });
    } catch (error) {
      clearTimeout(soon);
      fill(
        place,
        error.name === "AbortError"
          ? empty("Cancelled", "The call was cancelled. Its row shows how far it got.")
          : failed(error),
      );
      if (error.name === "AbortError") announce("Cancelled");
    }
    clearInterval(ticking);
    elapsed.textContent = "";
    [run.disabled, stop.hidden] = [false, true];
  }

  const hints = Object.entries(tool.annotations ?? {}).filter(
    ([name, holds]) => holds === true && HINTS[name],
  );
  const node = el(
    "form",
    { class: "card try", "aria-labelledby": "tool-name", novalidate: true, onsubmit: call },
    el(
      "div",
      { class: "part-head" },
      el("h2", { id: "tool-name" }, tool.name),
      hints.map(([name]) => el("span", { class: "badge calm" }, HINTS[name])),
      editor.mode,
    ),
    el("p", { class: "description" }, tool.description),
    editor.node,
    el("div", { class: "actions" }, run, stop, elapsed, why && el("span", { class: "fine" }, why)),
  );
  node.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) node.requestSubmit();
  });
  return [node, place];
}
