package clients

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
)

// TestForeignPages: a page of another site, such as a chat, may link to the page. Everything else that such a page
// tries in the browser with the cookie is refused. That includes a page on another port of this machine, with which
// the browser shares cookies.
func TestForeignPages(t *testing.T) {
	b := startBrowser(t)
	h := newHouse(t)
	s, address := serve(t, h)
	link := s.Link()
	chat := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, "<a id=link href=%q>the run</a>", link)
	}))
	t.Cleanup(chat.Close)
	there, err := url.Parse(chat.URL)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*webWaitTimeout)
	defer cancel()
	otherSite, otherPort := "http://localhost:"+there.Port(), chat.URL
	p, err := b.Open(ctx, otherSite)
	if err != nil {
		t.Fatal(err)
	}
	w := &window{p, t, ctx}
	w.until(`document.querySelector("#link")`)
	w.eval(`document.querySelector("#link").click()`, nil)
	w.until(`document.querySelector("#title")?.textContent === "Rewrite the parser"`)
	w.until(`location.hash === "" && location.search === ""`)

	for _, origin := range []string{otherSite, otherPort} {
		w.must(w.Go(ctx, origin))
		w.until(fmt.Sprintf(`location.origin === %q && document.querySelector("#link")`, origin))
		var got []string
		w.eval(fmt.Sprintf(`(async (at) => {
			const tries = [
				() => fetch(at + "/run/command", {method: "POST", credentials: "include", mode: "no-cors",
					body: '{"type":"message","text":"owned"}'}),
				() => fetch(at + "/run/command", {method: "POST", credentials: "include",
					headers: {"Content-Type": "application/json"}, body: '{"type":"message","text":"owned"}'}),
				() => fetch(at + "/", {credentials: "include"}).then((r) => r.text()),
				() => fetch(at + "/run/events", {credentials: "include"}).then((r) => r.text()),
				() => new Promise((done, fail) => { const s = document.createElement("script"); s.src = at + "/main.js";
					s.onload = () => done("loaded"); s.onerror = () => fail(s); document.body.append(s); }),
				() => new Promise((done) => { const f = document.createElement("iframe"); f.src = at + "/";
					f.onload = () => { try { done(f.contentDocument?.title ?? "closed"); } catch { done("closed"); } };
					document.body.append(f); }),
			];
			const out = [];
			for (const t of tries) {
				try {
					const r = await t();
					out.push(typeof r === "string" ? r : r.type);
				} catch { out.push("refused"); }
			}
			return out;
		})(%q)`, address), &got)
		if all := strings.Join(got, " "); all != "refused refused refused refused refused closed" {
			t.Errorf("from %s: %s", origin, all)
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.commands) > 0 {
		t.Errorf("the run took %q", h.commands)
	}
}
