// Puts the parts of the page together: tabs, search, links to nodes, the theme.
import { decode } from "./data.js";
import { byId, bytesText, el, numberText, shown } from "./elements.js";
import { makeTheme, Tabs } from "./frame.js";
import { buildScopes } from "./scopes.js";
import { errorText, exponentChart, exponentColumn } from "./charts.js";
import { GraphView } from "./graph.js";
import { whyPanel } from "./panel.js";
import { table } from "./tables.js";
import { overview } from "./overview.js";

const data = decode(JSON.parse(byId("data").textContent));
const canDraw = data.hasGraph && typeof dagre !== "undefined";
const everyNode = Array.from({ length: data.count }, (_, i) => i);
const guards = everyNode.filter((i) => data.reason(i) === "guard");
const fileName = data.model.split("/").pop();
const times = { begin: performance.now() }; // for whoever measures the page: milliseconds
window.ampReport = { times, data };

const panel = el("aside", { id: "panel", "aria-label": "Why", tabindex: -1 });
const graphTab = el("div.graphtab");
let graph = null;
function theGraph() {
  if (!graph) {
    graph = new GraphView(data, buildScopes(data), select);
    graphTab.replaceChildren(graph.element, panel);
    explainGraph();
    graph.show(graph.scopes.root);
    window.ampReport.graph = graph;
  }
  return graph;
}

function explainGraph() {
  panel.replaceChildren(
    el("h2", "The graph"),
    el("p", "Each box is a node, or a group of nodes with one scope in their names. Open a group with a click. ",
      "Choose a node to see why it has its type."),
    el("p.quiet", "Drag to move, wheel to zoom. Keys: arrows, Enter, Escape, +, −, 0; / searches."),
  );
}

// Shows why a node is what it is; the address then names the node.
function select(i) {
  panel.replaceChildren(el("div", whyPanel(data, i, goTo)));
  panel.scrollTop = 0;
  const hash = `#node=${encodeURIComponent(data.path(i).toWellFormed?.() ?? data.path(i))}`;
  if (hash.length < 4000 && location.protocol !== "about:") history.replaceState(null, "", hash);
}

// Goes to a node: in the graph where it is drawn, else the panel alone.
function goTo(i) {
  tabs.show("graph");
  if (canDraw) theGraph().showNode(i);
  select(i);
}

const nodeColumns = [
  { title: "node", value: data.path, cell: (i) => shown(data.path(i), 90) },
  { title: "operator", value: data.operator },
  { title: "class", value: data.className },
  { title: "type", value: data.type, cell: (i) => el("span", { class: `type ${data.kind(i)}` }, data.type(i)) },
  { title: "reason", value: data.reason },
  { title: "why", value: data.because },
];
const nodeText = (i) => nodeColumns.map((column) => column.value(i)).join("\n");

const parts = {
  overview: ["Overview", () => overview(data, { guards, showNodes })],
  graph: ["Graph", () => graphTab],
  nodes: ["Nodes", nodesTable, data.count],
  casts: ["Casts", castsTable, data.casts.length],
  weights: ["Weights", weightsTable, data.weights.length],
  values: ["Values", valuesTable, data.observed?.size || undefined],
  guards: ["Guards", guardsTable, guards.length],
  ...(data.parts.length ? { errors: ["Errors", errorsTable, data.parts.length] } : {}),
};
const tabs = new Tabs(parts, (name) => name === "graph" && canDraw && theGraph());

function nodesTable() {
  return table({ name: "nodes", columns: nodeColumns, rows: everyNode, search: nodeText, onrow: goTo });
}

function castsTable() {
  const numberOf = (elements) => (elements < 0 ? "unknown" : elements.toLocaleString("en"));
  const readersOf = (cast) => cast.readers.join(", ");
  const columns = [
    { title: "value", value: (cast) => cast.valueName, cell: (cast) => shown(cast.valueName, 90) },
    { title: "from", value: (cast) => cast.from },
    { title: "to", value: (cast) => cast.to },
    { title: "elements", align: "number", value: (cast) => cast.elements, cell: (cast) => numberOf(cast.elements) },
    { title: "bytes moved", align: "number", value: (cast) => cast.bytes, cell: (cast) => bytesText(cast.bytes) },
    { title: "for", value: readersOf, cell: (cast) => shown(cast.readers.slice(0, 6).join(", "), 160) },
  ];
  const open = (cast) => {
    const node = cast.nodes[0] ?? data.producer[cast.value] ?? -1;
    if (node >= 0) goTo(node);
  };
  const search = (cast) => `${cast.valueName}\n${cast.to}\n${readersOf(cast)}`;
  return table({ name: "casts", columns, rows: data.casts, search, sort: 4, onrow: data.hasGraph ? open : null });
}

