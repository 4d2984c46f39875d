// What a tool call is, in words and in full.
import { h } from "./dom.js";

const block = (label, text, kind = "") =>
  h("pre", { class: "what " + kind, tabindex: "0", role: "region", "aria-label": label }, text);

// details shows the whole input of a call: a person decides by it.
export function details(tool, input) {
  if (typeof input !== "object" || input === null) return [block("Input", String(input ?? ""))];
  const out = [];
  const rest = { ...input };
  const take = (name) => {
    const value = rest[name];
    delete rest[name];
    return typeof value === "string" ? value : undefined;
  };
  const about = take("description");
  if (about) out.push(h("p", { class: "quiet" }, "The agent says: " + about));
  const command = take("command");
  if (command !== undefined) out.push(block("Command", command));
  const file = take("file_path") ?? take("notebook_path");
  if (file !== undefined) out.push(h("p", { class: "path" }, h("code", null, file)));
  const before = take("old_string"), after = take("new_string"), content = take("content");
  if (before !== undefined) out.push(block("Before", before, "minus"));
  if (after !== undefined) out.push(block("After", after, "plus"));
  if (content !== undefined) out.push(block("Content", content, "plus"));
  for (const [name, value] of Object.entries(rest)) {
    const text = typeof value === "string" ? value : JSON.stringify(value, null, 2);
    out.push(h("div", { class: "field" }, h("span", { class: "quiet" }, name), block(name, text)));
  }
  return out.length > 0 ? out : [block("Input", "{}")];
}
