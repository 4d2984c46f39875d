// The state of the run beside the conversation: agents, plan, and changed files. Agents come from the run's status; of a
// run that had ended before the page came, they are what its events told.
import { h, byId, put } from "./dom.js";
import { dollars, plural } from "./text.js";

const agents = new Map(); // by id, as events tell: {id, name, mode, status, context_pct, cost_usd, doing, subs}
let status = null; // of the run; the last one, if no process plays it any more
let alive = false;
let rehearsal = false; // nobody pays what is shown
const files = new Map(); // by path: {status, added, deleted, agents}
let total = null; // of the result
let plan = [];
const prices = new Map(); // forecasts, by number of step; 0: of the whole plan
const merges = [];
let dirty = true;

export function nameOf(id) {
  if (id === "human") return "You";
  if (id === "supervisor") return "Arbiter's supervisor";
  const live = status?.agents?.find((a) => a.id === id), told = agents.get(id);
  const name = live?.name || told?.name || (id === "arbiter" ? "The Arbiter" : id || "An agent");
  const { host, make } = live ?? told ?? {};
  return (name.length > 80 ? name.slice(0, 80) + "…" : name) + (host ? " @" + host.slice(0, 80) : "") +
    (make ? ` [${make.slice(0, 80)}]` : "");
}

// unknown is whether a live run has cost more than what it is said to have cost.
export const unknown = () => status?.agents?.some((a) => a.cost_unknown);

// tint is the color of an agent: a class of the style sheet.
export function tint(id) {
  if (id === "human" || id === "arbiter" || id === "supervisor") return "by-" + id;
  return "by-orch-" + (Number(/\d+$/.exec(id)?.[0] ?? 0) % 6);
}

export function live(now, isRehearsal) { alive = now; rehearsal = isRehearsal; dirty = true; draw(); }

function known(id) {
  let a = agents.get(id);
  if (!a) agents.set(id, a = { id, name: "", status: "", context_pct: 0, cost_usd: 0, doing: "", subs: new Map() });
  return a;
}

// over notes that an agent has no process, and nothing that runs in one.
function over(a) {
  Object.assign(a, { status: "ended", doing: "" });
  a.subs.clear();
}

// event takes up what an event tells of agents, plan and files.
export function event(e) {
  const before = dirty;
  dirty = true;
  switch (e.event) {
    case "session":
      total = null;
      for (const a of agents.values()) over(a);
      break;
    case "spawn": Object.assign(known(e.id), { name: e.name, host: e.host, make: e.make, mode: e.mode, status: "ready", doing: "" }); break;
    case "done": over(known(e.id)); break;
    case "context": known(e.id).context_pct = e.pct; break;
    case "turn": {
      const a = known(e.id);
      a.cost_usd += e.cost_usd ?? 0;
      a.cost_unknown ||= e.cost_unknown;
      a.doing = "";
      a.subs.clear();
      break;
    }
    case "tool_use":
      if (!e.subagent && !e.tool.startsWith("mcp__arbiter__")) known(e.id).doing = `${e.tool} ${e.sentence}`;
      break;
    case "tool_result": if (!e.subagent) known(e.id).doing = ""; break;
    case "subagent_start": known(e.id).subs.set(e.tool_use, e.description); break;
    case "subagent_stop": known(e.id).subs.delete(e.tool_use); break;
    case "plan": plan = e.steps ?? []; break;
    case "forecast": if (e.id === "supervisor") forecast(e); break;
    case "changes": for (const f of e.files ?? []) changed(f); break;
    case "merge": merges.push(e); break;
    case "result": total = e.changes ?? null; break;
    default: dirty = before;
  }
}

function forecast(e) {
  if (e.step === 0) prices.clear();
  if (e.sentence) prices.set(e.step, e.sentence);
}

// price is the forecast of a step that is not done; of step 0, of the plan.
function price(step, status) {
  const open = status === "pending" || status === "active";
  return open && prices.has(step) ? h("span", { class: "quiet" }, " " + prices.get(step)) : null;
}

function changed(f) {
  const old = files.get(f.old || f.path);
  if (f.old) files.delete(f.old);
  files.set(f.path, {
    status: old?.status === "added" && f.status === "modified" ? "added" : f.status,
    added: (old?.added ?? 0) + f.added, deleted: (old?.deleted ?? 0) + f.deleted,
    agents: [...new Set([...(old?.agents ?? []), ...(f.agents ?? [])])],
  });
}

export function draw() {
  if (!dirty) return;
  dirty = false;
  drawAgents();
  drawPlan();
  drawFiles();
}

