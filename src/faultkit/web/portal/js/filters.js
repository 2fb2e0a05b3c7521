/**
 * The filters of calls: a form, and a chip for each active filter. A change of the filters only changes the address;
 * the views of rows follow the address.
 */

import { button, el, fill, sign, unseen } from "./dom.js";
import { choice, labelled, segments } from "./fields.js";
import { when } from "./numerals.js";
import { RANGES, fromLocal, localText } from "./ranges.js";
import { changed } from "./route.js";

/** Settings of the view that are not filters. */
const NOT_FILTERS = new Set(["call", "live"]);
const OWN = {
  tool: "Tool",
  user: "User",
  session: "Session",
  category: "Category",
  source: "Source",
  key: "Key",
  auth_type: "Signed in by",
};
const CUSTOM = "custom";
const LATER_MS = 300;

export const filtersOf = (settings) =>
  new URLSearchParams([...settings].filter(([name]) => !NOT_FILTERS.has(name)));

export function filterForm(set) {
  let settings = new URLSearchParams();
  let typing = 0;
  const change = (changes) => set(changed(settings, changes));

  const text = el("input", {
    type: "search",
    id: "filter",
    placeholder: "Search tool, error or user",
    "aria-label": "Search tool, error or user",
    "aria-keyshortcuts": "/",
    autocomplete: "off",
    spellcheck: "false",
    oninput() {
      clearTimeout(typing);
      typing = setTimeout(() => change({ q: text.value.trim() }), LATER_MS);
    },
  });
  const tool = choice("Tool", [["", "All tools"]], (value) => change({ tool: value }));
  const outcome = segments(
    "Outcome",
    [
      ["", "All"],
      ["true", "Ok"],
      ["false", "Failed"],
    ],
    (value) => change({ success: value }),
  );
  const range = choice(
    "Time",
    [["", "Any time"], ...RANGES.map(([value, name]) => [value, `Last ${name}`]), [CUSTOM, "From … to …"]],
    (value) => {
      if (value === CUSTOM) openMore(from);
      else change({ from: value, to: null });
    },
  );

  const user = el("input", {
    list: "users",
    autocomplete: "off",
    onchange: () => change({ user: user.value }),
  });
  const session = el("input", { autocomplete: "off", onchange: () => change({ session: session.value }) });
  const category = el("input", {
    list: "categories",
    autocomplete: "off",
    onchange: () => change({ category: category.value }),
  });
  const from = el("input", {
    type: "datetime-local",
    step: "1",
    onchange: () => change({ from: fromLocal(from.value) }),
  });
  const to = el("input", {
    type: "datetime-local",
    step: "1",
    onchange: () => change({ to: fromLocal(to.value) }),
  });
  const path = el("input", {
    placeholder: "param.seed",
    list: "paths",
    autocomplete: "off",
    spellcheck: "false",
    "aria-label": "Where to look",
  });
  const value = el("input", {
    placeholder: "abc",
    autocomplete: "off",
    spellcheck: "false",
    "aria-label": "Value to find",
  });
  const [users, categories] = [el("datalist", { id: "users" }), el("datalist", { id: "categories" })];
  const paths = el(
    "datalist",
    { id: "paths" },
    ["param.", "response.", "header.", "has"].map((each) => el("option", { value: each })),
  );

  const more = el(
    "div",
    { class: "more-filters", id: "more-filters", hidden: true },
    labelled("From", from),
    labelled("To", to),
    labelled("User", user),
    labelled("Session", session),
    labelled("Category of error", category),
    el(
      "form",
      { class: "field path", onsubmit: addPath },
      el("label", {}, "What was said"),
      el(
        "span",
        { class: "inline" },
        path,
        el("span", { "aria-hidden": "true" }, "="),
        value,
        el("button", { class: "small" }, "Add"),
      ),
      el("p", { class: "hint" }, "param.seed = abc, response.isError = true, header.User-Agent = …"),
    ),
    users,
    categories,
    paths,
  );
  const opener = button([sign("more"), "More filters"], () => (more.hidden ? openMore(from) : closeMore()), {
    class: "quiet",
    "aria-expanded": "false",
    "aria-controls": more.id,
  });
  const chips = el("ul", { class: "chips", "aria-label": "Active filters" });

  function openMore(first) {
    more.hidden = false;
    opener.setAttribute("aria-expanded", "true");
    first.focus();
  }

  function closeMore() {
    more.hidden = true;
    opener.setAttribute("aria-expanded", "false");
  }

  function addPath(event) {
    event.preventDefault();
    const name = path.value.trim();
    if (!name) return;
    const next = new URLSearchParams(settings);
    // A name without a prefix is an argument, which is searched for most often.
    next.append(/^(param|response|header)\.|^has$/.test(name) ? name : `param.${name}`, value.value);
    [path.value, value.value] = ["", ""];
    set(next);
  }

  const node = el(
    "search",
    { class: "filters" },
    el(
      "div",
      { class: "filter-row" },
      el("span", { class: "seek" }, sign("search"), text, el("kbd", { "aria-hidden": "true" }, "/")),
      tool.node,
      outcome.node,
      range.node,
      opener,
    ),
    more,
    chips,
  );

  return {
    node,
    focus: () => (text.focus(), text.select()),
    offer({ tools, users: names, categories: kinds }) {
      tool.offer([["", "All tools"], ...tools.map((each) => [each, each])]);
      fill(
        users,
        names.map((each) => el("option", { value: each })),
      );
      fill(
        categories,
        kinds.map((each) => el("option", { value: each })),
      );
    },
    show(next) {
      settings = next;
      const at = (name) => settings.get(name) ?? "";
      if (document.activeElement !== text) text.value = at("q");
      tool.set(at("tool"));
      outcome.set(at("success"));
      const isCustom =
        at("to") !== "" || (at("from") !== "" && !RANGES.some(([each]) => each === at("from")));
      range.set(isCustom ? CUSTOM : at("from"));
      [user.value, session.value, category.value] = [at("user"), at("session"), at("category")];
      [from.value, to.value] = [localText(at("from")), localText(at("to"))];
      fill(chips, chipsOf(settings, set));
    },
  };
}

function chipsOf(settings, set) {
  const held = [...filtersOf(settings)];
  if (!held.length) return [];
  const chip = ([name, text], place) =>
    el(
      "li",
      { class: "chip" },
      el("span", {}, `${OWN[name] ?? SAID[name] ?? name}: `, el("b", {}, shown(name, text))),
      button([sign("close"), unseen(`Remove the filter ${name} ${text}`)], () => {
        const others = held.filter((_, each) => each !== place);
        set(new URLSearchParams([...others, ...[...settings].filter(([each]) => NOT_FILTERS.has(each))]));
      }),
    );
  const none = () => set(new URLSearchParams([...settings].filter(([name]) => NOT_FILTERS.has(name))));
  return [
    ...held.map(chip),
    held.length > 1 && el("li", {}, button("Clear all", none, { class: "quiet small" })),
  ];
}

const SAID = { q: "Text", success: "Outcome", from: "From", to: "To" };

function shown(name, text) {
  if (name === "success") return text === "true" ? "ok" : "failed";
  if ((name === "from" || name === "to") && /^\d{4}-/.test(text)) return when(new Date(text));
  return name === "from" || name === "to" ? `${text} ago` : text;
}
