/** The difference between two texts, line by line. Pure. */

const MOST_LINES = 4000;

/** Returns lines marked `same`, `gone` or `come`: a shortest edit from one text to the other. */
export function difference(before, after) {
  const [old, fresh] = [before.split("\n"), after.split("\n")];
  let head = 0;
  while (head < old.length && head < fresh.length && old[head] === fresh[head]) head++;
  let tail = 0;
  while (
    tail < old.length - head &&
    tail < fresh.length - head &&
    old[old.length - 1 - tail] === fresh[fresh.length - 1 - tail]
  ) {
    tail++;
  }
  const same = (text) => ({ kind: "same", text });
  return [
    ...old.slice(0, head).map(same),
    ...middle(old.slice(head, old.length - tail), fresh.slice(head, fresh.length - tail)),
    ...old.slice(old.length - tail).map(same),
  ];
}

function middle(old, fresh) {
  const gone = (text) => ({ kind: "gone", text });
  const come = (text) => ({ kind: "come", text });
  // The table below grows with the product of both lengths.
  if (old.length * fresh.length > MOST_LINES * MOST_LINES) return [...old.map(gone), ...fresh.map(come)];
  const width = fresh.length + 1;
  const common = new Uint16Array((old.length + 1) * width);
  for (let i = old.length - 1; i >= 0; i--) {
    for (let j = fresh.length - 1; j >= 0; j--) {
      common[i * width + j] =
        old[i] === fresh[j]
          ? common[(i + 1) * width + j + 1] + 1
          : Math.max(common[(i + 1) * width + j], common[i * width + j + 1]);
    }
  }
  const lines = [];
  let [i, j] = [0, 0];
  while (i < old.length && j < fresh.length) {
    if (old[i] === fresh[j]) {
      lines.push({ kind: "same", text: old[i++] });
      j++;
    } else if (common[(i + 1) * width + j] >= common[i * width + j + 1]) {
      lines.push(gone(old[i++]));
    } else {
      lines.push(come(fresh[j++]));
    }
  }
  return [...lines, ...old.slice(i).map(gone), ...fresh.slice(j).map(come)];
}

const AROUND = 2;
const FEWEST_LEFT = 3;

/** Replaces long runs of equal lines by `{ kind: "left", lines: n }`. */
export function folded(lines) {
  const near = new Set();
  lines.forEach((line, place) => {
    if (line.kind === "same") return;
    for (let each = place - AROUND; each <= place + AROUND; each++) near.add(each);
  });
  const result = [];
  let far = [];
  const leave = () => {
    result.push(...(far.length < FEWEST_LEFT ? far : [{ kind: "left", lines: far.length }]));
    far = [];
  };
  lines.forEach((line, place) => {
    if (!near.has(place)) return far.push(line);
    leave();
    result.push(line);
  });
  leave();
  return result;
}
