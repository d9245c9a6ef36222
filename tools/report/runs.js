// The page of runs: where the time and the memory of one went, how trainings went, or how far two models are apart.
import { byId, bytesText, el, factList, numberText, plural, say, shown } from "./elements.js";
import { makeTheme, Tabs } from "./frame.js";
import { lineChart, treemap } from "./plots.js";
import { table } from "./tables.js";

const data = JSON.parse(byId("data").textContent);
const AREAS = 400; // of a treemap: what takes less time is one
const card = (title, ...content) => el("section.card", el("h2", title), content);
const msText = (us) => `${numberText(us / 1000)} ms`;

// ---- one run --------------------------------------------------------------------------------------------------------

function profileParts() {
  const [PATH, OP, KERNEL, START, US] = [0, 1, 2, 3, 4];
  const nodes = data.nodes;
  const inNodes = nodes.reduce((sum, node) => sum + node[US], 0);
  const shareText = (us) => `${((100 * us) / (data.run_us || 1)).toFixed(1)} %`;
  const sums = new Map();
  for (const node of nodes) {
    const sum = sums.get(node[OP]) || { op: node[OP], calls: 0, us: 0 };
    sum.calls += 1;
    sum.us += node[US];
    sums.set(node[OP], sum);
  }
  const operators = [...sums.values()].sort((a, b) => b.us - a.us);
  // Neighbours of a treemap are of one operator, and take turns in colour with the next.
  const order = new Map(operators.map(({ op }, i) => [op, i]));
  const largest = nodes.map((node, i) => [node, i]).sort((a, b) => b[0][US] - a[0][US]);
  const area = ([node]) => ({
    name: node[PATH] || node[OP],
    amount: node[US],
    text: `${node[OP]}, ${msText(node[US])}, ${shareText(node[US])}, ${node[KERNEL]}`,
    kind: `area${order.get(node[OP]) % 4}`,
    op: order.get(node[OP]),
  });
  const areas = largest.slice(0, AREAS).map(area).sort((a, b) => a.op - b.op || b.amount - a.amount);
  const rest = largest.slice(AREAS).reduce((sum, [node]) => sum + node[US], 0);
  if (rest > 0) areas.push({ name: "all other nodes", amount: rest, text: msText(rest), kind: "other" });
  const number = (title, value, text) => ({ title, align: "number", value, cell: (row) => text(value(row)) });
  const most = data.alive.reduce((largest, [, bytes]) => Math.max(largest, bytes), 0);
  const time = () => [
    el("div.cards.two", card(
      "The run",
      el("p.big", msText(data.run_us)),
      factList([
        ["model", data.model],
        ["nodes that ran", nodes.length.toLocaleString("en")],
        ["between nodes", `${msText(data.run_us - inNodes)}, ${shareText(data.run_us - inNodes)}`],
        ["values alive at most", data.alive.length ? bytesText(most) : ""],
        ["weights", bytesText(data.weight_bytes)],
      ], (text) => el("bdi", shown(text))),
    ), card("By operator", table({
      name: "operators",
      columns: [
        { title: "operator", value: (row) => row.op },
        number("calls", (row) => row.calls, (calls) => calls.toLocaleString("en")),
        number("time", (row) => row.us, msText),
        number("share", (row) => row.us / (data.run_us || 1), (share) => `${(100 * share).toFixed(1)} %`),
      ],
      rows: operators,
      search: (row) => row.op,
    }))),
    card("By node", treemap(areas, "Time of nodes"), el("p.quiet", "Each area is a node, as large as its time.")),
  ];
  const list = () => table({
    name: "nodes",
    columns: [
      { title: "node", value: (node) => node[PATH], cell: (node) => shown(node[PATH], 90) },
      { title: "operator", value: (node) => node[OP] },
      { title: "kernel", value: (node) => node[KERNEL] },
      number("began at", (node) => node[START], msText),
      number("time", (node) => node[US], msText),
      number("share", (node) => node[US] / (data.run_us || 1), (share) => `${(100 * share).toFixed(1)} %`),
    ],
    rows: nodes,
    search: (node) => [node[PATH], node[OP], node[KERNEL]].join("\n"),
    sort: 4,
  });
  const memory = () => {
    if (data.alive.length === 0) return el("p.quiet", "Nothing is known of the values of this run.");
    const most = data.alive.reduce((a, b) => (b[1] > a[1] ? b : a));
    const chart = lineChart({
      title: "Bytes of values that are alive",
      unit: "nodes of the main graph, in the order of the run",
      series: [{ name: "alive", points: data.alive.map(([, bytes], i) => [i + 1, bytes]) }],
      yText: (bytes) => bytesText(Math.round(bytes)),
      stays: true,
      fromZero: true,
    });
    const text = `The most, ${bytesText(most[1])}, is alive while ${shown(most[0], 90)} runs. Weights are not counted.`;
    return el("div", chart, el("p", text));
  };
  return {
    title: `${data.model.split("/").pop()}: a run`,
    subtitle: `profiled by amp-run ${data.version}`,
    parts: {
      time: ["Time", () => el("div", time())],
      nodes: ["Nodes", list, nodes.length],
      memory: ["Memory", memory],
    },
  };
}

