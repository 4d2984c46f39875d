// The page of one run. The server tells what happens; this module hands it to the parts of the page.
import { byId, put, say, ask } from "./dom.js";
import { enter, follow, post, command } from "./connection.js";
import { dollars, span } from "./text.js";
import * as inbox from "./inbox.js";
import * as talk from "./talk.js";
import * as side from "./side.js";

const run = { about: null, status: null, cost: 0, link: "connecting" };

function phase() {
  const a = run.about, s = run.status;
  if (run.link !== "open") return ["Not connected", "off"];
  if (a?.state === "interrupted") return ["Interrupted", "bad"];
  if (a?.state === "ended") return [talk.ending() || "Stopped", talk.ending() === "Complete" ? "good" : "off"];
  if (a?.state === "silent") return ["No answer", "bad"];
  if (!s) return ["…", "off"];
  if (s.halted || s.paused) return [s.does, s.halted ? "bad" : "off"];
  return inbox.awaited() > 0 ? ["Waits for you", "wait"] : [s.does, "on"];
}

function header() {
  const a = run.about, s = run.status;
  const title = a?.title || s?.title || "A run of Arbiter";
  put(byId("title"), title);
  put(byId("where"), a ? `${a.cwd} · run ${a.run.slice(0, 8)}` : "");
  const [word, tone] = phase();
  put(byId("phase"), word);
  byId("phase").dataset.tone = tone;
  put(byId("cost"), dollars(run.cost, a?.rehearsal, a?.cost_unknown || side.unknown()));
  const alive = a?.state === "live" && run.link === "open";
  const over = a?.state === "ended" || a?.state === "interrupted";
  byId("pause").hidden = byId("stop").hidden = byId("say").hidden = over;
  byId("pause").disabled = byId("stop").disabled = byId("text").disabled = !alive;
  byId("say").querySelector("[type=submit]").disabled = !alive;
  put(byId("pause"), s?.paused ? "Continue" : "Pause");
  const n = inbox.awaited();
  document.title = (n > 0 ? `(${n}) ` : "") + `${word} – ${title} – Arbiter`;
  connection();
  clock();
}

function clock() {
  const began = Date.parse(run.about?.began ?? "");
  if (!Number.isFinite(began) || began <= 0) return;
  const end = run.about.state === "live" ? Date.now() : talk.lastTime() || Date.now();
  put(byId("elapsed"), span(end - began));
  inbox.ages();
}

function connection() {
  const el = byId("connection"), a = run.about;
  let state = "live", text = "";
  if (run.link === "refused") [state, text] = ["refused", run.refusal];
  else if (run.link !== "open") {
    [state, text] = ["lost", "The connection to arbiter web is lost. Trying again…"];
    if (run.link === "connecting") text = "Connecting…";
  } else if (a?.state === "silent") [state, text] = ["silent", "The run does not answer. " + (a.text ?? "")];
  else if (a?.state === "interrupted") [state, text] = ["lost", a.text];
  el.dataset.state = state;
  put(el, text);
  el.hidden = !text;
}

const parts = {
  run(about) {
    const before = run.about?.state;
    run.about = about;
    talk.replayedBy(about.replay);
    run.cost = Math.max(run.cost, about.cost_usd ?? 0);
    if (about.state !== "live") {
      run.status = null;
      if (about.state !== "silent") { // it may answer again, and what is typed stays
        inbox.show([], false);
        talk.cutOff();
      }
      if (before === "live" || before === undefined) talk.dropLive();
    }
    if (before && before !== about.state) {
      say({ live: "The run is live again.", interrupted: "The run was interrupted.", ended: "The run has ended." }[
        about.state] ?? "The run does not answer.", about.state !== "live");
    }
    side.live(about.state === "live" || about.state === "silent", about.rehearsal); // agents of one that hangs live
    talk.outcome(about, resume);
  },
  status(status) {
    run.status = status;
    run.cost = Math.max(run.cost, status.cost_usd);
    side.status(status); // first: it knows the names
    inbox.show(status.inbox ?? [], true, status);
    addressees(status.agents ?? []);
  },
  lines(list) {
    for (const e of list) {
      side.event(e);
      if (e.event === "result") run.cost = Math.max(run.cost, e.cost_usd);
    }
    talk.add(list.filter((e) => !e.omitted));
    side.draw();
    if (run.about) talk.outcome(run.about, resume);
  },
  skipped({ count }) { talk.skipped(count); },
};