function weightsTable() {
  const large = el("div.large");
  const uncounted = 'Exponents were not counted: rewrite_file(..., report="page.html") counts them, as --report does.';
  const exponents = exponentColumn(data.weights, data.dtype, uncounted);
  const number = (title, name, text = String) => {
    return { title, align: "number", value: (weight) => weight[name], cell: (weight) => text(weight[name]) };
  };
  const columns = [
    { title: "weight", value: (weight) => weight.name, cell: (weight) => shown(weight.name, 70) },
    number("before", "before", bytesText),
    number("after", "after", bytesText),
    number("relative error", "error", errorText),
    number("largest", "largest", numberText),
    number("overflow", "overflow"),
    number("vanish", "underflow"),
    number("subnormal", "subnormal"),
    ...exponents.columns,
  ];
  const show = (weight) => {
    const stays = weight.originalStays ? "The float32 original stays for other readers. " : "";
    const saturated = weight.saturated ? "What overflows became the largest finite value." : "";
    const name = el("h2", el("bdi", shown(weight.name, 200)));
    large.replaceChildren(name, exponentChart(weight.exponents, data.dtype, true), el("p", stays, saturated));
  };
  if (data.weights.length) show(data.weights.reduce((a, b) => (b.error > a.error ? b : a)));
  const search = (weight) => weight.name;
  return el("div", large, exponents.note, table({ name: "weights", columns, rows: data.weights, search, sort: 3, onrow: show }));
}

// Values that runs on samples have shown.
function valuesTable() {
  if (!data.observed?.size) return el("p.quiet", "No runs were observed: --calibration SAMPLE.npz observes some.");
  const rows = [...data.observed.values()];
  const large = el("div.large");
  const exponents = exponentColumn(rows, data.dtype, "Exponents were not counted: a file of --ranges has none.");
  const number = (title, name, text = String) => {
    return { title, align: "number", value: (seen) => seen[name], cell: (seen) => text(seen[name]) };
  };
  const name = (seen) => data.valueName(seen.value);
  const columns = [
    { title: "value", value: name, cell: (seen) => shown(name(seen), 70) },
    { title: "type now", value: (seen) => data.valueType(seen.value) },
    number("elements", "elements", (count) => count.toLocaleString("en")),
    number("relative error", "error", errorText),
    number("largest", "largest", numberText),
    number("overflow", "overflow"),
    number("vanish", "underflow"),
    ...exponents.columns,
  ];
  const show = (seen) => {
    const node = data.producer[seen.value];
    const link = node >= 0 && el("button.link", { onclick: () => goTo(node) }, shown(data.path(node)));
    const from = el("p", link ? ["given by ", link] : "an input");
    large.replaceChildren(el("h2", shown(name(seen), 200)), exponentChart(seen.exponents, data.dtype, true), from);
  };
  show(rows.reduce((a, b) => (b.error > a.error ? b : a)));
  return el("div", large, exponents.note, table({ name: "values", columns, rows, search: name, sort: 3, onrow: show }));
}

function errorsTable() {
  const alone = (error) => (error === null ? "" : errorText(error));
  const columns = [
    { title: "part", value: (part) => part.name, cell: (part) => shown(part.name, 90) },
    { title: "nodes", align: "number", value: (part) => part.nodes.length },
    { title: "error alone", align: "number", value: ({ error }) => error ?? "", cell: ({ error }) => alone(error) },
    { title: "share", align: "number", value: (part) => part.share, cell: ({ share }) => errorText(share) },
  ];
  const open = (part) => {
    const node = everyNode.find((i) => data.part(i) === part);
    if (node !== undefined) goTo(node);
  };
  return table({ name: "parts", columns, rows: data.parts, search: (part) => part.name, sort: 3, onrow: open });
}

