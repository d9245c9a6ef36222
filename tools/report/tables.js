// Tables that sort, filter, and go to CSV. Rows are drawn some hundreds at a time.
import { download, el, plural, shown } from "./elements.js";
const ROWS = 200;

// A cell that a spreadsheet would take for a formula is quoted for it, too: names are strangers'.
function csvCell(value) {
  let text = String(value);
  if (typeof value === "string" && /^[=+\-@\t\r]/.test(text)) text = `'${text}`;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

// `columns`: {title, value: row => text or number, cell: row => what is shown (default: the value), align}; `search`:
// row => text in which the words of a filter are looked for; `sort`: the column to begin with, the largest first.
export function table({ name, columns, rows, search, onrow, sort }) {
  if (rows.length === 0) return el("p.quiet", `There are no ${name}.`);
  let order = rows;
  let drawn = 0;
  let sorted = { column: -1, down: false };
  const body = el("tbody");
  const count = el("span.quiet", { role: "status" });
  const more = el("button.more", { onclick: () => draw(ROWS * 5) }, "Show more");
  const cell = (column, row) => {
    const content = column.cell ? column.cell(row) : shown(String(column.value(row)), 200);
    return el("td", { class: column.align }, content instanceof Node ? content : el("bdi", content));
  };
  const onkeydown = (row) => (e) => e.key === "Enter" && onrow(row);
  const opens = (row) => ({ class: "opens", tabindex: 0, onclick: () => onrow(row), onkeydown: onkeydown(row) });
  const draw = (howMany) => {
    const next = order.slice(drawn, drawn + howMany);
    body.append(...next.map((row) => el("tr", onrow ? opens(row) : {}, columns.map((column) => cell(column, row)))));
    drawn += next.length;
    more.hidden = drawn >= order.length;
    const all = plural(rows.length, "row");
    count.textContent = order.length === rows.length ? all : `${order.length.toLocaleString("en")} of ${all}`;
  };
  const apply = () => {
    const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    const hasAll = (text) => words.every((word) => text.includes(word));
    order = words.length ? rows.filter((row) => hasAll(search(row).toLowerCase())) : rows;
    if (sorted.column >= 0) {
      const { value } = columns[sorted.column];
      const keys = new Map(order.map((row) => [row, value(row)]));
      const sign = sorted.down ? -1 : 1;
      order = [...order].sort((a, b) => {
        const [x, y] = [keys.get(a), keys.get(b)];
        if (typeof x !== typeof y) return typeof x === "number" ? 1 : -1; // "nan", "inf" first
        return x < y ? -sign : x > y ? sign : 0;
      });
    }
    body.replaceChildren();
    drawn = 0;
    draw(ROWS);
  };
  const filter = el("input", { type: "search", placeholder: "Filter", "aria-label": `Filter ${name}`, oninput: apply });
  const sortBy = (c, down) => {
    sorted = { column: c, down };
    const word = down ? "descending" : "ascending";
    heads.forEach((head, k) => head.setAttribute("aria-sort", k === c ? word : "none"));
    apply();
  };
  // Numbers begin with the largest, words with the first.
  const isNumber = (column) => rows.slice(0, 9).some((row) => typeof column.value(row) === "number");
  const heads = columns.map((column, c) => {
    const onclick = () => sortBy(c, sorted.column === c ? !sorted.down : isNumber(column));
    const properties = { scope: "col", class: column.align, "aria-sort": "none" };
    return el("th", properties, el("button", { onclick }, column.title));
  });
  const csv = () => {
    const lines = [columns.map((column) => column.title)];
    for (const row of order) lines.push(columns.map((column) => column.value(row)));
    download(`${name}.csv`, "text/csv", lines.map((line) => `${line.map(csvCell).join(",")}\r\n`).join(""));
  };
  if (sort !== undefined) sortBy(sort, true);
  else apply();
  return el(
    "div.tablebox",
    el("div.toolbar", filter, count, el("button", { onclick: csv }, "Save as CSV")),
    el("div.scroll", { tabindex: 0, role: "region", "aria-label": `Table of ${name}` },
      el("table", el("thead", el("tr", heads)), body), more),
  );
}