function addressees(agents) {
  const to = byId("to"), now = to.value;
  const known = [...to.options].map((o) => o.value + o.text).join();
  const list = [["", "The Arbiter"], ...agents.filter((a) => a.id !== "arbiter" && a.status !== "ended")
    .map((a) => [a.id, side.nameOf(a.id)])];
  if (known === list.map(([id, name]) => id + name).join()) return;
  to.replaceChildren(...list.map(([id, name]) => new Option(name, id)));
  to.value = list.some(([id]) => id === now) ? now : "";
}

async function resume() {
  const yes = await ask({
    title: "Resume this run?", text: "A new process continues it where it stopped. Agents start, and cost money.",
    yes: "Resume",
  });
  if (!yes) return;
  const r = await post("/run/resume");
  say(r.message, !r.accepted);
  if (!r.accepted) await ask({ title: "The run was not resumed", text: r.message, yes: "", no: "Close" });
}

function controls() {
  byId("pause").addEventListener("click", async () => {
    const r = await command({ type: run.status?.paused ? "continue" : "pause" });
    say(r.message || "Done.", !r.accepted);
  });
  byId("stop").addEventListener("click", async () => {
    const yes = await ask({
      title: "Stop this run?", text: "The agents end in order. You can resume the run later, here or in a terminal.",
      yes: "Stop the run", no: "Keep it running",
    });
    if (!yes) return;
    const r = await post("/run/stop");
    say(r.message, !r.accepted);
  });
  byId("share").addEventListener("click", async () => {
    const r = await post("/link");
    await ask(r.accepted
      ? { title: "A link for one more browser", link: location.origin + r.link, yes: "", no: "Close",
        text: "It works once. Anyone who opens it can answer for you, so keep it to yourself." }
      : { title: "No link was made", text: r.message, yes: "", no: "Close" });
  });
  const form = byId("say"), text = byId("text");
  form.addEventListener("submit", async (e) => {
    e.preventDefault();
    if (!text.value.trim()) return;
    const body = { type: "message", text: text.value, strength: byId("strength").value };
    if (byId("to").value) body.to = byId("to").value;
    const sent = text.value;
    const r = await command(body);
    const held = run.status?.halted ? "halted" : run.status?.paused ? "paused" : "";
    put(byId("said"), !r.accepted ? `Not sent: ${r.message}`
      : held ? `It waits: the run is ${held}. Continue sends it.` : "Sent.");
    byId("said").dataset.bad = !r.accepted;
    if (r.accepted && text.value === sent) text.value = "";
    text.style.height = "";
  });
  text.addEventListener("input", () => {
    put(byId("said"), "");
    text.style.height = "auto";
    text.style.height = Math.min(text.scrollHeight + 2, 180) + "px";
  });
  text.addEventListener("keydown", (e) => inbox.sendsOnEnter(e, form));
  for (const b of document.querySelectorAll(".tabs button")) {
    b.addEventListener("click", () => {
      document.body.dataset.view = b.dataset.to;
      for (const x of document.querySelectorAll(".tabs button")) x.setAttribute("aria-pressed", x === b);
    });
  }
}

enter();
controls();
header();
setInterval(clock, 1000);
follow((kind, part) => {
  try {
    parts[kind]?.(part);
  } catch (fault) { // the next part may be fine, and the last status is shown
    console.error(fault);
  }
  header();
}, (state, text) => {
  if (run.link === "open" && state === "lost") say("The connection is lost.", true);
  run.link = state;
  run.refusal = text;
  header();
});
