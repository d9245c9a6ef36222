// Elements of the page. Text from the data becomes text nodes, and nothing else.
// make("p.big.quiet", { id: "x", onclick: f }, child, [children]): tag and classes, then properties, if there are any.
function make(space, words, rest) {
  const [tag, ...classes] = words.split(".");
  const element = document.createElementNS(space, tag);
  const properties = rest[0]?.constructor === Object ? rest.shift() : {};
  if (classes.length) element.setAttribute("class", classes.join(" "));
  if (tag === "button") element.setAttribute("type", "button");
  for (const [name, value] of Object.entries(properties)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  for (const child of rest.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
  return element;
}

export const el = (words, ...rest) => make("http://www.w3.org/1999/xhtml", words, rest);
export const svg = (words, ...rest) => make("http://www.w3.org/2000/svg", words, rest);
export const byId = (id) => document.getElementById(id);
export const say = (text) => (byId("status").textContent = text);

const HIDDEN = /[\u0000-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g;

// Names as they are shown: what would not be seen, or would turn the text around, is told by its number; the middle of
// long ones is left out.
export function shown(text, most = 400) {
  const end = Math.floor(most * 0.4) - 1;
  const short = text.length <= most ? text : `${text.slice(0, most - end - 1)}…${text.slice(-end)}`;
  return short.replace(HIDDEN, (c) => `⟨U+${c.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}⟩`);
}

export function bytesText(bytes) {
  if (bytes < 0) return "unknown";
  if (bytes < 1000) return `${bytes} B`;
  if (bytes < 1e6) return `${(bytes / 1e3).toFixed(1)} kB`;
  return bytes < 1e9 ? `${(bytes / 1e6).toFixed(1)} MB` : `${(bytes / 1e9).toFixed(2)} GB`;
}

export const movedText = (bytes) => (bytes < 0 ? "of unknown size" : `${bytesText(bytes)} moved`);
export const plural = (count, noun) => `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;

export function numberText(value) {
  if (typeof value !== "number") return String(value);
  const isFar = value !== 0 && (Math.abs(value) < 1e-3 || Math.abs(value) >= 1e6);
  return isFar ? value.toExponential(2) : String(+value.toPrecision(4));
}

// A word of a shell's command line that stands for `text`.
export function shellWord(text) {
  if (/^[\w./:@%+,=-]+$/.test(text)) return text;
  if (!/[\u0000-\u001f\u007f]/.test(text)) return `'${text.replaceAll("'", "'\\''")}'`;
  const escape = (c) => (c === "'" || c === "\\" ? `\\${c}` : `\\x${c.charCodeAt(0).toString(16).padStart(2, "0")}`);
  return `$'${text.replace(/[\u0000-\u001f\u007f'\\]/g, escape)}'`;
}

export async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = el("textarea.offscreen", { "aria-hidden": "true" });
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
  say(`Copied: ${shown(text, 120)}`);
}

// A command or a flag, with a button that copies it.
export function copyable(text, label) {
  const properties = { "data-copies": text, "aria-label": `Copy ${label}`, onclick: () => copyText(text) };
  return el("div.copyable", el("code", shown(text)), el("button.copy", properties, "Copy"));
}

// A list of names and what they are, without those that are "".
export function factList(facts, wrap) {
  const said = facts.filter(([, text]) => text !== "");
  return el("dl", said.map(([name, text]) => [el("dt", name), el("dd", wrap(String(text)))]));
}

export function download(name, type, text) {
  const link = el("a", { href: URL.createObjectURL(new Blob([text], { type })), download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}
