// The first part of the page: what became of the model, what it costs, what is worth a look, how to do it again.
import { REASONS } from "./data.js";
import { beforeAfter, partsBar } from "./charts.js";
import { bytesText, copyable, el, plural, shellWord, shown } from "./elements.js";

function countBy(data, key) {
  const counts = new Map();
  for (let i = 0; i < data.count; ++i) counts.set(key(i), (counts.get(key(i)) || 0) + 1);
  return [...counts].sort((a, b) => b[1] - a[1]);
}

const card = (title, ...content) => el("section", { class: "card" }, el("h2", {}, title), content);
const lines = (items) => el("ul", { class: "lines" }, items.map((item) => el("li", {}, el("bdi", {}, shown(item, 2000)))));

function typesCard(data) {
  const [low, high] = ["low", "high"].map((kind) => countBy(data, data.kind).find(([name]) => name === kind)?.[1] || 0);
  let heavy = 0;
  let heavyLow = 0;
  for (let i = 0; i < data.count; ++i) {
    heavy += data.isHeavy(i);
    heavyLow += data.isHeavy(i) && data.isLow(i);
  }
  return card(
    "Nodes",
    el("p", { class: "big" }, `${low.toLocaleString("en")} of ${plural(data.count, "node")} in ${data.dtype}`),
    partsBar([["low", low, data.dtype], ["high", high, "float32"], ["other", data.count - low - high, "no float"]]),
    el("p", { class: "keys" }, el("span", { class: "key low" }), ` ${data.dtype} ${low}  `, el("span", { class: "key high" }), ` float32 ${high}  `, el("span", { class: "key other" }), ` no float ${data.count - low - high}`),
    heavy ? el("p", {}, `Matrix work: ${heavyLow} of ${heavy} in ${data.dtype}`) : null,
  );
}

function bytesCard(data) {
  const known = data.casts.filter((cast) => cast.bytes >= 0).reduce((sum, cast) => sum + cast.bytes, 0);
  return card(
    "Bytes",
    el("h3", {}, "Weights"),
    beforeAfter(...data.weight_bytes, bytesText),
    el("h3", {}, "Activations of known size"),
    beforeAfter(...data.activation_bytes, bytesText),
    el("p", {}, `${plural(data.casts.length, "cast")} inserted${known ? `, which move ${bytesText(known)}` : ""}; ${plural(data.removed_casts.length, "cast")} removed`),
  );
}

function reasonsCard(data, showNodes) {
  const reasons = countBy(data, data.reason);
  const most = Math.max(...reasons.map(([, count]) => count), 1);
  const isLow = new Map();
  for (let i = 0; i < data.count; ++i) isLow.set(data.reason(i), data.kind(i));
  return card(
    "Why",
    el("table", { class: "bars" }, el("tbody", {}, reasons.map(([reason, count]) => el("tr", {}, el("th", { scope: "row" }, el("button", { type: "button", class: "link", onclick: () => showNodes(reason) }, reason)), el("td", {}, el("span", { class: `bar ${isLow.get(reason)}`, style: `width:${Math.max(1, (count / most) * 100)}px` }), ` ${count.toLocaleString("en")}`), el("td", { class: "quiet" }, (REASONS[reason] || ["", ""])[1]))))),
  );
}

function operatorsCard(data) {
  const counts = countBy(data, data.operator).slice(0, 12);
  const rows = counts.map(([operator, count]) => {
    const parts = { low: 0, high: 0, other: 0 };
    for (let i = 0; i < data.count; ++i) if (data.operator(i) === operator) ++parts[data.kind(i)];
    return el("tr", {}, el("th", { scope: "row" }, shown(operator, 40)), el("td", {}, count.toLocaleString("en")), el("td", { class: "wide" }, partsBar([["low", parts.low, data.dtype], ["high", parts.high, "float32"], ["other", parts.other, "no float"]])));
  });
  return card("Operators", el("table", { class: "bars" }, el("tbody", {}, rows)));
}

function againCard(data) {
  const words = ["amp-rewrite", shellWord(data.model), "-o", "mixed.onnx", ...data.flags.filter((flag) => flag !== "--dry-run").map(shellWord)];
  const facts = [
    ["Version", data.version],
    ["Input, XXH3", data.input_xxh3],
    ["Output, XXH3", data.output_xxh3],
    ["Profile", `${data.profile}, placement ${data.placement || "-"}, target ${data.target}`],
    ["Opset", data.opset[0] === data.opset[1] ? data.opset[0] : `${data.opset[0]} → ${data.opset[1]}`],
    ["IR version", data.ir_version[0] === data.ir_version[1] ? data.ir_version[0] : `${data.ir_version[0]} → ${data.ir_version[1]}`],
  ].filter(([, text]) => text !== "");
  return card("How to do it again", copyable(words.join(" "), "the command"), el("dl", {}, facts.map(([name, text]) => [el("dt", {}, name), el("dd", {}, el("code", {}, shown(String(text), 200)))])));
}

export function overview(data, { showNodes, guards }) {
  const notes = [];
  if (!data.changed) notes.push(`Nothing was converted: ${data.unchanged_because}`);
  if (data.verification) notes.push(data.verification);
  return el(
    "div",
    { class: "cards" },
    typesCard(data),
    bytesCard(data),
    notes.length ? card("Outcome", lines(notes)) : null,
    data.warnings.length ? el("section", { class: "card warns" }, el("h2", {}, plural(data.warnings.length, "warning")), lines(data.warnings)) : null,
    guards.length ? card(`${plural(guards.length, "node")} kept float32 by guards`, lines(guards.slice(0, 6).map((i) => `${data.path(i)}: ${data.because(i).replace(/^guard: /, "")}`)), guards.length > 6 ? el("p", { class: "quiet" }, "The tab Guards has all of them.") : null) : null,
    data.advice.length ? card("Flags that may help", lines(data.advice)) : null,
    reasonsCard(data, showNodes),
    operatorsCard(data),
    data.replaced.length ? card("Replaced nodes", lines(data.replaced.slice(0, 50).map(([nodes, how]) => `${nodes.map((node) => data.strings[node]).join(", ")}: ${data.strings[how]}`))) : null,
    againCard(data),
  );
}
