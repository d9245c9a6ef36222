// The first part of the page: what became of the model, what it costs, what is worth a look, how to do it again.
import { meaningOf } from "./data.js";
import { beforeAfter, typeBar } from "./charts.js";
import { bytesText, copyable, el, factList, plural, shellWord, shown } from "./elements.js";

// [key, nodes by type], the most frequent key first.
function countBy(data, key) {
  const counts = new Map();
  for (let i = 0; i < data.count; ++i) {
    if (!counts.has(key(i))) counts.set(key(i), { low: 0, high: 0, other: 0, all: 0 });
    const count = counts.get(key(i));
    ++count[data.kind(i)];
    ++count.all;
  }
  return [...counts].sort((a, b) => b[1].all - a[1].all);
}

const card = (title, ...content) => el("section.card", el("h2", title), content);
const lines = (items) => el("ul.lines", items.map((item) => el("li", el("bdi", shown(item, 2000)))));
const bars = (rows) => el("table.bars", el("tbody", rows));

function typesCard(data) {
  const count = countBy(data, () => "all")[0]?.[1] || { low: 0, high: 0, other: 0 };
  const heavy = countBy(data, data.isHeavy).find(([isHeavy]) => isHeavy)?.[1];
  const key = (kind, name) => [el(`span.key.${kind}`), ` ${name} ${count[kind].toLocaleString("en")}  `];
  return card(
    "Nodes",
    el("p.big", `${count.low.toLocaleString("en")} of ${plural(data.count, "node")} in ${data.dtype}`),
    typeBar(data, count),
    el("p", key("low", data.dtype), key("high", "float32"), key("other", "no float")),
    heavy ? el("p", `Matrix work: ${heavy.low} of ${heavy.all} in ${data.dtype}`) : null,
  );
}

function bytesCard(data) {
  const known = data.casts.filter((cast) => cast.bytes >= 0).reduce((sum, cast) => sum + cast.bytes, 0);
  const moved = known ? `, which move ${bytesText(known)}` : "";
  return card(
    "Bytes",
    el("h3", "Weights"),
    beforeAfter(...data.weight_bytes, bytesText),
    el("h3", "Activations of known size"),
    beforeAfter(...data.activation_bytes, bytesText),
    el("p", `${plural(data.casts.length, "cast")} inserted${moved}; ${data.removed_casts.length} removed`),
  );
}

function reasonsCard(data, showNodes) {
  const reasons = countBy(data, data.reason);
  const row = ([reason, { low, high, all }]) => {
    const width = Math.max(1, (all / reasons[0][1].all) * 100);
    const kind = low ? "low" : high ? "high" : "other";
    return el(
      "tr",
      el("th", { scope: "row" }, el("button.link", { onclick: () => showNodes(reason) }, reason)),
      el("td", el(`span.bar.${kind}`, { style: `width:${width}px` }), ` ${all.toLocaleString("en")}`),
      el("td.quiet", meaningOf(reason)),
    );
  };
  return card("Why", bars(reasons.map(row)));
}

function operatorsCard(data) {
  const row = ([operator, count]) =>
    el("tr", el("th", { scope: "row" }, shown(operator, 40)), el("td", count.all.toLocaleString("en")),
      el("td.wide", typeBar(data, count)));
  return card("Operators", bars(countBy(data, data.operator).slice(0, 12).map(row)));
}

function againCard(data) {
  const flags = data.flags.filter((flag) => flag !== "--dry-run");
  const words = ["amp-rewrite", shellWord(data.model), "-o", "mixed.onnx", ...flags.map(shellWord)];
  const change = ([before, after]) => (before === after ? before : `${before} → ${after}`);
  const facts = [
    ["Version", data.version],
    ["Input, XXH3", data.input_xxh3],
    ["Output, XXH3", data.output_xxh3],
    ["Profile", `${data.profile}, placement ${data.placement || "-"}, target ${data.target}`],
    ["Opset", change(data.opset)],
    ["IR version", change(data.ir_version)],
  ];
  const asCode = (text) => el("code", shown(text, 200));
  return card("How to do it again", copyable(words.join(" "), "the command"), factList(facts, asCode));
}

export function overview(data, { showNodes, guards }) {
  const notes = data.changed ? [] : [`Nothing was converted: ${data.unchanged_because}`];
  if (data.verification) notes.push(data.verification);
  const guarded = guards.slice(0, 6).map((i) => `${data.path(i)}: ${data.because(i).replace(/^guard: /, "")}`);
  const more = guards.length > 6 ? el("p.quiet", "The tab Guards has all of them.") : null;
  const replaced = data.replaced.slice(0, 50).map(([nodes, how]) => {
    const paths = nodes.map((node) => data.strings[node]);
    return `${paths.join(", ")}: ${data.strings[how]}`;
  });
  const warnings = el("section.card.warns", el("h2", plural(data.warnings.length, "warning")), lines(data.warnings));
  return el(
    "div.cards",
    typesCard(data),
    bytesCard(data),
    notes.length ? card("Outcome", lines(notes)) : null,
    data.warnings.length ? warnings : null,
    guards.length ? card(`${plural(guards.length, "node")} kept float32 by guards`, lines(guarded), more) : null,
    data.advice.length ? card("Flags that may help", lines(data.advice)) : null,
    reasonsCard(data, showNodes),
    operatorsCard(data),
    replaced.length ? card("Replaced nodes", lines(replaced)) : null,
    againCard(data),
  );
}
