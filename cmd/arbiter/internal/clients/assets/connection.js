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

// follow calls hear(kind, part) for each part, and tell(state, text) when the connection changes: open, lost, refused.
// It connects again behind the last part, until it is refused.
export async function follow(hear, tell) {
  let last = "";
  for (let failures = 0; ; failures++) {
    try {
      const headers = { "X-Arbiter-Key": key, Accept: "text/event-stream" };
      if (last) headers["Last-Event-ID"] = last;
      const r = await fetch("/run/events", { headers, cache: "no-store" });
      if (r.status >= 400 && r.status < 500) {
        tell("refused", (await r.text()).trim());
        return;
      }
      if (r.ok) {
        failures = 0;
        tell("open", "");
        await read(r.body.pipeThrough(new TextDecoderStream()).getReader(), (part) => {
          last = part.id || last;
          hear(part.event, JSON.parse(part.data));
        });
      }
    } catch {
      // The server has gone, or the network has.
    }
    tell("lost", "");
    await new Promise((done) => setTimeout(done, Math.min(500 * 2 ** failures, 8000)));
  }
}

// silence is how long a connection may tell nothing: the server sends a sign of life more often.
const silence = 35000;

async function read(reader, take) {
  let rest = "";
  try {
    for (;;) {
      let timer;
      const late = new Promise((_, fail) => { timer = setTimeout(() => fail(new Error("silent")), silence); });
      const { value, done } = await Promise.race([reader.read(), late]);
      clearTimeout(timer);
      if (done) return;
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

// post sends a request and returns {accepted, message}; it does not throw.
export async function post(path, body = {}) {
  try {
    const r = await fetch(path, {
      method: "POST", headers: { "Content-Type": "application/json", "X-Arbiter-Key": key },
      body: JSON.stringify(body),
    });
    const text = await r.text();
    try {
      return JSON.parse(text);
    } catch {
      return { accepted: false, message: text.trim() };
    }
  } catch {
    return { accepted: false, message: "arbiter web cannot be reached. Nothing was sent, or it is not known." };
  }
}

export const command = (body) => post("/run/command", body);
