// The connection to arbiter web: a stream of server-sent events, and requests. Both carry the key that came in the
// fragment of the link. EventSource cannot send it, and does not tell why a connection was refused.

const stored = "arbiter-key";
let key = "";

// enter takes the key from the address, where it must not stay, or from an earlier visit.
export function enter() {
  const given = /^#k=([A-Z2-7]+)$/.exec(location.hash);
  try {
    if (given) localStorage.setItem(stored, given[1]);
    key = given ? given[1] : localStorage.getItem(stored) ?? "";
  } catch {
    key = given ? given[1] : ""; // storage is off: the key lasts as long as the page
  }
  if (given) history.replaceState(null, "", location.pathname);
}

// A browser has six connections to a server, for all of its tabs. So four tabs keep one for their stream, the others
// take turns at the fifth, and the sixth is for requests. use is called with whether it is a turn.
const kept = 4;

async function connection(use) {
  const locks = navigator.locks; // not there at an address that is neither encrypted nor of this machine
  let had = !locks && (await use(false), true);
  for (let i = 0; i < kept && !had; i++) {
    await locks.request(`arbiter-stream-${i}`, { ifAvailable: true }, async (lock) => {
      if (lock) had = (await use(false), true);
    });
  }
  if (!had) await locks.request("arbiter-turn", () => use(true));
}

// follow calls hear(kind, part) for each part, and tell(state, text) when the connection changes: open, lost, refused.
// It connects again behind the last part, until it is refused.
export async function follow(hear, tell) {
  let last = "", refused = false, failures = 0;
  const stream = async (turn) => {
    try {
      const headers = { "X-Arbiter-Key": key, Accept: "text/event-stream" };
      if (last) headers["Last-Event-ID"] = last;
      const r = await fetch("/run/events", { headers, cache: "no-store" });
      if (r.status >= 400 && r.status < 500) {
        refused = true;
        tell("refused", (await r.text()).trim());
        return;
      }
      if (r.ok) {
        failures = 0;
        tell("open", "");
        await read(r.body.pipeThrough(new TextDecoderStream()).getReader(), turn, (part) => {
          last = part.id || last;
          hear(part.event, JSON.parse(part.data));
        });
        if (turn) return;
      }
    } catch {
      // The server has gone, or the network has.
    }
    failures++;
    tell("lost", "");
  };
  while (!refused) {
    await connection(stream);
    await new Promise((done) => setTimeout(done, Math.min(500 * 2 ** failures, 8000)));
  }
}

// silence is how long a connection may tell nothing: the server sends a sign of life more often. A turn ends when
// nothing has come for a moment, and after some seconds whatever comes.
const silence = 35000, moment = 300, mostTurn = 3000;

async function read(reader, turn, take) {
  let rest = "", wait = silence;
  const end = Date.now() + mostTurn;
  try {
    while (!turn || Date.now() < end) {
      let timer;
      const late = new Promise((done) => { timer = setTimeout(() => done({}), wait); });
      const { value, done } = await Promise.race([reader.read(), late]);
      clearTimeout(timer);
      if (done || value === undefined) return;
      if (turn) wait = moment;
      const blocks = (rest + value).split("\n\n");
      rest = blocks.pop();
      for (const block of blocks) {
        const part = { id: "", event: "", data: "" };
        for (const line of block.split("\n")) {
          const at = line.indexOf(": ");
          if (at > 0) part[line.slice(0, at)] = line.slice(at + 2);
        }
        if (part.data) take(part);
      }
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}

// patience is how long a request may wait for its answer.
const patience = 20000;

// post sends a request and returns {accepted, message}; it does not throw.
export async function post(path, body = {}) {
  try {
    const r = await fetch(path, {
      method: "POST", headers: { "Content-Type": "application/json", "X-Arbiter-Key": key },
      body: JSON.stringify(body), signal: AbortSignal.timeout(patience),
    });
    const text = await r.text();
    try {
      return JSON.parse(text);
    } catch {
      return { accepted: false, message: text.trim() };
    }
  } catch {
    return { accepted: false, message: "arbiter web did not answer. It is not known whether it took this." };
  }
}

export const command = (body) => post("/run/command", body);
