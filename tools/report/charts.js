// Small charts, as SVG: bars of parts, and how values spread over powers of two.
import { el, numberText, plural, svg } from "./elements.js";

const barBox = { viewBox: "0 0 100 10", preserveAspectRatio: "none" };

// A bar of nodes by type.
export function typeBar(data, { low, high, other }, place = {}) {
  const parts = [["low", low, data.dtype], ["high", high, "float32"], ["other", other, "no float"]];
  const total = low + high + other || 1;
  let x = 0;
  const bars = parts.map(([name, amount]) => {
    const width = (amount / total) * 100;
    x += width;
    return svg(`rect.${name}`, { x: x - width, y: 0, width, height: 10 });
  });
  const label = parts.map(([, amount, name]) => `${name}: ${amount.toLocaleString("en")}`).join(", ");
  return svg("svg.parts", { ...barBox, ...place, role: "img", "aria-label": label }, bars);
}

// Two bars, one below the other, of what was before and is after.
export function beforeAfter(before, after, text) {
  const most = Math.max(before, after, 1);
  const row = (name, kind, amount) => {
    const bar = svg(`rect.${kind}`, { width: (amount / most) * 100, height: 10 });
    const bars = svg("svg.parts", { ...barBox, "aria-hidden": "true" }, bar);
    return el("div.row", el("span", name), bars, el("b", text(amount)));
  };
  return el("div.beforeafter", row("before", "high", before), row("after", "low", after));
}

// Exponents of the smallest number that is not rounded to 0, of the smallest normal one, and of the largest.
const RANGES = { float16: [-24, -14, 15], bfloat16: [-133, -126, 127] };

// Whether anybody counted them. A file of --ranges has largest values alone, and Python's rewrite_file counts those of
// weights only for a page that it writes.
const areCounted = ({ bins, zeros, notFinite }) => bins.length + zeros + notFinite > 0;

// The column of a table whose rows have exponents; none where nobody counted any, and a note that says so.
export function exponentColumn(rows, dtype, uncounted) {
  const cell = (row) => exponentChart(row.exponents, dtype, false);
  if (rows.some((row) => areCounted(row.exponents))) {
    return { columns: [{ title: "exponents", value: (row) => row.exponents.first, cell }], note: null };
  }
  return { columns: [], note: rows.length ? el("p.quiet", uncounted) : null };
}

// The histogram of a weight's exponents beside the range of the low type. `large`: with axis and words.
export function exponentChart(exponents, dtype, large) {
  const { first, width, bins, zeros, notFinite } = exponents;
  if (!areCounted(exponents)) return "";
  const [least, normal, last] = RANGES[dtype] || RANGES.float16;
  if (bins.length === 0) {
    const rest = notFinite ? `${plural(notFinite, "element")} not finite` : "";
    return el("span.quiet", zeros && rest ? `zeros, and ${rest}` : rest || "only zeros");
  }
  const behind = first + bins.length * width;
  const begin = dtype === "float16" ? Math.min(first, least - 4) : first - 4;
  const end = dtype === "float16" ? Math.max(behind, last + 3) : behind + 4;
  const [w, h] = large ? [560, 150] : [120, 22];
  const x = (exponent) => ((Math.min(Math.max(exponent, begin), end) - begin) / (end - begin)) * w;
  const most = Math.max(...bins);
  const zone = (name, from, to) =>
    x(to) > x(from) ? svg(`rect.${name}`, { x: x(from), y: 0, width: x(to) - x(from), height: h }) : null;
  const parts = [zone("lost", begin, least), zone("coarse", least, normal), zone("lost", last + 1, end)];
  bins.forEach((count, i) => {
    if (count === 0) return;
    const height = Math.max(1, (Math.log1p(count) / Math.log1p(most)) * (h - (large ? 10 : 2)));
    const from = first + i * width;
    const box = { x: x(from) + 0.5, y: h - height, width: Math.max(1, x(from + width) - x(from) - 1), height };
    parts.push(svg("rect.bin", box, svg("title", `${plural(count, "element")} from 2^${from} to 2^${from + width}`)));
  });
  const label = `Exponents from 2^${first} to 2^${behind}; ${dtype} holds 2^${least} to 2^${last + 1}`;
  const names = { role: "img", "aria-label": label };
  if (!large) return svg("svg.spark", { ...names, viewBox: `0 0 ${w} ${h}`, width: w, height: h }, parts);
  const step = Math.ceil((end - begin) / 10);
  for (let e = Math.ceil(begin / step) * step; e < end; e += step) {
    parts.push(svg("text", { x: x(e), y: h + 16, "text-anchor": "middle" }, `2^${e}`));
  }
  const notes = [zeros && `; ${plural(zeros, "zero")} left out`, notFinite && `; ${notFinite} not finite`];
  return el(
    "figure",
    svg("svg.exponents", { ...names, viewBox: `-16 0 ${w + 32} ${h + 22}` }, parts),
    el("figcaption", "Elements by power of two, on a logarithmic scale. ", el("span.key.lost"), ` beyond ${dtype} `,
      el("span.key.coarse"), " fewer digits (subnormal)", notes.filter(Boolean)),
  );
}

export const errorText = (error) => (typeof error === "number" ? `${numberText(error * 100)} %` : String(error));
