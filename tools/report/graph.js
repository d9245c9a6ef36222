// The graph of one open group: boxes laid out by dagre, drawn as SVG, moved by pointer, wheel and keys.
import { REASONS } from "./data.js";
import { bytesText, el, movedText, plural, say, shown, svg } from "./elements.js";
import { partsBar } from "./charts.js";
import { groupPath, openChain, plainName, viewOf } from "./scopes.js";

const KIND_WORDS = (data) => ({ low: data.dtype, high: "float32", other: "no float" });

export class GraphView {
  constructor(data, scopes, { onnode }) {
    Object.assign(this, { data, scopes, onnode, open: scopes.root, selected: -1, transform: { x: 0, y: 0, k: 1 } });
    this.crumbs = el("nav", { class: "crumbs", "aria-label": "Open groups" });
    this.layer = svg("g", {});
    this.canvas = svg(
      "svg",
      { class: "graph", tabindex: 0, role: "group", "aria-label": "Graph. Arrow keys move between boxes, Enter opens, Escape goes up, plus and minus zoom, 0 fits." },
      svg("defs", {}, ["edge", "castedge"].map((name) => svg("marker", { id: `arrow-${name}`, viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto" }, svg("path", { d: "M0,0 L8,4 L0,8 z", class: name })))),
      this.layer,
    );
    const button = (text, label, act) => el("button", { type: "button", "aria-label": label, title: label, onclick: act }, text);
    const zoom = el("div", { class: "zoom" }, button("+", "Zoom in", () => this.zoomBy(1.3)), button("−", "Zoom out", () => this.zoomBy(1 / 1.3)), button("⤢", "Fit", () => this.fit(true)));
    this.element = el("div", { class: "stage" }, this.crumbs, this.canvas, zoom, this.legend());
    this.listen();
  }

  legend() {
    const words = KIND_WORDS(this.data);
    const swatch = (name, text) => el("span", {}, el("i", { class: `swatch ${name}` }), text);
    return el(
      "div",
      { class: "legend" },
      swatch("low", words.low),
      swatch("high", "float32"),
      swatch("other", "no float"),
      swatch("by-list", "a list or flag decides"),
      swatch("by-neighbours", "the neighbours decide"),
      swatch("by-guard", "a guard"),
      swatch("by-cannot", "types forbid"),
      el("span", {}, el("i", { class: "castmark" }), "cast, bytes moved"),
    );
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
    const box = boxes.find((each) => each.node === node && !each.outside) || boxes.find((each) => each.chain?.includes(node));
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

  describe(box) {
    const { data } = this;
    if (box.value !== undefined) {
      return { title: shown(data.valueName(box.value), 26), text: data.valueType(box.value).slice(0, 34), label: `${box.isInput ? "Input" : "Output"} ${shown(data.valueName(box.value), 80)}, ${data.valueType(box.value)}` };
    }
    if (box.chain) {
      const words = box.chain.map((i) => data.operator(i));
      const title = words.length > 3 ? `${words[0]} → … → ${words[words.length - 1]}` : words.join(" → ");
      return { title: shown(title, 30), text: `${box.chain.length} in a row`, label: `Chain of ${box.chain.length} nodes: ${words.slice(0, 10).join(", ")}` };
    }
    if (box.group) {
      const { group } = box;
      const times = group.repeats ? ` × ${group.repeats}` : "";
      return { title: shown(group.name, 24) + times, text: plural(group.count, "node"), label: `Group ${shown(group.name, 80)}${times}, ${plural(group.count, "node")}, ${group.low} in ${data.dtype}, ${group.high} in float32` };
    }
    const i = box.node;
    const name = plainName(data, i); // which may say no more than the operator does: then the shape does
    const says = name.startsWith(data.operator(i)) && data.outputsOf(i).length ? data.valueType(data.outputsOf(i)[0]) : name;
    return { title: shown(data.operator(i), 26), text: shown(says, 30), label: `${shown(data.operator(i), 60)} ${shown(data.path(i), 120)}, ${KIND_WORDS(data)[data.kind(i)]}, ${(REASONS[data.reason(i)] || ["", data.reason(i)])[1]}` };
  }

  layOut(boxes) {
    const layout = new dagre.graphlib.Graph();
    layout.setGraph({ rankdir: "TB", nodesep: 18, ranksep: 44, ranker: "tight-tree" });
    for (const box of boxes) {
      box.words = this.describe(box);
      box.width = Math.max(84, Math.min(270, 22 + Math.max(box.words.title.length * 8.1, box.words.text.length * 6.4)));
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
    this.size = layout.graph();
  }

  draw() {
    const parts = [...this.edges.map((edge) => this.drawEdge(edge)), ...this.boxes.map((box) => this.drawBox(box))];
    this.layer.replaceChildren(...parts);
  }

  drawEdge(edge) {
    const [first, ...rest] = edge.points;
    let d = `M${first.x},${first.y}`;
    for (let k = 0; k < rest.length - 1; ++k) d += ` Q${rest[k].x},${rest[k].y} ${(rest[k].x + rest[k + 1].x) / 2},${(rest[k].y + rest[k + 1].y) / 2}`;
    const last = rest[rest.length - 1];
    d += ` L${last.x},${last.y}`;
    const name = edge.casts.size ? "castedge" : "edge";
    const line = svg("path", { class: name, d, "marker-end": `url(#arrow-${name})` });
    line.append(svg("title", {}, `${[...edge.values].slice(0, 5).map((v) => `${shown(this.data.valueName(v), 80)} ${this.data.valueType(v)}`).join("\n")}`));
    if (edge.casts.size === 0) return line;
    const m = Math.min(edge.points.length - 2, Math.max(1, Math.floor((edge.points.length - 1) / 2)));
    const middle = { x: (edge.points[m].x + edge.points[m + 1].x) / 2, y: (edge.points[m].y + edge.points[m + 1].y) / 2 };
    const casts = [...edge.casts];
    const bytes = casts.reduce((sum, cast) => (sum < 0 || cast.bytes < 0 ? -1 : sum + cast.bytes), 0);
    const mark = svg("g", { class: "cast", transform: `translate(${middle.x},${middle.y})` }, svg("path", { d: "M0,-6 L6,0 L0,6 L-6,0 z" }), svg("text", { x: 9, y: 4 }, bytes < 0 ? "cast" : bytesText(bytes)));
    mark.append(svg("title", {}, casts.map((cast) => `${shown(cast.valueName, 80)}: ${cast.from} → ${cast.to}, ${movedText(cast.bytes)}`).join("\n")));
    return svg("g", {}, line, mark);
  }

  drawBox(box) {
    const { data } = this;
    const { width: w, height: h } = box;
    const node = box.chain ? box.chain[0] : box.node;
    const classes = ["box"];
    if (box.outside) classes.push("outside");
    if (box.value !== undefined) classes.push("port");
    else if (box.group) classes.push("group");
    else classes.push(data.kind(node), `by-${data.border(node)}`);
    if (box.node === this.selected && this.selected >= 0) classes.push("selected");
    const g = svg("g", { class: classes.join(" "), role: "button", tabindex: -1, "aria-label": box.words.label, transform: `translate(${box.x - w / 2},${box.y - h / 2})` });
    if (box.group?.repeats || box.chain) for (const shift of [6, 3]) g.append(svg("rect", { class: "behind", x: shift, y: shift, width: w, height: h, rx: 6 }));
    g.append(svg("rect", { class: "shape", width: w, height: h, rx: box.value !== undefined ? h / 2 : 6 }));
    g.append(svg("text", { class: "title", x: w / 2, y: 17, "text-anchor": "middle" }, box.words.title));
    g.append(svg("text", { class: "text", x: w / 2, y: 31, "text-anchor": "middle" }, box.words.text));
    if (box.group && !box.outside) {
      const { low, high, count } = box.group;
      const bar = partsBar([["low", low, data.dtype], ["high", high, "float32"], ["other", count - low - high, "no float"]]);
      for (const [name, value] of Object.entries({ x: 10, y: h - 13, width: w - 20, height: 6 })) bar.setAttribute(name, value);
      g.append(bar);
    }
    g.append(svg("title", {}, box.words.label));
    g.addEventListener("click", () => !this.dragged && this.activate(box));
    g.addEventListener("focus", () => (this.focused = box));
    box.element = g;
    return g;
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

  up() {
    if (this.open.parent) this.show(this.open.parent);
  }

  drawCrumbs() {
    const path = groupPath(this.open);
    const items = path.map((group, k) => {
      const name = k === 0 ? "model" : shown(group.name, 40) + (group.repeats ? ` × ${group.repeats}` : "");
      if (k === path.length - 1) return el("b", { "aria-current": "location" }, name);
      return el("button", { type: "button", class: "link", onclick: () => this.show(group) }, name);
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
    const top = this.boxes.reduce((a, b) => (b.y < a.y ? b : a)).x;
    this.transform = { k, x: w / 2 - (k > across ? top : this.size.width / 2) * k, y: Math.max(48, (h - 48 - this.size.height * k) / 2) };
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
      from = { x: e.clientX, y: e.clientY, ...{ left: this.transform.x, top: this.transform.y } };
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
    else if (e.key === "Escape" || e.key === "Backspace") this.up();
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
