// rich makes nodes of a text in which agents use a little Markdown: code blocks, inline code, bold, headings and lists.
// Everything else stays as it was written. There are no links and no pictures: nothing leads away from this page.
import { h } from "./dom.js";

const fence = /^\s{0,3}(```+|~~~+)/;

export function rich(text) {
  const out = document.createDocumentFragment();
  const lines = text.split("\n");
  let plain = [];
  const flush = () => {
    if (plain.join("").trim()) out.append(h("div", { class: "prose" }, ...plain.flatMap(line)));
    plain = [];
  };
  for (let i = 0; i < lines.length; i++) {
    const mark = fence.exec(lines[i]);
    if (!mark) {
      plain.push(lines[i]);
      continue;
    }
    flush();
    const code = [];
    for (i++; i < lines.length && !lines[i].trim().startsWith(mark[1]); i++) code.push(lines[i]);
    out.append(h("pre", { tabindex: "0", role: "region", "aria-label": "Code" }, h("code", null, code.join("\n"))));
  }
  flush();
  return out;
}

// line makes nodes of one line, with its line feed.
function line(text, i) {
  const nodes = i > 0 ? ["\n"] : [];
  const heading = /^\s{0,3}#{1,6}\s+(.*)$/.exec(text);
  if (heading) return [...nodes, h("strong", null, ...spans(heading[1]))];
  const item = /^(\s*)[-*+]\s+(.*)$/.exec(text);
  if (item) return [...nodes, item[1] + "• ", ...spans(item[2])];
  return [...nodes, ...spans(text)];
}

// spans finds `code` and **bold** in a line.
function spans(text) {
  const nodes = [];
  let last = 0;
  for (const m of text.matchAll(/`([^`]+)`|\*\*([^*]+)\*\*/g)) {
    nodes.push(text.slice(last, m.index));
    nodes.push(m[1] !== undefined ? h("code", null, m[1]) : h("strong", null, m[2]));
    last = m.index + m[0].length;
  }
  nodes.push(text.slice(last));
  return nodes.filter((n) => n !== "");
}

// dollars writes an amount; simulated marks one that nobody pays, unknown one that is not all.
export function dollars(n, simulated, unknown) {
  const mark = (simulated ? " simulated" : "") + (unknown ? " + ?" : "");
  if (!(n > 0)) return "$0.00" + mark;
  return "$" + n.toFixed(n < 0.1 ? 3 : 2) + mark;
}

// clock is a time of day where the reader is, who may be elsewhere, with its date if that is another day.
export function clock(at) {
  const today = at.toDateString() === new Date().toDateString();
  const date = today ? {} : { day: "numeric", month: "short" };
  return at.toLocaleString([], { hour: "2-digit", minute: "2-digit", ...date });
}

export function span(ms) {
  const s = Math.max(0, Math.round(ms / 1000));
  if (s < 60) return s + " s";
  const m = Math.floor(s / 60);
  if (m < 60) return m + " min";
  const hours = Math.floor(m / 60);
  return hours < 48 ? `${hours} h ${m % 60} min` : Math.floor(hours / 24) + " days";
}

export function plural(n, one, many = one + "s") { return n === 1 ? `1 ${one}` : `${n} ${many}`; }