function guardsTable() {
  const saw = { title: "what the guard saw", value: (i) => data.because(i).replace(/^guard: /, "") };
  const columns = [nodeColumns[0], nodeColumns[1], saw];
  return table({ name: "guards", columns, rows: guards, search: nodeText, onrow: goTo });
}

function showNodes(reason) {
  tabs.show("nodes");
  const filter = byId("tab-nodes").querySelector("input");
  filter.value = reason;
  filter.dispatchEvent(new Event("input"));
}

function explainNoGraph() {
  if (canDraw) return;
  const why = "The program that wrote this report was built without a layout of graphs.";
  graphTab.append(panel);
  panel.replaceChildren(el("p", data.hasGraph ? why : "This report has no graph."));
}

function makeSearch() {
  const input = byId("search");
  const list = byId("results");
  let found = [];
  let at = -1;
  const close = () => {
    list.hidden = true;
    input.setAttribute("aria-expanded", "false");
  };
  const mark = (next) => {
    at = next;
    [...list.children].forEach((item, k) => item.setAttribute("aria-selected", String(k === at)));
    input.setAttribute("aria-activedescendant", at >= 0 ? `result-${at}` : "");
    list.children[at]?.scrollIntoView({ block: "nearest" });
  };
  const choose = (i) => {
    close();
    goTo(i);
  };
  const item = (i, k) => {
    const acts = { onmousedown: (e) => e.preventDefault(), onclick: () => choose(i) };
    const properties = { id: `result-${k}`, role: "option", "aria-selected": "false", ...acts };
    const [operator, path] = [shown(data.operator(i), 40), shown(data.path(i), 90)];
    const type = el("span.quiet", ` ${data.type(i)}, ${data.reason(i)}`);
    return el("li", properties, el(`span.dot.${data.kind(i)}`), el("b", operator), " ", el("bdi", path), type);
  };
  input.addEventListener("input", () => {
    const begin = performance.now();
    found = data.find(input.value, 50);
    const nothing = el("li.quiet", { role: "option", "aria-disabled": "true" }, "No node has all of these words.");
    list.replaceChildren(...(found.length ? found.map(item) : [nothing]));
    list.hidden = input.value.trim() === "";
    input.setAttribute("aria-expanded", String(!list.hidden));
    at = -1;
    times.search = performance.now() - begin;
  });
  input.addEventListener("keydown", (e) => {
    if (e.key === "ArrowDown") mark(Math.min(found.length - 1, at + 1));
    else if (e.key === "ArrowUp") mark(Math.max(0, at - 1));
    else if (e.key === "Enter" && found.length) choose(found[Math.max(0, at)]);
    else if (e.key === "Escape") close();
    else return;
    e.preventDefault();
  });
  input.addEventListener("blur", () => setTimeout(close, 150));
  addEventListener("keydown", (e) => {
    if (e.key !== "/" || /^(input|textarea)$/i.test(document.activeElement?.tagName)) return;
    e.preventDefault();
    input.focus();
  });
}

// A link names a node by its path.
function followLink() {
  const path = location.hash.match(/^#node=(.*)$/)?.[1];
  if (path === undefined) return false;
  let name;
  try {
    name = decodeURIComponent(path);
  } catch {
    return false;
  }
  const i = everyNode.find((each) => data.path(each) === name);
  if (i !== undefined) goTo(i);
  return i !== undefined;
}

document.title = `${shown(fileName, 60)} in ${data.dtype}: amp-rewrite report`;
byId("title").textContent = shown(fileName, 60);
const outcome = data.changed ? `rewritten to ${data.dtype}` : "left as it is";
byId("subtitle").textContent = `${outcome} by amp-rewrite ${data.version}`;
explainNoGraph();
makeSearch();
makeTheme();
if (!followLink()) tabs.show("overview");
addEventListener("hashchange", followLink);
const printed = Object.keys(parts).filter((name) => name !== "graph");
addEventListener("beforeprint", () => printed.forEach((name) => tabs.fill(name)));
times.ready = performance.now();
requestAnimationFrame(() => setTimeout(() => (times.painted = performance.now())));