export function setStatus(st) { status = st; dirty = true; draw(); }
export { setStatus as status };

function drawAgents() {
  const list = status?.agents ?? [...agents.values()];
  const rows = list.map((a) => row(a, agents.get(a.id)));
  const top = rows.filter((_, i) => list[i].id === "arbiter");
  const rest = rows.filter((_, i) => list[i].id !== "arbiter");
  if (top.length > 0 && rest.length > 0) top[0].append(h("ul", { class: "agents" }, ...rest));
  byId("agents").replaceChildren(...(top.length > 0 ? top : rest));
}

function row(a, told) {
  const pct = Math.max(0, Math.min(100, Math.round(a.context_pct ?? 0)));
  const bar = h("span");
  bar.style.width = pct + "%";
  const over = !alive || a.status === "ended";
  const state = !alive ? "ended" : a.status;
  const name = nameOf(a.id);
  return h("li", { class: "agent " + tint(a.id) + (over ? " over" : ""), "data-agent": a.id },
    h("div", { class: "agent-head" }, h("span", { class: "dot", "aria-hidden": "true" }),
      h("strong", null, name), a.mode ? h("span", { class: "quiet" }, a.mode) : null,
      h("span", { class: "state", "data-state": state }, (alive && a.does) || state)),
    h("div", { class: "gauge" },
      h("div", { class: "meter", role: "meter", "aria-label": "Context of " + name, "aria-valuemin": "0",
        "aria-valuemax": "100", "aria-valuenow": String(pct), "aria-valuetext": `${pct} percent of the context used`,
        "data-level": pct >= 85 ? "high" : pct >= 70 ? "warn" : "ok" }, bar),
      h("span", { class: "num" }, a.context_unknown ? "unknown" : pct + " %"),
      h("span", { class: "num" }, dollars(a.cost_usd, rehearsal) + (a.cost_unknown ? " and what is unknown" : ""))),
    a.attached ? h("p", { class: "quiet" }, "Open in a terminal: " + a.attached) : null,
    !over && told?.doing ? h("p", { class: "doing" }, told.doing.slice(0, 200)) : null,
    status?.fuses?.[a.id] ? h("p", { class: "quiet fuse" }, status.fuses[a.id]) : null,
    !over && a.subagents ? h("p", { class: "quiet" },
      `${a.subagents}${a.max_subagents ? " of " + a.max_subagents : ""} ${a.subagents === 1 && !a.max_subagents ? "subagent" : "subagents"} at work`) : null,
    !over && told?.subs?.size ? h("ul", { class: "subs" },
      ...[...told.subs.values()].map((d) => h("li", null, "Subagent: " + d))) : null);
}

const marks = { done: "✓", active: "▸", failed: "✗", skipped: "–", pending: "○" };

function drawPlan() {
  byId("plan").parentElement.hidden = plan.length === 0;
  byId("plan").replaceChildren(...plan.map((s, i) => h("li", { "data-status": s.status },
    h("span", { class: "mark", role: "img", "aria-label": s.status }, marks[s.status] ?? "○"),
    h("span", null, s.text, s.agent ? h("span", { class: "quiet" }, " " + nameOf(s.agent)) : null, price(i + 1, s.status)))));
}

const plusMinus = (added, deleted) => [
  h("span", { class: "plus" }, "+" + added), " ", h("span", { class: "minus" }, "−" + deleted)];

function drawFiles() {
  let added = 0, deleted = 0;
  for (const f of files.values()) [added, deleted] = [added + f.added, deleted + f.deleted];
  const sum = total ?? { files: files.size, added, deleted };
  byId("files-sum").replaceChildren(...(sum.files === 0 ? ["No file has changed."]
    : [plural(sum.files, "file"), " ", ...plusMinus(sum.added, sum.deleted), total ? "" : ", summed over the turns"]));
  const last = merges.at(-1);
  if (last?.status === "conflict") {
    byId("files-sum").append(h("br"), `A merge of ${nameOf(last.id)} is in conflict.`);
  }
  byId("files").replaceChildren(...[...files].slice(0, 500).map(([path, f]) => h("li", null,
    h("span", { class: "path" }, h("bdi", null, path)),
    h("span", { class: "num" }, f.status === "deleted" ? "deleted" : "", " ", ...plusMinus(f.added, f.deleted)),
    h("span", { class: "who quiet" }, f.agents.map(nameOf).join(", ")))));
  if (files.size > 500) byId("files").append(h("li", { class: "quiet" }, `and ${files.size - 500} more`));
}
