/** Positions of the ticks of an axis. Pure. */

/** Whole numbers from 0 to at least `most`, in steps of 1, 2 or 5 times a power of ten. */
export function countTicks(most, wanted = 4) {
  const rough = Math.max(1, most / wanted);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].find((each) => each * power >= rough) * power;
  const ticks = [];
  for (let tick = 0; tick < most + step; tick += step) ticks.push(tick);
  return ticks.length < 2 ? [0, step] : ticks;
}

/** Smallest duration that is shown, in milliseconds; smaller ones count as this. */
const LEAST = 0.01;

/** At least two powers of ten, around two values. */
export function decadeTicks(least, most) {
  const low = Math.floor(Math.log10(Math.max(least, LEAST)));
  const high = Math.max(low + 1, Math.ceil(Math.log10(Math.max(most, LEAST))));
  return Array.from({ length: high - low + 1 }, (_, place) => 10 ** (low + place));
}

const [SECOND, MINUTE, HOUR, DAY] = [1_000, 60_000, 3_600_000, 86_400_000];
const TIME_STEPS = [
  ...[1, 2, 5, 10, 15, 30].map((each) => each * SECOND),
  ...[1, 2, 5, 10, 15, 30].map((each) => each * MINUTE),
  ...[1, 2, 3, 6, 12].map((each) => each * HOUR),
  ...[1, 2, 5, 7, 14, 30].map((each) => each * DAY),
];

/** At most `most` full minutes, hours or days of local time. */
export function timeTicks(from, to, most) {
  const step = TIME_STEPS.find((each) => (to - from) / each < most + 0.5) ?? TIME_STEPS.at(-1);
  const shift = new Date(from).getTimezoneOffset() * MINUTE;
  const first = Math.ceil((from - shift) / step) * step + shift;
  const ticks = [];
  for (let tick = first; tick <= to; tick += step) ticks.push(tick);
  return { ticks, step };
}

export const showsSeconds = (step) => step < MINUTE;
export const showsDays = (step) => step >= DAY;
