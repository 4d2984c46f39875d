// Sends the form of a one-time link as soon as a person sees the page: a page that is fetched early is not shown.
const send = () => document.querySelector("form").requestSubmit();
if (document.prerendering) document.addEventListener("prerenderingchange", send, { once: true });
else send();
