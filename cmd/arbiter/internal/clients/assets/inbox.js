// What waits for a human: questions, permission requests, and choices. The list comes from the run; this module makes
// a card of each item, and keeps a card as long as its item says the same, so that nothing typed is lost.
import { h, byId, put, say } from "./dom.js";
import { command } from "./connection.js";
import { rich, span, plural, clock } from "./text.js";
import { details } from "./tool.js";

const cards = new Map(); // by id: {item, el, age, title}
let first = true;

// settling is how long answers are not taken after the list has moved: a click may be meant for what stood there.
const settling = 500;
let movedAt = -settling, timer = 0;

function moved() {
  movedAt = performance.now();
  byId("inbox").setAttribute("aria-busy", "true");
  clearTimeout(timer);
  timer = setTimeout(() => byId("inbox").setAttribute("aria-busy", "false"), settling);
}

const settled = () => performance.now() - movedAt >= settling;

// awaited counts what nobody but a human settles.
export const awaited = () => [...cards.values()].filter((c) => !c.item.optional).length;

// show has the list be what waits now.
export function show(items, alive, { asks = {}, where = {} } = {}) {
  const says = (i) => i && JSON.stringify([i.kind, i.text, i.choices]); // another failure may have the id of the last one
  let changed = false, hadFocus = false;
  for (const [id, card] of cards) {
    const now = items.find((i) => i.id === id);
    if (says(now) === says(card.item)) {
      card.item = now; // an item that others could settle may now wait for a human
      continue;
    }
    hadFocus ||= card.el.contains(document.activeElement) ||
      card.el.dataset.focused === "true" && document.activeElement === document.body;
    card.el.remove();
    cards.delete(id);
    changed = true;
  }
  const fresh = [];
  for (const item of items) {
    if (cards.has(item.id)) continue;
    const card = make(item, asks[item.id] + (item.request?.tool ? ": " + item.request.tool : ""), where[item.id]);
    cards.set(item.id, card);
    byId("inbox").append(card.el);
    fresh.push(card);
    changed = true;
  }
  if (hadFocus) (byId("inbox").querySelector("h3") ?? byId("waiting")).focus();
  if (changed && !first) moved();
  first = false;
  if (fresh.length > 0) say(fresh.map((c) => c.title).join(". ") + ".", true);
  const hints = byId("inbox").querySelectorAll(".for-all");
  for (const hint of hints) hint.hidden = hints.length < 2;
  const n = cards.size;
  put(byId("waiting-title"), n === 0 ? "Nothing waits for you" : plural(n, "thing waits", "things wait") + " for you");
  byId("waiting").dataset.count = n;
  byId("waiting").hidden = !alive && n === 0;
}

export function ages() {
  for (const { item, age } of cards.values()) put(age, span(Date.now() - Date.parse(item.since)));
}

function make(item, title, where) {
  const id = "item-" + cards.size + "-" + Math.random().toString(36).slice(2);
  const age = h("span", { class: "age" }, span(Date.now() - Date.parse(item.since)));
  const error = h("p", { class: "error", role: "alert" });
  const send = async (body, done) => {
    if (body.type !== "message" && !settled()) return; // a text was meant for this card
    el.dataset.focused = el.contains(document.activeElement); // a disabled button loses the focus
    const buttons = [...el.querySelectorAll("button")];
    buttons.forEach((b) => { b.disabled = true; });
    put(error, "");
    const r = await command(body);
    if (r.accepted) {
      say(done);
      el.classList.add("answered");
      return;
    }
    put(error, r.message || "It was refused.");
    buttons.forEach((b) => { b.disabled = false; });
  };
  const make = { permission, question, acceptance: question, trust: choice, recovery: choice, limit: choice }[item.kind] ?? question;
  const el = h("li", { class: "card " + item.kind, "data-item": item.id, "aria-labelledby": id },
    h("div", { class: "card-head" }, h("h3", { id, tabindex: "-1" }, title), age),
    ...make(item, send, id, where), error);
  return { item, el, age, title };
}

const button = (label, act, props = {}) => h("button", { type: "button", onclick: act, ...props }, label);

