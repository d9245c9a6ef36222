// Plots as SVG: lines over steps or time, and a treemap.
import { el, numberText, plural, shown, svg } from "./elements.js";

const COLOURS = 6; // of lines, told apart by dashes, too
const [WIDTH, HEIGHT, LEFT] = [520, 200, 64];

function ticks(low, high, count) {
  const rough = (high - low) / count || 1;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((each) => each >= rough);
  const first = Math.ceil(low / step) * step;
  const more = Math.floor((high - first) / step + 1e-6); // of huge numbers one more may be the same number
  return Array.from({ length: Math.max(0, Math.min(more, 20) + 1) }, (_, k) => first + k * step);
}

const plainText = (value) => (Number.isInteger(value) ? value.toLocaleString("en") : numberText(value));

// Nothing where there are no points. `series`: [{name, points: [[x, y], ...]}], in the order of x; points whose y is no
// finite number leave gaps. `stays`: a value stays until the next one.
export function lineChart({ title, unit, series, yText = plainText, stays = false, fromZero = false }) {
  const all = series.flatMap((each) => each.points).filter(([, y]) => Number.isFinite(y));
  if (all.length === 0) return null;
  const extreme = (k, of) => all.reduce((best, point) => of(best, point[k]), all[0][k]);
  const extent = (k) => [extreme(k, Math.min), extreme(k, Math.max)];
  const [[left, right], [least, high]] = [extent(0), extent(1)];
  const low = fromZero ? Math.min(0, least) : least;
  const room = (high - low || Math.abs(high) || 1) * 0.05;
  const x = (at) => LEFT + ((at - left) / (right - left || 1)) * (WIDTH - LEFT - 8);
  const bottom = fromZero ? low : low - room;
  const y = (at) => 8 + ((high + room - at) / (high + room - bottom)) * (HEIGHT - 16);
  const parts = ticks(low, high, 4).flatMap((at) => [
    svg("line.grid", { x1: LEFT, x2: WIDTH - 8, y1: y(at), y2: y(at) }),
    svg("text", { x: LEFT - 6, y: y(at) + 4, "text-anchor": "end" }, yText(at)),
  ]);
  for (const at of ticks(left, right, 6)) {
    parts.push(svg("text", { x: x(at), y: HEIGHT + 14, "text-anchor": "middle" }, numberText(at)));
  }
  series.forEach((each, k) => {
    let path = "";
    let before = null;
    for (const point of each.points) {
      const isThere = Number.isFinite(point[1]);
      if (isThere && before && stays) path += `H${x(point[0]).toFixed(1)}`;
      if (isThere) path += `${before ? "L" : "M"}${x(point[0]).toFixed(1)} ${y(point[1]).toFixed(1)}`;
      before = isThere ? point : null;
    }
    parts.push(svg(`path.line.c${k % COLOURS}`, { d: path }, svg("title", shown(each.name, 80))));
    if (each.points.length > 60) return;
    for (const [at, value] of each.points.filter((point) => Number.isFinite(point[1]))) {
      const text = `${shown(each.name, 60)}: ${yText(value)} at ${numberText(at)}`;
      parts.push(svg(`circle.c${k % COLOURS}`, { cx: x(at), cy: y(value), r: 2.5 }, svg("title", text)));
    }
  });
  const over = `${unit} ${numberText(left)} to ${numberText(right)}`;
  const label = `${title}: from ${yText(least)} to ${yText(high)}, over ${over}`;
  const keys = series.map((each, k) => [el(`span.line.c${k % COLOURS}`), el("bdi", ` ${shown(each.name, 60)}  `)]);
  return el(
    "figure.card.plot",
    el("h2", title),
    svg("svg.lines", { viewBox: `0 0 ${WIDTH} ${HEIGHT + 20}`, role: "img", "aria-label": label }, parts),
    el("figcaption", series.length > 1 ? keys : null, el("span.quiet", `over ${unit}`)),
  );
}

// Areas that are as large as their amounts: slices of a box, cut where both halves are nearest to equal.
// `items`: [{name, amount, text, kind}], the largest first.
export function treemap(items, label) {
  const [width, height] = [1000, 420];
  const parts = [];
  const total = items.reduce((sum, item) => sum + item.amount, 0);
  const place = (from, end, sum, x, y, w, h) => {
    if (end - from === 1) {
      const item = items[from];
      const box = { x, y, width: w, height: h };
      const title = svg("title", `${shown(item.name)}: ${item.text}`);
      const letters = Math.floor((w - 10) / 7.5);
      const name = letters > 5 && h > 16 ? svg("text", { x: x + 5, y: y + 14 }, shown(item.name, letters)) : null;
      parts.push(svg("g", svg(`rect.${item.kind}`, box, title), name));
      return;
    }
    let [middle, half] = [from + 1, items[from].amount];
    while (middle + 1 < end && half + items[middle].amount / 2 < sum / 2) half += items[middle++].amount;
    const share = sum > 0 ? half / sum : 0.5;
    if (w >= h) {
      place(from, middle, half, x, y, w * share, h);
      place(middle, end, sum - half, x + w * share, y, w * (1 - share), h);
    } else {
      place(from, middle, half, x, y, w, h * share);
      place(middle, end, sum - half, x, y + h * share, w, h * (1 - share));
    }
  };
  if (total > 0) place(0, items.length, total, 0, 0, width, height);
  const words = `${label}: ${plural(items.length, "area")}`;
  return svg("svg.treemap", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": words }, parts);
}
