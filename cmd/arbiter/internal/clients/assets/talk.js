// The conversation: messages of human, Arbiter and Orchestrators, what they did, and how the run ended.
import { h, byId, say } from "./dom.js";
import { rich, dollars, plural, clock } from "./text.js";
import { details } from "./tool.js";
import { nameOf, tint } from "./side.js";

// most is how many entries the page keeps.
const most = 1500;
const calls = new Map(); // tool calls without a result, by their id
const live = new Map(); // text that is still being written, by agent: {el, text}
let result = null, last = 0, ended = "", hidden = 0, replay = "arbiter replay";

const box = byId("scroll"), feed = byId("feed");
let following = true, top = 0;

// A reader who has scrolled up stays there. What else moves the end away, such as a narrower window, is followed.
box.addEventListener("scroll", () => {
  if (box.scrollHeight - box.scrollTop - box.clientHeight < 60) following = true;
  else if (box.scrollTop < top) following = false;
  top = box.scrollTop;
  byId("newest").hidden = following;
});
byId("newest").addEventListener("click", () => {
  following = true;
  toEnd();
  box.focus();
});
byId("tools").addEventListener("change", (e) => {
  feed.classList.toggle("no-tools", !e.target.checked);
  if (following) toEnd();
});
const toEnd = () => { box.scrollTop = box.scrollHeight; };
const sizes = new ResizeObserver(() => { if (following) toEnd(); });
for (const el of [box, feed, byId("outcome")]) sizes.observe(el);

// add appends what events tell.
export function add(list) {
  const nodes = document.createDocumentFragment();
  for (const e of list) {
    if (e.time) last = Date.parse(e.time);
    if (e.event === "delta") {
      piece(e);
      continue;
    }
    let el = null;
    try {
      el = entry(e);
    } catch (fault) { // one event must not keep the others away
      console.error(fault);
      el = note(e, "bad", `An event (${e.event}) cannot be shown here.`);
    }
    if (el) nodes.append(el);
  }
  feed.append(nodes);
  for (; feed.childElementCount > most; hidden++) feed.firstElementChild.remove();
  skipped(0);
  if (following) toEnd();
  else byId("newest").hidden = false;
}

// skipped counts events that the page does not get.
export function skipped(count) {
  hidden += count;
  const el = byId("earlier");
  el.hidden = hidden === 0;
  el.textContent = plural(hidden, "earlier event is", "earlier events are") +
    ` not shown here; ${replay} prints them all.`;
}

// replayedBy sets the command that prints all events. It may come after them.
export function replayedBy(line) {
  replay = line || replay;
  skipped(0);
}

export const lastTime = () => last;
export const ending = () => ended && ended[0].toUpperCase() + ended.slice(1).replaceAll("_", " ");

// piece shows text while it is written. It is not read aloud: the whole text is, when it is there.
function piece(e) {
  if (e.verdict) return;
  let l = live.get(e.id);
  if (!l) {
    l = { text: "", body: h("div", { class: "prose" }) };
    l.el = h("li", { class: "entry said " + tint(e.id) }, head(e, nameOf(e.id), "writes…"), l.body);
    live.set(e.id, l);
    byId("live").append(l.el);
  }
  l.text = (l.text + e.text).slice(-8000);
  l.body.textContent = l.text;
}

function written(id) {
  live.get(id)?.el.remove();
  live.delete(id);
}

export function dropLive() { for (const id of [...live.keys()]) written(id); }

const time = (e) => {
  const at = new Date(e.time);
  return Number.isNaN(at.getTime()) ? null
    : h("time", { datetime: e.time, title: at.toLocaleString() }, clock(at));
};

const head = (e, who, what) => h("div", { class: "entry-head" }, h("span", { class: "who" }, who),
  what ? h("span", { class: "quiet" }, what) : null, time(e));

// folded shows a long text in part, with a button for the rest.
function folded(text) {
  const body = h("div", { class: "body" }, rich(text));
  if (text.length < 1500 && text.split("\n").length < 18) return [body];
  body.classList.add("folded");
  const more = h("button", {
    type: "button", class: "plain", "aria-expanded": "false",
    onclick: () => {
      const open = body.classList.toggle("folded");
      more.textContent = open ? "Show all" : "Show less";
      more.setAttribute("aria-expanded", String(!open));
    },
  }, "Show all");
  return [body, more];
}

const note = (e, tone, ...text) => h("li", { class: "note " + tone }, ...text, time(e));

function message(e) {
  written(e.from);
  if (e.to === "human" && Date.now() - Date.parse(e.time) < 15000) say(`${nameOf(e.from)}: ${e.text.slice(0, 300)}`);
  const kind = e.kind === "message" || e.kind === "task" && e.from === "human" ? "" : e.kind;
  return h("li", { class: `entry ${tint(e.from)} ${e.from === "human" ? "mine" : e.to === "human" ? "yours" : "between"}` },
    head(e, nameOf(e.from), `to ${e.to === "human" ? "you" : nameOf(e.to)}${kind ? " · " + kind : ""}`),
    ...folded(e.text));
}