function permission(item, send, id, where) {
  const r = item.request ?? {};
  const base = { type: "permission", request: r.request ?? item.id, action: r.action };
  const allow = (scope, rule, done) => send({ ...base, behavior: "allow", scope, ...(rule ? { rule } : {}) }, done);
  const deny = (scope, rule, done) => send({ ...base, behavior: "deny", scope, ...(rule ? { rule } : {}),
    ...(why.value.trim() ? { message: why.value.trim() } : {}) }, done);
  const why = h("input", { type: "text", id: id + "-why", autocomplete: "off" });
  const own = h("input", { type: "text", "aria-label": "A rule of your own", placeholder: "A rule of your own",
    autocomplete: "off", spellcheck: "false", oninput: () => { ownChoice.checked = true; } });
  const radio = (value, ...label) => h("label", { class: "choice" },
    h("input", { type: "radio", name: id, value, ...(value === "" ? { checked: true } : {}) }), ...label);
  const ownLabel = radio("own", own);
  const ownChoice = ownLabel.firstChild;
  const rules = h("fieldset", null, h("legend", null, "For which actions"),
    radio("", "Exactly this one"),
    ...(r.suggestions ?? []).map((s, i) => radio(String(i), h("code", null, s), r.meanings?.[i] ? ": " + r.meanings[i] : "")), ownLabel);
  const rule = () => {
    const value = rules.querySelector("input[type=radio]:checked").value;
    return value === "own" ? own.value.trim() : value === "" ? "" : r.suggestions[Number(value)];
  };
  const about = [
    r.reason ? h("p", { class: "quiet" }, r.reason) : null,
    where ? h("p", { class: "quiet where" }, where) : null,
    r.deadline ? h("p", { class: "quiet" }, `Denied at ${clock(new Date(r.deadline))} if nobody answers.`) : null,
    ...details(r.tool ?? "", r.input),
  ];
  if (r.tool === "Elicitation") { // a question of an MCP server: what allows it is an answer
    const said = h("textarea", { rows: "2", id: id + "-text", "aria-labelledby": id,
      placeholder: "Your answer; several fields are a JSON object" });
    return [...about, said, h("div", { class: "actions" },
      button("Answer", () => send({ ...base, behavior: "allow", scope: "once",
        ...(said.value.trim() ? { message: said.value.trim() } : {}) }, "Answered."), { class: "primary", "data-act": "once" }),
      button("Deny", () => deny("once", "", "Denied."), { class: "grave", "data-act": "deny" }))];
  }
  return [
    ...about,
    h("div", { class: "actions" },
      button("Allow once", () => allow("once", "", "Allowed once."), { class: "primary", "data-act": "once" }),
      button("Deny", () => deny("once", "", "Denied."), { class: "grave", "data-act": "deny" })),
    h("details", { class: "more" }, h("summary", null, "More choices"), rules,
      h("div", { class: "actions" },
        button("Allow for this run", () => allow("run", rule(), "Allowed for this run."), { "data-act": "run" }),
        button("Always allow here", () => allow("always", rule(), "Always allowed in this workspace."),
          { "data-act": "always", title: "In this workspace, in later runs, too" }),
        button("Deny for this run", () => deny("run", rule(), "Denied for this run."), { "data-act": "deny-run" })),
      h("label", { for: id + "-why" }, "If you deny, tell the agent why"), why),
  ];
}

function question(item, send, id) {
  const text = h("textarea", { rows: "2", id: id + "-text", "aria-labelledby": id, placeholder: "Your answer" });
  const form = h("form", {
    class: "answer",
    onsubmit: (e) => {
      e.preventDefault();
      if (text.value.trim()) send({ type: "message", text: text.value }, "Answered.");
    },
  }, text, h("button", { type: "submit", class: "primary" }, "Answer"));
  text.addEventListener("keydown", (e) => sendsOnEnter(e, form));
  return [h("div", { class: "asked" }, rich(item.text)), form,
    h("p", { class: "quiet for-all", hidden: true }, "One answer is for all open questions.")];
}

const choices = {
  trust: "Trust it as it is", without: "Go on without its settings", cancel: "Cancel the run", retry: "Try again",
  skip: "Skip this step", reset: "Start over",
};

function choice(item, send) {
  return [
    h("div", { class: "asked" }, rich(item.text)),
    h("div", { class: "actions" }, ...(item.choices ?? []).map((option, i) =>
      button(choices[option] ?? option, () => send({ type: "choose", option }, "Chosen."),
        { class: option === "cancel" ? "grave" : i === 0 ? "primary" : "" }))),
  ];
}

// sendsOnEnter sends a form on Enter where there is a keyboard; Shift+Enter begins a line.
export function sendsOnEnter(e, form) {
  if (e.key !== "Enter" || e.isComposing) return;
  const touch = matchMedia("(pointer: coarse)").matches;
  if (e.ctrlKey || e.metaKey || (!e.shiftKey && !touch)) {
    e.preventDefault();
    form.requestSubmit();
  }
}