// ---- trainings ------------------------------------------------------------------------------------------------------

const CURVES = [
  ["Loss", ["loss", "test_loss"]],
  ["Accuracy", ["accuracy", "test_accuracy"]],
  ["Mean absolute error", ["mean_absolute_error", "test_mean_absolute_error"]],
  ["Loss scale", ["loss_scale"]],
  ["Skipped steps", ["skipped"]],
  ["Learning rate", ["learning_rate"]],
  ["Milliseconds per step", ["ms_per_step"]],
];
const runs = []; // {name, columns, rows}

function parseCsv(name, text) {
  const lines = text.trim().split(/\r?\n/).map((line) => line.split(","));
  const columns = lines.shift();
  if (columns[0] !== "epoch" || !columns.includes("loss")) return null;
  const words = { "": null, nan: NaN, inf: Infinity, "-inf": -Infinity };
  const numberOf = (cell) => (Object.hasOwn(words, cell) ? words[cell] : Number(cell));
  return { name, columns, rows: lines.map((cells) => cells.map(numberOf)) };
}

function curves() {
  const pointsOf = (run, column) => {
    const k = run.columns.indexOf(column);
    return k < 0 ? [] : run.rows.map((row) => [row[0], row[k]]);
  };
  return CURVES.map(([title, columns]) => {
    const nameOf = (run, column) => {
      const of = runs.length > 1 ? [run.name] : [];
      if (columns.length > 1) of.push(column.startsWith("test") ? "test" : "training");
      return of.join(", ") || title;
    };
    const seriesOf = (run) => columns.map((column) => ({ name: nameOf(run, column), points: pointsOf(run, column) }));
    const series = runs.flatMap(seriesOf);
    return lineChart({
      title,
      unit: "epochs",
      series: series.filter(({ points }) => points.some(([, y]) => Number.isFinite(y))),
      stays: title === "Learning rate" || title === "Loss scale",
    });
  });
}

async function readRun(file) {
  const text = await file.text();
  const data = text.match(/<script type="application\/json" id="data">([^]*?)<\/script>/)?.[1];
  return parseCsv(file.name, data ? JSON.parse(data).csv : text);
}

async function addRuns(input) {
  const files = [...input.files];
  const refused = [];
  for (const file of files) {
    const run = await readRun(file).catch(() => null);
    if (run) runs.push(run);
    else refused.push(file.name);
  }
  input.value = ""; // the same file may be given again
  const names = refused.map((name) => shown(name, 60)).join(", ");
  byId("refused").textContent = names && `Not a log of amp-train: ${names}`;
  if (!names) say(`${plural(files.length, "run")} added`);
  byId("plots").replaceChildren(...curves().filter(Boolean));
}

