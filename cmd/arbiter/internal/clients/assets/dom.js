// Elements are made from text alone. No text becomes markup: the page's policy (Trusted Types) forbids it, too.

// h makes an element. Children are nodes or texts; what is null or false is left out.
export function h(tag, props, ...children) {
  const el = document.createElement(tag);
  for (const [name, value] of Object.entries(props ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) el.addEventListener(name.slice(2), value);
    else if (value === true) el.setAttribute(name, "");
    else el.setAttribute(name, value);
  }
  el.append(...children.flat().filter((c) => c !== null && c !== undefined && c !== false));
  return el;
}

export const byId = (id) => document.getElementById(id);

// put gives an element a text, and touches nothing if it has that text: screen readers would say it again.
export function put(el, text) {
  if (el.textContent !== text) el.textContent = text;
}

// say has a screen reader announce a text; alarm interrupts it.
export function say(text, alarm = false) {
  const el = byId(alarm ? "alarm" : "announce");
  el.textContent = "";
  setTimeout(() => { el.textContent = text; }, 50); // a text that comes back is announced again
}

// ask shows a dialog and resolves to whether the answer is yes.
export function ask({ title, text, yes, no = "Cancel", link = "" }) {
  const dialog = byId("confirm");
  put(byId("confirm-title"), title);
  put(byId("confirm-text"), text);
  put(byId("confirm-yes"), yes);
  put(byId("confirm-no"), no);
  byId("confirm-yes").hidden = !yes;
  const field = byId("confirm-link");
  field.hidden = !link;
  field.value = link;
  dialog.returnValue = "";
  dialog.showModal();
  if (link) field.select();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => resolve(dialog.returnValue === "yes"), { once: true });
  });
}
