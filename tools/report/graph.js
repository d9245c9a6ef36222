// The graph of one open group: boxes laid out by dagre, drawn as SVG, moved by pointer, wheel and keys.
import { meaningOf } from "./data.js";
import { bytesText, el, movedText, plural, say, shown, svg } from "./elements.js";
import { typeBar } from "./charts.js";
import { groupPath, openChain, plainName, viewOf } from "./scopes.js";

const WIDTH = { title: 8.1, text: 6.4 }; // of a letter
const KEYS = "Graph. Arrow keys move between boxes, Enter opens, Escape goes up, plus and minus zoom, 0 fits.";
const wordOf = (data, kind) => ({ low: data.dtype, high: "float32", other: "no float" })[kind];

// The end of an edge.
function arrow(name) {
  const size = { viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto" };
  return svg("marker", { id: `arrow-${name}`, ...size }, svg(`path.${name}`, { d: "M0,0 L8,4 L0,8 z" }));
}

export class GraphView {
  constructor(data, scopes, onnode) {
    Object.assign(this, { data, scopes, onnode, open: scopes.root, selected: -1 });
    this.transform = { x: 0, y: 0, k: 1 };
    this.crumbs = el("nav.crumbs", { "aria-label": "Open groups" });
    this.layer = svg("g");
    const marks = svg("defs", arrow("edge"), arrow("castedge"));
    this.canvas = svg("svg.graph", { tabindex: 0, role: "group", "aria-label": KEYS }, marks, this.layer);
    const button = (text, title, onclick) => el("button", { "aria-label": title, title, onclick }, text);
    const closer = button("+", "Zoom in", () => this.zoomBy(1.3));
    const farther = button("−", "Zoom out", () => this.zoomBy(1 / 1.3));
    const zoom = el("div.zoom", closer, farther, button("⤢", "Fit", () => this.fit(true)));
    this.element = el("div.stage", this.crumbs, this.canvas, zoom, this.legend());
    this.listen();
  }

  legend() {
    const why = { list: "a list or flag decides", neighbours: "the neighbours decide", guard: "a guard" };
    why.cannot = "types forbid";
    const swatch = (name, text) => el("span", el(`i.swatch.${name}`), text);
    const types = ["low", "high", "other"].map((kind) => swatch(kind, wordOf(this.data, kind)));
    const swatches = [types, Object.entries(why).map(([name, text]) => swatch(`by-${name}`, text))];
    return el("div.legend", swatches, el("span", el("i.castmark"), "cast, bytes moved"));
  }

  // Opens a group; with `node` that node is selected and comes to the middle.
  show(group, node = -1) {
    const begin = performance.now();
    this.open = group;
    this.selected = node;
    const { boxes } = viewOf(this.data, this.scopes, group);
    this.boxes = boxes;
    this.layOut(boxes);
    this.draw();
    this.drawCrumbs();
    this.fit(false);
    const box = boxes.find((each) => each.chain?.includes(node) || (each.node === node && !each.outside));
    if (node >= 0 && box?.chain) {
      this.show(openChain(this.data, box.chain, group), node);
      return;
    }
    if (node >= 0 && box) this.center(box);
    this.lastOpening = performance.now() - begin;
    say(`${group === this.scopes.root ? "The model" : shown(group.name, 80)}: ${boxes.length} boxes`);
  }

  showNode(i) {
    const home = this.scopes.home[i];
    if (home) this.show(home, i);
    return home !== null;
  }

  // The two lines of a box, and what a screen reader says of it.
  describe({ value, isInput, chain, group, node }) {
    const { data } = this;
    if (value !== undefined) {
      const [name, type] = [data.valueName(value), data.valueType(value)];
      const label = `${isInput ? "Input" : "Output"} ${shown(name, 80)}, ${type}`;
      return { title: shown(name, 26), text: type.slice(0, 34), label };
    }
    if (chain) {
      const words = chain.map((i) => data.operator(i));
      const title = words.length > 3 ? `${words[0]} → … → ${words[words.length - 1]}` : words.join(" → ");
      const label = `Chain of ${chain.length} nodes: ${words.slice(0, 10).join(", ")}`;
      return { title: shown(title, 30), text: `${chain.length} in a row`, label };
    }
    if (group) {
      const name = (most) => shown(group.name, most) + (group.repeats ? ` × ${group.repeats}` : "");
      const text = plural(group.count, "node");
      const label = `Group ${name(80)}, ${text}, ${group.low} in ${data.dtype}, ${group.high} in float32`;
      return { title: name(24), text, label };
    }
    const name = plainName(data, node); // which may say no more than the operator does: then the shape does
    const [output] = data.outputsOf(node);
    const says = name.startsWith(data.operator(node)) && output !== undefined ? data.valueType(output) : name;
    const why = meaningOf(data.reason(node));
    const operator = (most) => shown(data.operator(node), most);
    const label = `${operator(60)} ${shown(data.path(node), 120)}, ${wordOf(data, data.kind(node))}, ${why}`;
    return { title: operator(26), text: shown(says, 30), label };
  }

  layOut(boxes) {
    const layout = new dagre.graphlib.Graph();
    layout.setGraph({ rankdir: "TB", nodesep: 18, ranksep: 44, ranker: "tight-tree" });
    for (const box of boxes) {
      box.words = this.describe(box);
      const longest = Math.max(box.words.title.length * WIDTH.title, box.words.text.length * WIDTH.text);
      box.width = Math.max(84, Math.min(270, 22 + longest));
      box.height = box.group && !box.outside ? 50 : 40;
      layout.setNode(box.id, { width: box.width, height: box.height });
    }
    this.edges = boxes.flatMap((box) => [...box.out.values()]);
    // dagre halves the space between ranks and doubles the lengths, so that labels have a rank: only casts need one.
    for (const edge of this.edges) {
      const mark = edge.casts.size ? { width: 70, height: 14, labelpos: "r" } : { width: 0, height: 0, minlen: 0.5 };
      layout.setEdge(edge.from.id, edge.to.id, mark);
    }
    dagre.layout(layout);
    for (const box of boxes) Object.assign(box, { x: layout.node(box.id).x, y: layout.node(box.id).y });
    for (const edge of this.edges) edge.points = layout.edge(edge.from.id, edge.to.id).points;
    this.size = boxes.length ? layout.graph() : { width: 1, height: 1 };
  }

  draw() {
    const parts = [...this.edges.map((edge) => this.drawEdge(edge)), ...this.boxes.map((box) => this.drawBox(box))];
    this.layer.replaceChildren(...parts);
  }

  drawEdge({ points, values, casts }) {
    const { data } = this;
    const middle = (a, b) => ({ x: (a.x + b.x) / 2, y: (a.y + b.y) / 2 });
    const text = ({ x, y }) => `${x},${y}`;
    const [first, ...rest] = points;
    let d = `M${text(first)}`;
    for (let k = 0; k + 1 < rest.length; ++k) d += ` Q${text(rest[k])} ${text(middle(rest[k], rest[k + 1]))}`;
    d += ` L${text(rest[rest.length - 1])}`;
    const name = casts.size ? "castedge" : "edge";
    const passing = [...values].slice(0, 5).map((v) => `${shown(data.valueName(v), 80)} ${data.valueType(v)}`);
    const line = svg(`path.${name}`, { d, "marker-end": `url(#arrow-${name})` }, svg("title", passing.join("\n")));
    if (casts.size === 0) return line;
    const m = Math.min(points.length - 2, Math.max(1, Math.floor((points.length - 1) / 2)));
    const bytes = [...casts].reduce((sum, cast) => (sum < 0 || cast.bytes < 0 ? -1 : sum + cast.bytes), 0);
    const said = [...casts].map((c) => `${shown(c.valueName, 80)}: ${c.from} → ${c.to}, ${movedText(c.bytes)}`);
    const mark = svg(
      "g.cast",
      { transform: `translate(${text(middle(points[m], points[m + 1]))})` },
      svg("path", { d: "M0,-6 L6,0 L0,6 L-6,0 z" }),
      svg("text", { x: 9, y: 4 }, bytes < 0 ? "cast" : bytesText(bytes)),
      svg("title", said.join("\n")),
    );
    return svg("g", line, mark);
  }

  drawBox(box) {
    const { data } = this;
    const { width, height, words, group, chain, value, outside } = box;
    const node = chain ? chain[0] : box.node;
    const kind = value !== undefined ? "port" : group ? "group" : `${data.kind(node)} by-${data.border(node)}`;
    const isSelected = box.node === this.selected && this.selected >= 0;
    const properties = {
      class: ["box", outside && "outside", kind, isSelected && "selected"].filter(Boolean).join(" "),
      ...{ role: "button", tabindex: -1, "aria-label": words.label },
      transform: `translate(${box.x - width / 2},${box.y - height / 2})`,
      onclick: () => !this.dragged && this.activate(box),
      onfocus: () => (this.focused = box),
    };
    const behind = group?.repeats || chain ? [6, 3] : [];
    const place = { x: 10, y: height - 13, width: width - 20, height: 6 };
    const counts = group && { ...group, other: group.count - group.low - group.high };
    const bar = group && !outside ? typeBar(data, counts, place) : null;
    box.element = svg(
      "g",
      properties,
      behind.map((shift) => svg("rect.behind", { x: shift, y: shift, width, height, rx: 6 })),
      svg("rect.shape", { width, height, rx: value !== undefined ? height / 2 : 6 }),
      svg("text.title", { x: width / 2, y: 17, "text-anchor": "middle" }, words.title),
      svg("text.text", { x: width / 2, y: 31, "text-anchor": "middle" }, words.text),
      bar,
      svg("title", words.label),
    );
    return box.element;
  }

  activate(box) {
    if (box.group) this.show(box.group);
    else if (box.chain) this.show(openChain(this.data, box.chain, this.open));
    else if (box.node !== undefined) {
      if (box.outside) this.showNode(box.node);
      this.select(box.node);
    } else {
      const node = box.isInput ? (this.data.readers.get(box.value) || [])[0] : this.data.producer[box.value];
      if (node >= 0) this.select(node);
    }
    this.canvas.focus({ preventScroll: true });
  }

  select(i) {
    this.selected = i;
    for (const box of this.boxes) box.element.classList.toggle("selected", box.node === i && !box.outside);
    this.onnode(i);
  }

  drawCrumbs() {
    const path = groupPath(this.open);
    const items = path.map((group, k) => {
      const name = k === 0 ? "model" : shown(group.name, 40) + (group.repeats ? ` × ${group.repeats}` : "");
      if (k === path.length - 1) return el("b", { "aria-current": "location" }, name);
      return el("button.link", { onclick: () => this.show(group) }, name);
    });
    this.crumbs.replaceChildren(...items.flatMap((item, k) => (k ? [document.createTextNode(" / "), item] : [item])));
  }

  apply() {
    const { x, y, k } = this.transform;
    this.layer.setAttribute("transform", `translate(${x},${y}) scale(${k})`);
  }

  // The whole graph, or, where that would be too small to read, its beginning.
  fit(whole) {
    const { clientWidth: w, clientHeight: h } = this.canvas;
    const across = Math.min(1.25, (w - 40) / this.size.width);
    const all = Math.min(across, (h - 96) / this.size.height);
    const k = whole ? all : Math.max(all, Math.min(across, 0.75), 0.5);
    const top = this.boxes.reduce((a, b) => (b.y < a.y ? b : a), { x: 0, y: Infinity }).x;
    const middle = k > across ? top : this.size.width / 2;
    this.transform = { k, x: w / 2 - middle * k, y: Math.max(48, (h - 48 - this.size.height * k) / 2) };
    this.apply();
  }

  center(box) {
    const k = Math.max(this.transform.k, 0.8);
    this.transform = { k, x: this.canvas.clientWidth / 2 - box.x * k, y: this.canvas.clientHeight / 2 - box.y * k };
    this.apply();
  }

  zoomBy(factor, at = { x: this.canvas.clientWidth / 2, y: this.canvas.clientHeight / 2 }) {
    const { x, y, k } = this.transform;
    const next = Math.min(4, Math.max(0.05, k * factor));
    this.transform = { k: next, x: at.x - ((at.x - x) * next) / k, y: at.y - ((at.y - y) * next) / k };
    this.apply();
  }

  listen() {
    const { canvas } = this;
    let from = null;
    canvas.addEventListener("wheel", (e) => {
      e.preventDefault();
      const box = canvas.getBoundingClientRect();
      this.zoomBy(Math.exp(-e.deltaY * 0.0015), { x: e.clientX - box.left, y: e.clientY - box.top });
    }, { passive: false });
    canvas.addEventListener("pointerdown", (e) => {
      from = { x: e.clientX, y: e.clientY, left: this.transform.x, top: this.transform.y };
      this.dragged = false;
    });
    addEventListener("pointermove", (e) => {
      if (!from) return;
      if (Math.abs(e.clientX - from.x) + Math.abs(e.clientY - from.y) > 4) this.dragged = true;
      if (!this.dragged) return;
      this.transform = { ...this.transform, x: from.left + e.clientX - from.x, y: from.top + e.clientY - from.y };
      this.apply();
    });
    addEventListener("pointerup", () => (from = null));
    canvas.addEventListener("keydown", (e) => this.key(e));
  }

  key(e) {
    const moves = { ArrowDown: [0, 1], ArrowUp: [0, -1], ArrowLeft: [-1, 0], ArrowRight: [1, 0] };
    if (moves[e.key]) this.moveFocus(...moves[e.key]);
    else if ((e.key === "Enter" || e.key === " ") && this.focused) this.activate(this.focused);
    else if (e.key === "Escape" || e.key === "Backspace") this.show(this.open.parent || this.open);
    else if (e.key === "+" || e.key === "=") this.zoomBy(1.3);
    else if (e.key === "-") this.zoomBy(1 / 1.3);
    else if (e.key === "0") this.fit(true);
    else return;
    e.preventDefault();
  }

  moveFocus(dx, dy) {
    const now = this.boxes.includes(this.focused) ? this.focused : null;
    if (!now) {
      this.focusBox(this.boxes.find((box) => box.node === this.selected) || this.boxes[0]);
      return;
    }
    const ahead = this.boxes.map((box) => {
      const along = (box.x - now.x) * dx + (box.y - now.y) * dy;
      const aside = Math.abs((box.x - now.x) * dy) + Math.abs((box.y - now.y) * dx);
      return { box, along, cost: along + aside * 2 };
    });
    const best = ahead.filter(({ along }) => along > 1).sort((a, b) => a.cost - b.cost)[0];
    if (best) this.focusBox(best.box);
  }

  focusBox(box) {
    if (!box) return;
    const { x, y, k } = this.transform;
    const at = { x: box.x * k + x, y: box.y * k + y };
    const { clientWidth: w, clientHeight: h } = this.canvas;
    if (at.x < 60 || at.x > w - 60 || at.y < 60 || at.y > h - 60) this.center(box);
    box.element.focus({ preventScroll: true });
  }
}