function trainingParts() {
  runs.push(parseCsv(data.name, data.csv));
  const last = runs[0].rows.at(-1) || [];
  const of = (column) => last[runs[0].columns.indexOf(column)];
  const onchange = (e) => addRuns(e.target);
  const input = el("input", { type: "file", multiple: true, accept: ".csv,.html", id: "files", onchange });
  const all = () => el(
    "div",
    el("p.toolbar", el("label", { for: "files" }, "Draw other runs over these (their CSV or HTML logs): "), input,
      el("span", { id: "refused", role: "alert" })),
    el("div.cards", { id: "plots" }, curves()),
  );
  const cell = (x) => (x === null ? "" : numberText(x));
  const number = (title, k) => ({ title, align: "number", value: (row) => row[k], cell: (row) => cell(row[k]) });
  const epochs = () => table({
    name: "epochs",
    columns: runs[0].columns.map(number),
    rows: runs[0].rows,
    search: (row) => row.join("\n"),
  });
  const said = (name) => (Number.isFinite(of(name)) ? `; ${name} ${numberText(of(name))}` : "");
  return {
    title: `${data.model.split("/").pop()}: a training`,
    subtitle: `${plural(runs[0].rows.length, "epoch")} by amp-train ${data.version}${said("loss")}${said("accuracy")}`,
    parts: { curves: ["Curves", all], epochs: ["Epochs", epochs, runs[0].rows.length] },
  };
}

// ---- two models -----------------------------------------------------------------------------------------------------

function comparisonParts() {
  const [NAME, NODE, OP, TYPE, ERROR, LARGEST, NEW, MISFIT, PLACE] = [0, 1, 2, 3, 4, 5, 6, 8, 9];
  data.values.forEach((value, i) => value.push(i + 1));
  const isBeyond = (value) => value[ERROR] > data.tolerance || value[NEW] > 0 || value[MISFIT] !== "";
  const first = data.values.findIndex(isBeyond);
  const number = (title, k) => ({ title, align: "number", value: (row) => row[k], cell: (row) => numberText(row[k]) });
  const word = (title, k) => ({ title, value: (row) => row[k], cell: (row) => shown(row[k], 70) });
  const outputs = () => el(
    "div",
    card(data.verdict ? "The models differ" : "The models agree", el("p", el("bdi", shown(data.verdict || "", 400))),
      factList([["model", data.model], ["other", data.other], ["tolerance", String(data.tolerance)]],
        (text) => el("bdi", shown(text)))),
    table({
      name: "outputs",
      columns: [
        word("output", 0), number("relative error", 2), number("largest error", 3), number("cosine", 4),
        number("newly not finite", 5), number("unequal", 6), number("elements", 7), word("misfit", 1),
      ],
      rows: data.outputs,
      search: (row) => row[0],
    }),
  );
  const along = () => {
    const points = data.values.map((value, i) => [i + 1, value[ERROR] > 0 ? Math.log10(value[ERROR]) : NaN]);
    const limit = [[1, Math.log10(data.tolerance)], [points.length, Math.log10(data.tolerance)]];
    const chart = lineChart({
      title: "Relative error of values, on a logarithmic scale",
      unit: "values, in the order of the run",
      series: [{ name: "relative error", points }, { name: "tolerance", points: limit }],
      yText: (power) => (10 ** power).toExponential(1),
    });
    const value = data.values[first];
    const where = value && `${shown(value[NAME], 80)} of ${shown(value[NODE], 80)} (${value[OP]})`;
    const text = value ? `The first value beyond the tolerance is ${where}.` : "No value is beyond the tolerance.";
    return el("div", chart, el("p", { id: "first" }, text),
      table({
        name: "values",
        columns: [
          number("place", PLACE),
          word("value", NAME), word("node", NODE), word("operator", OP), word("type there", TYPE),
          number("relative error", ERROR), number("largest error", LARGEST), number("newly not finite", NEW),
          word("misfit", MISFIT),
        ],
        rows: data.values,
        search: (row) => [row[NAME], row[NODE], row[OP], row[TYPE]].join("\n"),
      }));
  };
  return {
    title: `${data.model.split("/").pop()} and ${data.other.split("/").pop()}`,
    subtitle: `compared by amp-run ${data.version}: ${data.verdict ? "they differ" : "they agree"}`,
    parts: {
      outputs: ["Outputs", outputs, data.outputs.length],
      along: ["Along the graph", along, data.values.length],
    },
  };
}

const page = { profile: profileParts, training: trainingParts, comparison: comparisonParts }[data.kind]();
document.title = shown(page.title, 80);
byId("title").textContent = shown(page.title, 80);
byId("subtitle").textContent = page.subtitle;
const tabs = new Tabs(page.parts);
makeTheme();
tabs.show(Object.keys(page.parts)[0]);
addEventListener("beforeprint", () => Object.keys(page.parts).forEach((name) => tabs.fill(name)));
