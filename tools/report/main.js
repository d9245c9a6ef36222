// Puts the parts of the page together: tabs, search, links to nodes, the theme.
import { decode } from "./data.js";
import { byId, bytesText, el, numberText, shown } from "./elements.js";
import { buildScopes } from "./scopes.js";
import { errorText, exponentChart } from "./charts.js";
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
const graphTab = el("div", { class: "graphtab" });
let graph = null;
function theGraph() {
  if (!graph) {
    graph = new GraphView(data, buildScopes(data), { onnode: (i) => select(i) });
    graphTab.replaceChildren(graph.element, panel);
    explainGraph();
    graph.show(graph.scopes.root);
    window.ampReport.graph = graph;
  }
  return graph;
}

function explainGraph() {
  panel.replaceChildren(el("h2", {}, "The graph"), el("p", {}, "Each box is a node or a group of nodes with one scope in their names. Open a group with a click; choose a node to see why it has its type."), el("p", { class: "quiet" }, "Drag to move, wheel to zoom. Keys: arrows, Enter, Escape, +, −, 0; / searches."));
}

// Shows why a node is what it is; the address then names the node.
function select(i) {
  panel.replaceChildren(...[whyPanel(data, i, { openNode: goTo, showInGraph: null })].flat(4).filter(Boolean));
  panel.scrollTop = 0;
  const hash = `#node=${encodeURIComponent(data.path(i).toWellFormed?.() ?? data.path(i))}`;
  if (hash.length < 4000 && location.protocol !== "about:") history.replaceState(null, "", hash);
}