function call(e) {
  if (e.tool.startsWith("mcp__arbiter__")) return null; // an event of its own shows what it does
  const state = h("span", { class: "call-state", role: "img", "aria-label": "runs" }, "…");
  const el = h("details", null,
    h("summary", null, state, h("span", { class: "who" }, nameOf(e.id)), h("strong", null, e.tool),
      h("span", { class: "subject" }, e.sentence)),
    ...details(e.tool, e.input));
  if (e.tool_use) calls.set(e.tool_use, { el, state, id: e.id });
  return h("li", { class: "call " + tint(e.id) }, el);
}

function returned(e) {
  const c = calls.get(e.tool_use);
  calls.delete(e.tool_use);
  if (!c) return null;
  c.state.textContent = e.is_error ? "✗" : "✓";
  c.state.setAttribute("aria-label", e.is_error ? "failed" : "done");
  c.state.dataset.bad = Boolean(e.is_error);
  if (e.text) c.el.append(h("pre", { class: "what", tabindex: "0", role: "region", "aria-label": "Result" }, e.text));
  return null;
}

// cutOff ends the calls of an agent, without one those of all, whose turn or process has ended without a result.
export function cutOff(id) {
  for (const [use, c] of calls) {
    if (id && c.id !== id) continue;
    calls.delete(use);
    c.state.textContent = "–";
    c.state.setAttribute("aria-label", "cut off");
  }
}

// tones are those of the events that are a line of text, which comes with them; null: not shown.
const passed = (status, good = "passed") => status === good ? "good" : "bad";
const tones = {
  spawn: () => "", done: () => "", decision: () => "", compact: () => "", takeover: () => "", withdrawn: () => "",
  notice: () => "", handoff: () => "line", permission_request: () => "wait", retry: () => "wait", restart: () => "wait",
  budget: () => "wait", context_warning: () => "wait", overlap: () => "bad", halted: () => "bad", error: () => "bad",
  host: (e) => e.status === "up" ? "" : "bad", check: (e) => passed(e.receipt?.result),
  acceptance: (e) => passed(e.status), merge: (e) => passed(e.status, "merged"),
  fuse: (e) => ({ set: "", warn: "wait" })[e.status] ?? "bad",
  permission: (e) => ["rule", "mode", "role"].includes(e.by) ? null : passed(e.behavior, "allow"),
};

function entry(e) {
  if (e.event === "turn" || e.event === "done") cutOff(e.id);
  if (e.event === "session" || e.event === "result") cutOff();
  switch (e.event) {
    case "session":
      [result, ended] = [null, ""];
      return note(e, "line", e.resumed ? "The run continues in a new process" : "The run begins");
    case "message": return message(e);
    case "question": return h("li", { class: "entry yours " + tint(e.id) },
      head(e, nameOf(e.id), "asks you"), ...folded(e.text));
    case "assistant":
      if (e.subagent) return null;
      written(e.id);
      return h("li", { class: "entry said " + tint(e.id) }, head(e, nameOf(e.id), ""), ...folded(e.text));
    case "turn": written(e.id); return null;
    case "tool_use": return call(e);
    case "tool_result": return returned(e);
    case "result": result = e; ended = e.status; return null;
  }
  const tone = tones[e.event]?.(e) ?? null;
  return tone === null || !e.sentence ? null : note(e, tone, e.sentence);
}

// outcome shows how the run stands when no process plays it.
export function outcome(about, resume) {
  const el = byId("outcome");
  el.hidden = about.state !== "ended" && about.state !== "interrupted";
  if (el.hidden) return;
  const interrupted = about.state === "interrupted";
  const title = interrupted ? "The run was interrupted" : `The run is over: ${ending() || about.text || "stopped"}`;
  el.dataset.tone = interrupted ? "bad" : ended === "complete" ? "good" : "off";
  const facts = result ? [dollars(result.cost_usd, result.rehearsal, about.cost_unknown), plural(result.iterations ?? 0, "iteration"),
    result.checks ? `${result.checks.passed} checks passed, ${result.checks.failed} failed` : "",
    result.changes ? `${plural(result.changes.files, "file")} changed` : "",
    result.changes?.branch ? "on branch " + result.changes.branch : ""].filter(Boolean).join(" · ") : "";
  el.replaceChildren(...[
    h("h2", { id: "outcome-title" }, title),
    interrupted ? h("p", null, "You can resume it: a new process continues it where it stopped.") : null,
    result?.summary ? h("div", { class: "prose" }, rich(result.summary)) : null,
    ...[...result?.failing ?? [], ...result?.half_done ?? []].map((f) => h("p", { class: "error" }, f)),
    facts ? h("p", { class: "quiet" }, facts) : null,
    about.resumable && ended !== "complete" || interrupted
      ? h("button", { type: "button", class: "primary", onclick: resume }, "Resume…") : null,
  ].filter(Boolean));
  if (following) toEnd();
}
