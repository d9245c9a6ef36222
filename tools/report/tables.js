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
// row => text in which the words of a filter are looked for.
export function table({ name, columns, rows, search, onrow, sort }) {
  let order = rows;
  let drawn = 0;
  let sorted = { column: -1, down: false };
  const body = el("tbody", {});
  const count = el("span", { class: "quiet", role: "status" });
  const more = el("button", { type: "button", class: "more", onclick: () => draw(ROWS * 5) }, "Show more");
  const draw = (howMany) => {
    const end = Math.min(order.length, drawn + howMany);
    for (; drawn < end; ++drawn) {
      const row = order[drawn];
      const cells = columns.map((column) => {
        const content = column.cell ? column.cell(row) : shown(String(column.value(row)), 200);
        return el("td", { class: column.align }, content instanceof Node ? content : el("bdi", {}, content));
      });
      const line = el("tr", onrow ? { class: "opens", tabindex: 0, onclick: () => onrow(row), onkeydown: (e) => e.key === "Enter" && onrow(row) } : {}, cells);
      body.append(line);
    }
    count.textContent = order.length === rows.length ? plural(rows.length, "row") : `${order.length.toLocaleString("en")} of ${plural(rows.length, "row")}`;
    more.hidden = drawn >= order.length;
  };
  const redraw = () => {
    body.replaceChildren();
    drawn = 0;
    draw(ROWS);
  };
  const filter = el("input", { type: "search", placeholder: "Filter", "aria-label": `Filter ${name}`, oninput: () => apply() });
  const apply = () => {
    const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    order = words.length ? rows.filter((row) => words.every((word) => search(row).toLowerCase().includes(word))) : rows;
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
    redraw();
  };
  const heads = columns.map((column, c) =>
    el("th", { scope: "col", class: column.align, "aria-sort": "none" }, el("button", { type: "button", onclick: () => sortBy(c, sorted.column === c ? !sorted.down : typeof column.value(rows[0] ?? {}) === "number") }, column.title)),
  );
  const sortBy = (c, down) => {
    sorted = { column: c, down };
    heads.forEach((head, k) => head.setAttribute("aria-sort", k !== c ? "none" : down ? "descending" : "ascending"));
    apply();
  };
  const csv = () => {
    const lines = [columns.map((column) => csvCell(column.title)), ...order.map((row) => columns.map((column) => csvCell(column.value(row))))];
    download(`${name}.csv`, "text/csv", `${lines.map((line) => line.join(",")).join("\r\n")}\r\n`);
  };
  if (rows.length === 0) return el("p", { class: "quiet" }, `There are no ${name}.`);
  if (sort !== undefined) sortBy(sort, true);
  else redraw();
  return el(
    "div",
    { class: "tablebox", "data-table": name },
    el("div", { class: "toolbar" }, filter, count, el("button", { type: "button", onclick: csv }, "Save as CSV")),
    el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": `Table of ${name}` }, el("table", {}, el("thead", {}, el("tr", {}, heads)), body), more),
  );
}