// Goes to a node: in the graph where it is drawn, else the panel alone.
function goTo(i) {
  showTab("graph");
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
const nodeText = (i) => `${data.path(i)}\n${data.operator(i)}\n${data.className(i)}\n${data.type(i)}\n${data.reason(i)}\n${data.because(i)}`;

const tabs = {
  overview: ["Overview", () => overview(data, { guards, showNodes })],
  graph: ["Graph", () => graphTab],
  nodes: ["Nodes", () => table({ name: "nodes", columns: nodeColumns, rows: everyNode, search: nodeText, onrow: goTo })],
  casts: ["Casts", castsTable],
  weights: ["Weights", weightsTable],
  guards: ["Guards", guardsTable],
};

function castsTable() {
  const columns = [
    { title: "value", value: (cast) => cast.valueName, cell: (cast) => shown(cast.valueName, 90) },
    { title: "from", value: (cast) => cast.from },
    { title: "to", value: (cast) => cast.to },
    { title: "elements", align: "number", value: (cast) => cast.elements, cell: (cast) => (cast.elements < 0 ? "unknown" : cast.elements.toLocaleString("en")) },
    { title: "bytes moved", align: "number", value: (cast) => cast.bytes, cell: (cast) => bytesText(cast.bytes) },
    { title: "for", value: (cast) => cast.readers.join(", "), cell: (cast) => shown(cast.readers.slice(0, 6).join(", "), 160) },
  ];
  const open = (cast) => (cast.nodes.length ? goTo(cast.nodes[0]) : cast.value >= 0 && data.producer[cast.value] >= 0 && goTo(data.producer[cast.value]));
  return table({ name: "casts", columns, rows: data.casts, search: (cast) => `${cast.valueName}\n${cast.to}\n${cast.readers.join("\n")}`, sort: 4, onrow: data.hasGraph ? open : null });
}

function weightsTable() {
  const large = el("div", { class: "large" });
  const columns = [
    { title: "weight", value: (weight) => weight.name, cell: (weight) => shown(weight.name, 70) },
    { title: "before", align: "number", value: (weight) => weight.before, cell: (weight) => bytesText(weight.before) },
    { title: "after", align: "number", value: (weight) => weight.after, cell: (weight) => bytesText(weight.after) },
    { title: "relative error", align: "number", value: (weight) => weight.error, cell: (weight) => errorText(weight.error) },
    { title: "largest", align: "number", value: (weight) => weight.largest, cell: (weight) => numberText(weight.largest) },
    { title: "overflow", align: "number", value: (weight) => weight.overflow },
    { title: "vanish", align: "number", value: (weight) => weight.underflow },
    { title: "subnormal", align: "number", value: (weight) => weight.subnormal },
    { title: "exponents", value: (weight) => weight.exponents.first, cell: (weight) => exponentChart(weight.exponents, data.dtype, false) },
  ];
  const show = (weight) => {
    const notes = [weight.originalStays ? "The float32 original stays for other readers." : "", weight.saturated ? "What overflows became the largest finite value." : ""];
    large.replaceChildren(el("h2", {}, el("bdi", {}, shown(weight.name, 200))), exponentChart(weight.exponents, data.dtype, true), el("p", {}, notes.join(" ")));
  };
  if (data.weights.length) show(data.weights.reduce((a, b) => (b.error > a.error ? b : a)));
  return el("div", {}, large, table({ name: "weights", columns, rows: data.weights, search: (weight) => weight.name, sort: 3, onrow: show }));
}

function guardsTable() {
  const columns = [nodeColumns[0], nodeColumns[1], { title: "what the guard saw", value: (i) => data.because(i).replace(/^guard: /, "") }];
  return table({ name: "guards", columns, rows: guards, search: nodeText, onrow: goTo });
}

function showNodes(reason) {
  showTab("nodes");
  const filter = byId("tab-nodes").querySelector("input");
  filter.value = reason;
  filter.dispatchEvent(new Event("input"));
}

function showTab(name) {
  for (const each of Object.keys(tabs)) {
    const isOpen = each === name;
    const button = byId(`to-${each}`);
    button.setAttribute("aria-selected", String(isOpen));
    button.tabIndex = isOpen ? 0 : -1;
    byId(`tab-${each}`).hidden = !isOpen;
  }
  fillTab(name);
  if (name === "graph" && canDraw) theGraph();
}

function fillTab(name) {
  const section = byId(`tab-${name}`);
  if (section.childElementCount === 0) section.append(tabs[name][1]());
}

function makeTabs() {
  const names = Object.keys(tabs);
  for (const name of names) {
    const counts = { nodes: data.count, casts: data.casts.length, weights: data.weights.length, guards: guards.length };
    const button = el("button", { id: `to-${name}`, type: "button", role: "tab", "aria-controls": `tab-${name}`, onclick: () => showTab(name) }, tabs[name][0], name in counts ? el("span", { class: "count" }, counts[name].toLocaleString("en")) : null);
    button.addEventListener("keydown", (e) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[e.key];
      if (!step) return;
      const next = names[(names.indexOf(name) + step + names.length) % names.length];
      showTab(next);
      byId(`to-${next}`).focus();
    });
    byId("tabs").append(button);
    byId("main").append(el("section", { id: `tab-${name}`, role: "tabpanel", "aria-labelledby": `to-${name}`, hidden: true }));
  }
  if (!canDraw) {
    graphTab.append(panel);
    panel.replaceChildren(el("p", {}, data.hasGraph ? "The program that wrote this report was built without a layout of graphs." : "This report has no graph."));
  }
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
  input.addEventListener("input", () => {
    const begin = performance.now();
    found = data.find(input.value, 50);
    list.replaceChildren(
      ...found.map((i, k) => el("li", { id: `result-${k}`, role: "option", "aria-selected": "false", onmousedown: (e) => e.preventDefault(), onclick: () => choose(i) }, el("span", { class: `dot ${data.kind(i)}` }), el("b", {}, shown(data.operator(i), 40)), " ", el("bdi", {}, shown(data.path(i), 90)), el("span", { class: "quiet" }, ` ${data.type(i)}, ${data.reason(i)}`))),
      ...(input.value.trim() && found.length === 0 ? [el("li", { class: "quiet", role: "option", "aria-disabled": "true" }, "No node has all of these words.")] : []),
    );
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

function makeTheme() {
  const words = { system: "◐ system", light: "☀ light", dark: "☾ dark" };
  let theme = "system";
  const apply = () => {
    document.documentElement.dataset.theme = theme;
    byId("theme").textContent = words[theme];
    byId("theme").setAttribute("aria-label", `Colours: ${theme}`);
  };
  byId("theme").addEventListener("click", () => {
    theme = { system: "light", light: "dark", dark: "system" }[theme];
    apply();
  });
  apply();
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
byId("subtitle").textContent = data.changed ? `rewritten to ${data.dtype} by amp-rewrite ${data.version}` : `left as it is by amp-rewrite ${data.version}`;
makeTabs();
makeSearch();
makeTheme();
if (!followLink()) showTab("overview");
addEventListener("hashchange", followLink);
addEventListener("beforeprint", () => Object.keys(tabs).forEach((name) => name !== "graph" && fillTab(name)));
times.ready = performance.now();
requestAnimationFrame(() => setTimeout(() => (times.painted = performance.now())));
