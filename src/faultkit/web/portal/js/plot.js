/**
 * The base of a chart over time: grid, ticks, and a cursor for mouse, touch and arrow keys. It is redrawn when its
 * width changes, so that texts keep their size. The caller draws the marks.
 */

import { el, fill, svg } from "./dom.js";
import { clock, day } from "./numerals.js";
import { showsDays, showsSeconds, timeTicks } from "./axis.js";

const HEIGHT = 190;
const EDGE = { left: 60, right: 10, top: 10, bottom: 24 };
const TICK_WIDTH = 76;

/**
 * `scale(points)` returns { ticks, at(value), label(tick) } with `at` from 0 to 1; `marks(points, plane)` draws;
 * `read(point)` describes a point as text and rows; `open(point)` is called on Enter and click.
 */
export function plot({ title, scale, marks, read, open }) {
  const drawing = svg("svg", { class: "drawing", height: HEIGHT, role: "img" });
  const reading = el("div", { class: "reading", hidden: true });
  const node = el(
    "div",
    { class: "plot", tabindex: "0", role: "slider", "aria-label": title, "aria-roledescription": "chart" },
    drawing,
    reading,
  );
  let shown = null;
  let plane = null;
  let cursor = null;

  function draw() {
    const width = node.clientWidth;
    if (!shown?.points.length || !width) return;
    plane = planeOf(width, shown, scale(shown.points));
    drawing.setAttribute("width", width);
    fill(drawing, svg("title", {}, title), grid(plane), timeAxis(plane), marks(shown.points, plane));
    node.setAttribute("aria-valuemin", 0);
    node.setAttribute("aria-valuemax", shown.points.length - 1);
    point(cursor);
  }

  function point(place) {
    drawing.querySelector(".cursor")?.remove();
    cursor = place === null || place >= shown.points.length ? null : place;
    reading.hidden = cursor === null;
    const last = shown.points.length - 1;
    node.setAttribute("aria-valuenow", cursor ?? last);
    node.setAttribute("aria-valuetext", read(shown.points[cursor ?? last]).text);
    if (cursor === null) return;
    const each = shown.points[cursor];
    const x = plane.x(each.at + shown.step / 2);
    drawing.append(svg("line", { class: "cursor", x1: x, x2: x, y1: EDGE.top, y2: plane.foot }));
    fill(reading, el("strong", {}, spanOf(each.at, shown.step)), read(each).rows);
    const atRight = x > plane.width / 2;
    reading.style.left = atRight ? "" : `${x + 10}px`;
    reading.style.right = atRight ? `${plane.width - x + 10}px` : "";
  }

  const placeAt = (event) => {
    const share = (event.clientX - node.getBoundingClientRect().left - EDGE.left) / plane.inner;
    const place = Math.floor((share * (shown.to - shown.from)) / shown.step);
    return Math.min(Math.max(place, 0), shown.points.length - 1);
  };

  node.addEventListener("pointermove", (event) => plane && point(placeAt(event)));
  node.addEventListener("pointerleave", () => plane && point(null));
  node.addEventListener("blur", () => plane && point(null));
  node.addEventListener("click", (event) => {
    // A touch cannot hover, so it only moves the cursor; the keyboard and the table open a point.
    if (event.pointerType !== "touch" && plane) open(shown.points[placeAt(event)], shown.step);
  });
  node.addEventListener("keydown", (event) => {
    if (!plane) return;
    const last = shown.points.length - 1;
    const to = {
      ArrowLeft: (cursor ?? last + 1) - 1,
      ArrowRight: (cursor ?? last - 1) + 1,
      Home: 0,
      End: last,
    };
    if (event.key in to) point(Math.min(Math.max(to[event.key], 0), last));
    else if (event.key === "Enter" && cursor !== null) open(shown.points[cursor], shown.step);
    else return;
    event.preventDefault();
  });
  new ResizeObserver(draw).observe(node);

  return {
    node,
    show(series) {
      shown = series;
      draw();
    },
  };
}

function planeOf(width, { from, to, step }, { ticks, at, label }) {
  const inner = width - EDGE.left - EDGE.right;
  const depth = HEIGHT - EDGE.top - EDGE.bottom;
  return {
    width,
    inner,
    from,
    to,
    step,
    ticks,
    label,
    foot: HEIGHT - EDGE.bottom,
    x: (moment) => EDGE.left + ((moment - from) / (to - from)) * inner,
    y: (value) => HEIGHT - EDGE.bottom - at(value) * depth,
  };
}

const grid = (plane) =>
  plane.ticks.map((tick) => [
    svg("line", {
      class: "grid",
      x1: EDGE.left,
      x2: plane.width - EDGE.right,
      y1: plane.y(tick),
      y2: plane.y(tick),
    }),
    svg(
      "text",
      { class: "tick", x: EDGE.left - 8, y: plane.y(tick) + 4, "text-anchor": "end" },
      plane.label(tick),
    ),
  ]);

function timeAxis(plane) {
  const { ticks, step } = timeTicks(plane.from, plane.to, Math.max(2, Math.floor(plane.inner / TICK_WIDTH)));
  const text = (tick) => {
    const moment = new Date(tick);
    return showsDays(step) ? day(moment) : clock(moment, { withSeconds: showsSeconds(step) });
  };
  // A label that would reach over the edge is left out.
  return ticks
    .filter((tick) => plane.x(tick) > EDGE.left + 12 && plane.x(tick) < plane.width - 26)
    .map((tick) =>
      svg("text", { class: "tick", x: plane.x(tick), y: HEIGHT - 6, "text-anchor": "middle" }, text(tick)),
    );
}

export function spanOf(at, step) {
  const [from, to] = [new Date(at), new Date(at + step)];
  const withSeconds = step < 60_000 || at % 60_000 !== 0;
  return `${day(from)} ${clock(from, { withSeconds })} – ${clock(to, { withSeconds })}`;
}
