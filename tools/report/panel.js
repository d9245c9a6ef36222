// The panel that says why a node is what it is, and which flag would change it.
import { REASONS } from "./data.js";
import { bytesText, copyable, el, movedText, numberText, shellWord, shown } from "./elements.js";
import { errorText, exponentChart } from "./charts.js";

// The flags that would give the node another type, each with what it does.
export function flagsFor(data, i) {
  const path = shellWord(data.path(i));
  if (data.isLow(i)) return [[`--deny-node ${path}`, `keeps this node float32`]];
  if (data.type(i) !== "float32" || data.className(i) === "constant") return [];
  if (data.reason(i) === "unknown-operator") {
    return [[`--op-signature ${shellWord(`${data.operator(i)}(T) -> T`)}`, "says what the operator takes and gives: to be adapted"]];
  }
  if (data.border(i) === "cannot") return [];
  const flags = [[`--allow-node ${path}`, `runs this node in ${data.dtype}, whatever lists and guards say`]];
  if (data.reason(i) === "denied") flags.push([`--allow ${shellWord(data.operator(i))}`, "the same for all nodes of this operator"]);
  return flags;
}

export function whySentence(data, i) {
  const because = data.because(i);
  if (data.isLow(i)) return `Runs in ${data.type(i)}: ${because}.`;
  if (data.type(i) === "float32") return `Stays float32: ${because}.`;
  return `${because[0].toUpperCase()}${because.slice(1)}.`;
}

function portRows(data, i, ports, isInput, openNode) {
  return ports.map((v) => {
    const others = isInput ? [data.producer[v]].filter((node) => node >= 0) : data.readers.get(v) || [];
    const cast = isInput ? data.castBetween(v, i) : (data.castsOf.get(v) || [])[0];
    const observed = data.observed.get(v);
    const links = others.slice(0, 8).map((node) => el("button", { type: "button", class: "link", onclick: () => openNode(node) }, shown(data.path(node), 60)));
    if (others.length > 8) links.push(` and ${others.length - 8} more`);
    return el(
      "li",
      {},
      el("bdi", { class: "name" }, shown(data.valueName(v), 160)),
      el("span", { class: "quiet" }, ` ${data.valueType(v)}${data.values.bytes[v] ? `, ${bytesText(data.values.bytes[v])}` : ""}${data.isConstant(v) ? ", constant" : ""}`),
      cast ? el("div", { class: "castnote" }, `cast ${cast.from} → ${cast.to}, ${movedText(cast.bytes)}`) : null,
      observed ? el("div", {}, `observed: largest ${numberText(observed.largest)}, ${observed.overflow} overflow, ${observed.underflow} vanish, relative error ${numberText(observed.error)}`) : null,
      links.length ? el("div", {}, isInput ? "from " : "to ", links.flatMap((link, k) => (k ? [", ", link] : [link]))) : null,
    );
  });
}

export function whyPanel(data, i, { openNode, showInGraph }) {
  const kind = data.kind(i);
  const facts = [
    ["type", data.type(i)],
    ["class", `${data.className(i)}${data.classWhy(i) ? `: ${data.classWhy(i)}` : ""}`],
    ["from", data.origin(i)],
    ["reason", `${data.reason(i)}: ${(REASONS[data.reason(i)] || ["", ""])[1]}`],
    ["matrix work", data.isHeavy(i) ? "yes" : ""],
  ].filter(([, text]) => text);
  const flags = flagsFor(data, i);
  const weights = data.hasGraph ? data.inputsOf(i).map((v) => data.weightsByName.get(data.valueName(v))).filter(Boolean) : [];
  return [
    el("h2", {}, el("span", { class: `dot ${kind}` }), shown(data.operator(i), 80)),
    el("p", { class: "path" }, el("bdi", {}, shown(data.path(i)))),
    el("p", { class: "why" }, shown(whySentence(data, i), 2000)),
    showInGraph ? el("button", { type: "button", onclick: () => showInGraph(i) }, "Show in the graph") : null,
    flags.length ? el("h3", {}, "A flag that changes it") : null,
    flags.map(([flag, what]) => [copyable(flag, "the flag"), el("p", { class: "quiet" }, what)]),
    el("dl", {}, facts.map(([name, text]) => [el("dt", {}, name), el("dd", {}, el("bdi", {}, shown(text, 300)))])),
    data.hasGraph && data.inputsOf(i).length ? [el("h3", {}, "Inputs"), el("ul", { class: "ports" }, portRows(data, i, data.inputsOf(i), true, openNode))] : null,
    data.hasGraph && data.outputsOf(i).length ? [el("h3", {}, "Outputs"), el("ul", { class: "ports" }, portRows(data, i, data.outputsOf(i), false, openNode))] : null,
    weights.map((weight) => [el("h3", {}, "Weight ", el("bdi", {}, shown(weight.name, 60))), exponentChart(weight.exponents, data.dtype, true), el("p", { class: "quiet" }, `largest ${numberText(weight.largest)}, relative error ${errorText(weight.error)}`)]),
  ];
}
