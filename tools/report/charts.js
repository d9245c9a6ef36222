// Small charts, as SVG: bars of parts, and how values spread over powers of two.
import { el, numberText, plural, svg } from "./elements.js";

// A bar of parts: [class, amount, label] each.
export function partsBar(parts) {
  const total = parts.reduce((sum, [, amount]) => sum + amount, 0) || 1;
  const label = parts.map(([, amount, name]) => `${name}: ${amount.toLocaleString("en")}`).join(", ");
  let x = 0;
  const bars = parts.map(([name, amount]) => {
    const bar = svg("rect", { class: name, x, y: 0, width: (amount / total) * 100, height: 10 });
    x += (amount / total) * 100;
    return bar;
  });
  return svg("svg", { class: "parts", viewBox: "0 0 100 10", preserveAspectRatio: "none", role: "img", "aria-label": label }, bars);
}

// Two bars, one below the other, of what was before and is after.
export function beforeAfter(before, after, text) {
  const most = Math.max(before, after, 1);
  const row = (name, amount) =>
    el("div", { class: "row" }, el("span", {}, name), svg("svg", { class: "parts", viewBox: "0 0 100 10", preserveAspectRatio: "none", "aria-hidden": "true" }, svg("rect", { class: name === "after" ? "low" : "high", width: (amount / most) * 100, height: 10 })), el("b", {}, text(amount)));
  return el("div", { class: "beforeafter" }, row("before", before), row("after", after));
}

// Exponents of the smallest number that is not rounded to 0, of the smallest normal one, and of the largest.
const RANGES = { float16: [-24, -14, 15], bfloat16: [-133, -126, 127] };

// The histogram of a weight's exponents beside the range of the low type. `large`: with axis and words.
export function exponentChart(exponents, dtype, large) {
  const { first, width, bins } = exponents;
  const [least, normal, last] = RANGES[dtype] || RANGES.float16;
  if (bins.length === 0) return el("span", { class: "quiet" }, "only zeros");
  const begin = dtype === "float16" ? Math.min(first, least - 4) : first - 4;
  const end = dtype === "float16" ? Math.max(first + bins.length * width, last + 3) : first + bins.length * width + 4;
  const w = large ? 560 : 120;
  const h = large ? 150 : 22;
  const x = (exponent) => ((Math.min(Math.max(exponent, begin), end) - begin) / (end - begin)) * w;
  const most = Math.max(...bins);
  const zone = (name, from, to) => (x(to) > x(from) ? svg("rect", { class: name, x: x(from), y: 0, width: x(to) - x(from), height: h }) : null);
  const parts = [zone("lost", begin, least), zone("coarse", least, normal), zone("lost", last + 1, end)];
  bins.forEach((count, i) => {
    if (count === 0) return;
    const height = Math.max(1, (Math.log1p(count) / Math.log1p(most)) * (h - (large ? 10 : 2)));
    const from = first + i * width;
    const bar = svg("rect", { class: "bin", x: x(from) + 0.5, y: h - height, width: Math.max(1, x(from + width) - x(from) - 1), height });
    bar.append(svg("title", {}, `${plural(count, "element")} from 2^${from} to 2^${from + width}`));
    parts.push(bar);
  });
  const label = `Exponents from 2^${first} to 2^${first + bins.length * width}; ${dtype} holds 2^${least} to 2^${last + 1}`;
  if (!large) return svg("svg", { class: "spark", viewBox: `0 0 ${w} ${h}`, width: w, height: h, role: "img", "aria-label": label }, parts);
  const step = Math.ceil((end - begin) / 10);
  for (let e = Math.ceil(begin / step) * step; e < end; e += step) {
    parts.push(svg("text", { x: x(e), y: h + 16, "text-anchor": "middle" }, `2^${e}`));
  }
  return el(
    "figure",
    {},
    svg("svg", { class: "exponents", viewBox: `-16 0 ${w + 32} ${h + 22}`, role: "img", "aria-label": label }, parts),
    el("figcaption", {}, `Elements by power of two, on a logarithmic scale. `, el("span", { class: "key lost" }), ` beyond ${dtype} `, el("span", { class: "key coarse" }), ` fewer digits (subnormal)`, exponents.zeros ? `; ${plural(exponents.zeros, "zero")} left out` : "", exponents.notFinite ? `; ${plural(exponents.notFinite, "element")} not finite` : ""),
  );
}

export const errorText = (error) => (typeof error === "number" ? `${numberText(error * 100)} %` : String(error));
