// The panel that says why a node is what it is, and which flag would change it.
import { meaningOf } from "./data.js";
import { bytesText, copyable, el, factList, movedText, numberText, plural, shellWord, shown } from "./elements.js";
import { errorText, exponentChart } from "./charts.js";

// The flags that would give the node another type, each with what it does.
export function flagsFor(data, i) {
  const path = shellWord(data.path(i));
  if (data.isLow(i)) return [[`--deny-node ${path}`, `keeps this node float32`]];
  if (data.type(i) !== "float32" || data.className(i) === "constant") return [];
  if (data.reason(i) === "unknown-operator") {
    const signature = shellWord(`${data.operator(i)}(T) -> T`);
    return [[`--op-signature ${signature}`, "says what the operator takes and gives: to be adapted"]];
  }
  if (data.border(i) === "cannot") return [];
  const flags = [[`--allow-node ${path}`, `runs this node in ${data.dtype}, whatever lists and guards say`]];
  if (data.reason(i) === "denied") {
    flags.push([`--allow ${shellWord(data.operator(i))}`, "the same for all nodes of this operator"]);
  }
  return flags;
}

export function whySentence(data, i) {
  const because = data.because(i);
  if (data.isLow(i)) return `Runs in ${data.type(i)}: ${because}.`;
  if (data.type(i) === "float32") return `Stays float32: ${because}.`;
  return `${because[0].toUpperCase()}${because.slice(1)}.`;
}

// The values that a node reads or gives, in a list with a heading.
function portList(data, i, isInput, openNode) {
  const ports = isInput ? data.inputsOf(i) : data.outputsOf(i);
  const item = (v) => {
    const others = isInput ? [data.producer[v]].filter((node) => node >= 0) : data.readers.get(v) || [];
    const cast = isInput ? data.castBetween(v, i) : (data.castsOf.get(v) || [])[0];
    const seen = data.observed.get(v);
    const link = (node) => el("button.link", { onclick: () => openNode(node) }, shown(data.path(node), 60));
    const links = others.slice(0, 8).flatMap((node, k) => (k ? [", ", link(node)] : [link(node)]));
    if (others.length > 8) links.push(` and ${others.length - 8} more`);
    const bytes = data.values.bytes[v];
    const facts = [data.valueType(v), bytes && bytesText(bytes), data.isConstant(v) && "constant"];
    const range = seen && [
      `observed: largest ${numberText(seen.largest)}, relative error ${numberText(seen.error)}, `,
      `${plural(seen.overflow, "element")} overflow, ${seen.underflow} vanish`,
    ];
    return el(
      "li",
      el("bdi.name", shown(data.valueName(v), 160)),
      el("span.quiet", ` ${facts.filter(Boolean).join(", ")}`),
      cast ? el("div.castnote", `cast ${cast.from} → ${cast.to}, ${movedText(cast.bytes)}`) : null,
      range ? el("div", range) : null,
      seen ? exponentChart(seen.exponents, data.dtype, false) : null,
      links.length ? el("div", isInput ? "from " : "to ", links) : null,
    );
  };
  return ports.length ? [el("h3", isInput ? "Inputs" : "Outputs"), el("ul.ports", ports.map(item))] : null;
}

function weightParts(data, i) {
  const weights = data.inputsOf(i).map((v) => data.weightsByName.get(data.valueName(v)));
  return weights.filter(Boolean).map((weight) => [
    el("h3", "Weight ", el("bdi", shown(weight.name, 60))),
    exponentChart(weight.exponents, data.dtype, true),
    el("p.quiet", `largest ${numberText(weight.largest)}, relative error ${errorText(weight.error)}`),
  ]);
}

function partText({ name, error, share }) {
  const alone = error === null ? "" : `${errorText(error)} where it alone is low, `;
  return `part ${name}: ${alone}${numberText(100 * share)} % of the squared error of all parts`;
}

// The elements of the panel. `openNode` goes to another node.
export function whyPanel(data, i, openNode) {
  const flags = flagsFor(data, i);
  const facts = [
    ["type", data.type(i)],
    ["class", data.className(i) + (data.classWhy(i) ? `: ${data.classWhy(i)}` : "")],
    ["from", data.origin(i)],
    ["reason", `${data.reason(i)}: ${meaningOf(data.reason(i))}`],
    ["matrix work", data.isHeavy(i) ? "yes" : ""],
    ["error", data.part(i) ? partText(data.part(i)) : ""],
  ];
  return [
    el("h2", el(`span.dot.${data.kind(i)}`), shown(data.operator(i), 80)),
    el("p.path", el("bdi", shown(data.path(i)))),
    el("p.why", shown(whySentence(data, i), 2000)),
    flags.length ? el("h3", "A flag that changes it") : null,
    flags.map(([flag, what]) => [copyable(flag, "the flag"), el("p.quiet", what)]),
    factList(facts, (text) => el("bdi", shown(text, 300))),
    data.hasGraph ? [true, false].map((isInput) => portList(data, i, isInput, openNode)) : null,
    data.hasGraph ? weightParts(data, i) : null,
  ];
}
