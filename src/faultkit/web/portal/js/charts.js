/** The two charts over time, number of calls and duration, each with its figures as a table. */

import { el, fill, svg } from "./dom.js";
import { countTicks, decadeTicks } from "./axis.js";
import { compact, count, milliseconds, percent, plural } from "./numerals.js";
import { plot, spanOf } from "./plot.js";
import { headOf, noRow, rowOf, scrolled } from "./tables.js";

const LATENCIES = [
  { name: "p50", field: "p50_duration_ms" },
  { name: "p95", field: "p95_duration_ms" },
  { name: "p99", field: "p99_duration_ms" },
];

/** Returns the points of the server's `series`, with times as numbers. */
export function seriesOf({ points, bucket_s: bucketS }) {
  const step = bucketS * 1000;
  const timed = points.map((point) => ({ ...point, at: Date.parse(point.time) }));
  const from = timed[0]?.at ?? 0;
  return { points: timed, step, from, to: from + timed.length * step };
}

export const callsChart = (open) =>
  figure({
    title: "Calls over time",
    heading: "Calls",
    keys: [
      ["good", "answered"],
      ["errors", "failed"],
    ],
    columns: ["Calls", "Failed"],
    cells: (point) => [count(point.count), count(point.errors)],
    scale(points) {
      const ticks = countTicks(Math.max(1, ...points.map((point) => point.count)), 3);
      return { ticks, at: (value) => value / ticks.at(-1), label: compact };
    },
    marks: (points, plane) => points.map((point) => column(point, plane)),
    read: (point) => ({
      text: `${plural(point.count, "call")}, ${count(point.errors)} failed`,
      rows: [
        reading("good", "answered", count(point.count - point.errors)),
        reading(
          "errors",
          "failed",
          point.errors ? `${count(point.errors)} (${percent(point.error_rate)})` : "0",
        ),
      ],
    }),
    open,
  });

export const latencyChart = (open) =>
  figure({
    title: "Duration of calls over time",
    heading: "Duration",
    keys: LATENCIES.map(({ name }) => [name, name]),
    note: "each line is ten times the one below",
    columns: LATENCIES.map(({ name }) => name),
    cells: (point) => LATENCIES.map(({ field }) => (point.count ? milliseconds(point[field]) : "–")),
    scale(points) {
      const busy = points.filter((point) => point.count);
      const least = Math.min(...busy.map((point) => point.p50_duration_ms), 1);
      const ticks = decadeTicks(least, Math.max(...busy.map((point) => point.p99_duration_ms), 1));
      const [low, high] = [Math.log10(ticks[0]), Math.log10(ticks.at(-1))];
      const at = (value) => Math.max(0, (Math.log10(Math.max(value, ticks[0])) - low) / (high - low));
      return { ticks, at, label: milliseconds };
    },
    marks: (points, plane) => [
      band(points, plane),
      LATENCIES.toReversed().map((each) => line(points, plane, each)),
    ],
    read: (point) => ({
      text: point.count
        ? LATENCIES.map(({ name, field }) => `${name} ${milliseconds(point[field])}`).join(", ")
        : "no calls",
      rows: point.count
        ? LATENCIES.map(({ name, field }) => reading(name, name, milliseconds(point[field])))
        : el("span", {}, "no calls"),
    }),
    open,
  });

function figure({ title, heading, keys, note, columns, cells, marks, ...drawn }) {
  const drawAll = (points, plane) =>
    points.some((point) => point.count) ? marks(points, plane) : nothing(plane);
  const plane = plot({ title, marks: drawAll, ...drawn });
  const heads = [["Time"], ...columns.map((name) => [name, "n"])];
  const body = el("tbody");
  const node = el(
    "figure",
    { class: "card chart" },
    el(
      "figcaption",
      {},
      el("h3", {}, heading),
      el(
        "span",
        { class: "legend" },
        keys.map(([kind, text]) => el("span", {}, el("i", { class: `key ${kind}` }), text)),
      ),
      note && el("span", { class: "fine" }, note),
    ),
    plane.node,
    el(
      "details",
      { class: "as-table" },
      el("summary", {}, "As a table"),
      scrolled(title, el("table", {}, headOf(heads), body)),
    ),
  );
  return {
    node,
    show(series) {
      plane.show(series);
      const busy = series.points.filter((point) => point.count).toReversed();
      const rows = busy.map((point) => rowOf(heads, [spanOf(point.at, series.step), ...cells(point)]));
      fill(body, rows.length ? rows : noRow(heads, "No calls."));
    },
  };
}

const nothing = (plane) =>
  svg(
    "text",
    { class: "nothing", x: plane.x((plane.from + plane.to) / 2), y: plane.foot / 2, "text-anchor": "middle" },
    "No calls in this time",
  );

const reading = (kind, name, value) =>
  el("span", { class: "read" }, el("i", { class: `key ${kind}` }), name, el("b", {}, value));

function column(point, plane) {
  if (!point.count) return null;
  const left = plane.x(point.at);
  const wide = plane.x(point.at + plane.step) - left;
  const gap = Math.min(2, wide * 0.2);
  const bar = (kind, from, to) => {
    // At least 2 pixels, so that one failure among thousands is visible.
    const height = Math.max(plane.y(from) - plane.y(to), 2);
    return svg("rect", {
      class: `column ${kind}`,
      x: left + gap / 2,
      width: wide - gap,
      y: plane.y(from) - height,
      height,
      rx: Math.min(1.5, wide / 4),
    });
  };
  return [
    point.count > point.errors && bar("good", point.errors, point.count),
    point.errors > 0 && bar("errors", 0, point.errors),
  ];
}

/** Runs of adjacent points with calls. A line through points without calls would show values that do not exist. */
function stretches(points) {
  const found = [[]];
  for (const point of points) {
    if (point.count) found.at(-1).push(point);
    else if (found.at(-1).length) found.push([]);
  }
  return found.filter((stretch) => stretch.length);
}

const way = (stretch, plane, field) =>
  stretch
    .map((point) => `${plane.x(point.at + plane.step / 2).toFixed(1)},${plane.y(point[field]).toFixed(1)}`)
    .join("L");

/** The area between p50 and p95. */
const band = (points, plane) =>
  svg("path", {
    class: "band",
    d: stretches(points)
      .map(
        (each) =>
          `M${way(each, plane, "p50_duration_ms")}L${way(each.toReversed(), plane, "p95_duration_ms")}Z`,
      )
      .join(""),
  });

function line(points, plane, { name, field }) {
  const all = stretches(points);
  const alone = all.filter((each) => each.length === 1).map(([point]) => point);
  return [
    svg("path", { class: `line ${name}`, d: all.map((each) => `M${way(each, plane, field)}`).join("") }),
    alone.map((point) =>
      svg("circle", {
        class: `dot ${name}`,
        cx: plane.x(point.at + plane.step / 2),
        cy: plane.y(point[field]),
        r: 2.5,
      }),
    ),
  ];
}
