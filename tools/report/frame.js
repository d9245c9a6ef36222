// What pages share around their parts: tabs, and the theme.
import { byId, el } from "./elements.js";

// `tabs`: by name, [title, what makes the content when it is first shown, a count or nothing]. `onshow` is told the
// name of each that is shown.
export class Tabs {
  constructor(tabs, onshow = () => {}) {
    this.tabs = tabs;
    this.onshow = onshow;
    const names = Object.keys(tabs);
    const move = (name, e) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[e.key];
      if (!step) return;
      const next = names[(names.indexOf(name) + step + names.length) % names.length];
      this.show(next);
      byId(`to-${next}`).focus();
    };
    for (const name of names) {
      const acts = { onclick: () => this.show(name), onkeydown: (e) => move(name, e) };
      const properties = { id: `to-${name}`, role: "tab", "aria-controls": `tab-${name}`, ...acts };
      const [title, , number] = tabs[name];
      const count = number === undefined ? null : el("span.count", number.toLocaleString("en"));
      byId("tabs").append(el("button", properties, title, count));
      const panel = { id: `tab-${name}`, role: "tabpanel", "aria-labelledby": `to-${name}`, hidden: true };
      byId("main").append(el("section", panel));
    }
  }

  fill(name) {
    const section = byId(`tab-${name}`);
    if (section.childElementCount === 0) section.append(this.tabs[name][1]());
  }

  show(name) {
    for (const other of Object.keys(this.tabs)) {
      byId(`tab-${other}`).hidden = other !== name;
      byId(`to-${other}`).setAttribute("aria-selected", String(other === name));
      byId(`to-${other}`).tabIndex = other === name ? 0 : -1;
    }
    this.fill(name);
    this.onshow(name);
  }
}

export function makeTheme() {
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
