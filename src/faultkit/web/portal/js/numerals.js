/** Numbers and times as text. */

const grouped = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const short = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });
const two = (number) => String(number).padStart(2, "0");

export const count = (number) => grouped.format(number);

/** At most five characters, for axes. */
export const compact = (number) => short.format(number);

export const plural = (number, one, many = `${one}s`) => `${count(number)} ${number === 1 ? one : many}`;

export function milliseconds(ms) {
  if (ms === null || ms === undefined) return "–";
  const s = Math.round(ms / 1000);
  if (ms >= 59_950) return `${Math.floor(s / 60)} min ${s % 60} s`;
  if (ms >= 999.5) return `${figures(ms / 1000)} s`;
  return `${figures(ms)} ms`;
}

/** Three significant digits, without trailing zeros. */
function figures(number) {
  if (number === 0) return "0";
  if (number < 0.01) return "<0.01";
  const digits = number < 1 ? 2 : Math.max(0, 2 - Math.floor(Math.log10(number)));
  return String(Number(number.toFixed(digits)));
}

export function percent(share) {
  if (share > 0 && share < 0.001) return "<0.1%";
  return `${Number((share * 100).toFixed(share < 0.1 ? 1 : 0))}%`;
}

export function bytes(size) {
  if (size < 1024) return plural(size, "byte");
  return size < 1 << 20 ? `${figures(size / 1024)} KB` : `${figures(size / (1 << 20))} MB`;
}

export const clock = (moment, { withSeconds = true, withFractions = false } = {}) =>
  `${two(moment.getHours())}:${two(moment.getMinutes())}` +
  (withSeconds || withFractions ? `:${two(moment.getSeconds())}` : "") +
  (withFractions ? `.${String(moment.getMilliseconds()).padStart(3, "0")}` : "");

export const day = (moment) =>
  moment.toLocaleDateString("en-GB", {
    day: "numeric",
    month: "short",
    ...(moment.getFullYear() === new Date().getFullYear() ? {} : { year: "numeric" }),
  });

const isToday = (moment) => moment.toDateString() === new Date().toDateString();

/** A time; with its day unless that is today. */
export const when = (moment, options) =>
  isToday(moment) ? clock(moment, options) : `${day(moment)} ${clock(moment, options)}`;

const STEPS = [
  ["second", 60],
  ["minute", 60],
  ["hour", 24],
  ["day", 30],
  ["month", 12],
  ["year", Infinity],
];
const relative = new Intl.RelativeTimeFormat("en", { numeric: "auto" });

export function ago(moment, now = new Date()) {
  let amount = (moment - now) / 1000;
  for (const [unit, size] of STEPS) {
    if (Math.abs(amount) < size) return relative.format(Math.round(amount), unit);
    amount /= size;
  }
  return "";
}
