package clients

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/arbiter-cli/arbiter/internal/testkit"
)

// askWeb sends a request with the cookie and the key, like the page; change modifies it.
func askWeb(s *WebServer, method, path, body string, change func(*http.Request)) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Host = "127.0.0.1:8080"
	r.AddCookie(&http.Cookie{Name: s.guard.cookie, Value: s.guard.secret})
	r.Header.Set(keyHeader, s.guard.key)
	if method != http.MethodGet {
		r.Header.Set("Origin", "http://127.0.0.1:8080")
		r.Header.Set("Content-Type", "application/json")
	}
	if change != nil {
		change(r)
	}
	w := httptest.NewRecorder()
	s.handler.ServeHTTP(w, r)
	return w
}

func header(name, value string) func(*http.Request) {
	return func(r *http.Request) { r.Header.Set(name, value) }
}

func hostWeb(name string) func(*http.Request) { return func(r *http.Request) { r.Host = name } }

// at changes a request to another name of the host, from a page there.
func at(name, origin string) func(*http.Request) {
	return func(r *http.Request) {
		r.Host = name
		r.Header.Set("Origin", origin)
		r.Header.Set("Sec-Fetch-Site", "same-origin")
	}
}

func without(name string) func(*http.Request) { return func(r *http.Request) { r.Header.Del(name) } }

// TestRefusals: requests that are not allowed are refused with the right code.
func TestRefusals(t *testing.T) {
	h := newHouse(t)
	s := NewWeb(WebOptions{Runs: h, Run: testRun, Hosts: []string{"Box.tail1234.ts.net"}})
	message := `{"type":"message","text":"hello"}`
	for name, tt := range map[string]struct {
		method, path, body string
		change             func(*http.Request)
		want               int
	}{
		"the page":                       {"GET", "/", "", nil, 200},
		"its files":                      {"GET", "/main.js", "", nil, 200},
		"no cookie":                      {"GET", "/", "", without("Cookie"), 401},
		"no cookie for a file":           {"GET", "/main.js", "", without("Cookie"), 401},
		"another cookie":                 {"GET", "/", "", header("Cookie", s.guard.cookie+"=x"), 401},
		"a cookie and no key":            {"POST", "/run/command", message, without(keyHeader), 401},
		"a cookie and no key for events": {"GET", "/run/events", "", without(keyHeader), 401},
		"a key and no cookie":            {"POST", "/run/command", message, without("Cookie"), 401},
		"another key":                    {"POST", "/run/stop", "", header(keyHeader, "x"), 401},
		"a token that never was":         {"GET", "/?t=AAAA", "", without("Cookie"), 401},
		"a token for something else":     {"GET", "/main.js?t=AAAA", "", without("Cookie"), 401},
		"a foreign name":                 {"GET", "/", "", hostWeb("evil.example"), 421},
		"a foreign name and our port":    {"GET", "/", "", hostWeb("evil.example:8080"), 421},
		"a name that ends like ours":     {"GET", "/", "", hostWeb("evil.localhost:8080"), 421},
		"a name that begins like ours":   {"GET", "/", "", hostWeb("127.0.0.1.evil.example"), 421},
		"no name":                        {"GET", "/", "", hostWeb(""), 421},
		"a name with a user":             {"GET", "/", "", hostWeb("127.0.0.1@evil.example"), 421},
		"an address of another machine":  {"GET", "/", "", hostWeb("192.0.2.1:8080"), 421},
		"all addresses":                  {"GET", "/", "", hostWeb("0.0.0.0:8080"), 421},
		"a forwarded port":               {"GET", "/", "", hostWeb("localhost:9999"), 200},
		"IPv6":                           {"GET", "/", "", hostWeb("[::1]:9999"), 200},
		"an allowed name":                {"GET", "/", "", hostWeb("box.tail1234.ts.net"), 200},
		"an allowed name, encrypted": {"POST", "/run/command",
			message, at("box.tail1234.ts.net", "https://box.tail1234.ts.net"), 200},
		"a foreign page": {"POST", "/run/command",
			message, header("Origin", "https://evil.example"), 403},
		"the form of a foreign page": {"POST", "/enter",
			"t=AAAA", header("Origin", "https://evil.example"), 403},
		"a page on another port": {"POST", "/run/command",
			message, header("Origin", "http://127.0.0.1:3000"), 403},
		"a page without an origin": {"POST", "/run/command", message, header("Origin", "null"), 403},
		"a command of no page":     {"POST", "/run/command", message, without("Origin"), 403},
		"a link on another page":   {"GET", "/run/events", "", header("Sec-Fetch-Site", "cross-site"), 403},
		"a file for another page":  {"GET", "/main.js", "", header("Sec-Fetch-Site", "same-site"), 403},
		"a foreign page reads":     {"GET", "/run/events", "", header("Origin", "https://evil.example"), 403},
		"a form": {"POST", "/run/command",
			"text=x", header("Content-Type", "application/x-www-form-urlencoded"), 415},
		"no type":     {"POST", "/run/stop", "", without("Content-Type"), 415},
		"a huge body": {"POST", "/run/command", strings.Repeat("x", maxBody+1), nil, 413},
		"no JSON":     {"POST", "/run/command", "hello", nil, 400},
		"an unknown member": {"POST", "/run/command",
			`{"type":"message","text":"x","sudo":true}`, nil, 400},
		"a command that the page has not": {"POST", "/run/command",
			`{"type":"configure","permissions":"allow-all","i_accept_the_risk":true}`, nil, 403},
		"cancel": {"POST", "/run/command", `{"type":"cancel"}`, nil, 403},
		"kill":   {"POST", "/run/command", `{"type":"kill","id":"orch-1"}`, nil, 403},
		"acceptance": {"POST", "/run/command",
			`{"type":"set_acceptance","criteria":[]}`, nil, 403},
		"halt":                  {"POST", "/run/command", `{"type":"halt"}`, nil, 403},
		"a path above":          {"GET", "/../server.go", "", nil, 307},
		"a path above, encoded": {"GET", "/%2e%2e%2fserver.go", "", nil, 404},
		"a path of the server":  {"GET", "/assets/main.js", "", nil, 404},
		"no file":               {"GET", "/nothing.js", "", nil, 404},
		"another method":        {"DELETE", "/run/command", "", nil, 405},
		"a place that is none":  {"GET", "/run/events", "", header("Last-Event-ID", "1; drop"), 400},
		"a message":             {"POST", "/run/command", message, nil, 200},
	} {
		t.Run(name, func(t *testing.T) {
			w := askWeb(s, tt.method, tt.path, tt.body, tt.change)
			testkit.Check(t, w.Code == tt.want, "%d, want %d: %s", w.Code, tt.want, w.Body)
			for name, want := range securityHeaders {
				testkit.Same(t, name, want, w.Header().Get(name))
			}
			testkit.Check(t, !strings.Contains(w.Body.String(), s.guard.key) &&
				!strings.Contains(w.Body.String(), s.guard.secret), "the body has a secret")
		})
	}
}

// TestTokenWorksOnce: a link that is only fetched stays valid. The first browser that sends its form gets cookie and
// key; another one with the same link gets nothing. The first one may load the link again. Each link is for
// one browser, and old links become invalid.
func TestTokenWorksOnce(t *testing.T) {
	s := NewWeb(WebOptions{Runs: newHouse(t), Run: testRun})
	path := s.guard.path()
	testkit.Check(t, askWeb(s, "HEAD", path, "", without("Cookie")).Code == 401, "a HEAD of a preview ends the link")
	for range 2 { // a preview, and the browser
		w := askWeb(s, "GET", path, "", func(r *http.Request) {
			r.Header.Del("Cookie")
			r.Header.Set("Sec-Fetch-Site", "cross-site") // it was clicked in a chat
		})
		testkit.Need(t, w.Code == 200 && strings.Contains(w.Body.String(), `value="`+path[4:]+`"`) &&
			w.Header().Get("Set-Cookie") == "", "%d %s with %q", w.Code, w.Body, w.Header().Get("Set-Cookie"))
	}
	if w := askWeb(s, "GET", "/enter.js", "", without("Cookie")); w.Code != 200 {
		t.Errorf("the script of the form: %d", w.Code)
	}
	send := func() *httptest.ResponseRecorder {
		return askWeb(s, "POST", "/enter", path[2:], func(r *http.Request) {
			r.Header.Del("Cookie")
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		})
	}
	w := send()
	cookie := w.Header().Get("Set-Cookie")
	testkit.Check(t, w.Code == 200 && strings.Contains(w.Body.String(), `url=/#k=`+s.guard.key+`"`) &&
		strings.Contains(cookie, "HttpOnly") && strings.Contains(cookie, "SameSite=Strict"), "%d %s with %q", w.Code,
		w.Body, cookie)
	w = askWeb(s, "GET", path, "", without("Cookie"))
	testkit.Check(t, w.Code == 401 && w.Header().Get("Set-Cookie") == "", "another browser: %d", w.Code)
	w = send()
	testkit.Check(t, w.Code == 401 && w.Header().Get("Set-Cookie") == "", "the form of another browser: %d", w.Code)
	w = askWeb(s, "GET", path, "", nil)
	testkit.Check(t, w.Code == 303 && w.Header().Get("Location") == "/", "the same browser: %d", w.Code)
	first := s.guard.path()
	for range mostTokens {
		s.guard.newToken()
	}
	w = askWeb(s, "GET", first, "", without("Cookie"))
	testkit.Check(t, w.Code == 401, "the oldest of too many links: %d", w.Code)
	other := NewWeb(WebOptions{Runs: newHouse(t), Run: testRun})
	w = askWeb(other, "GET", "/", "", header("Cookie", s.guard.cookie+"="+s.guard.secret))
	testkit.Check(t, w.Code == 401, "the cookie of another process: %d", w.Code)
}

// TestListen: an address that other machines can reach must be allowed explicitly.
func TestListen(t *testing.T) {
	for address, fine := range map[string]bool{
		"127.0.0.1:0": true, "localhost:0": true, "0.0.0.0:0": false, ":0": false, "example.org:80": false,
		"127.0.0.1": false,
	} {
		s, err := ListenWeb(WebOptions{Listen: address})
		testkit.Check(t, (err == nil) == fine, "%s: %v", address, err)
		if err == nil {
			_ = s.Close()
		}
	}
	s := testkit.Must(ListenWeb(WebOptions{Listen: "0.0.0.0:0", Public: true}))(t)
	_ = s.Close()
	_, err := ListenWeb(WebOptions{Listen: "127.0.0.1:0", Hosts: []string{"a/b"}})
	testkit.Check(t, err != nil, "a path is taken for a host")
}

// TestHalfABody: a request whose body does not arrive is ended, and its descriptor freed.
func TestHalfABody(t *testing.T) {
	before := bodyTime
	bodyTime = 50 * time.Millisecond
	t.Cleanup(func() { bodyTime = before })
	s := testkit.Must(ListenWeb(WebOptions{Runs: newHouse(t), Run: testRun, Listen: "127.0.0.1:0"}))(t)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx) }()
	defer func() { cancel(); <-ended }()
	host := s.listener.Addr().String()
	for _, path := range []string{"/run/command", "/run/stop", "/link", "/enter"} {
		conn := testkit.Must(net.Dial("tcp", host))(t)
		fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: %s\r\nOrigin: http://%[2]s\r\nCookie: %s=%s\r\n%s: %s\r\n"+
			"Content-Type: application/json\r\nContent-Length: 1000\r\n\r\n{", path, host, s.guard.cookie, s.guard.secret,
			keyHeader, s.guard.key)
		_ = conn.SetReadDeadline(time.Now().Add(20 * time.Second))
		_, err := io.ReadAll(conn)
		testkit.Check(t, !errors.Is(err, os.ErrDeadlineExceeded), "%s waits for the rest of the body", path)
		_ = conn.Close()
	}
}

// TestForeignPages: a page of another site, such as a chat, may link to the page. Everything else that such a page
// tries in the browser with the cookie is refused. That includes a page on another port of this machine, with which
// the browser shares cookies.
func TestForeignPages(t *testing.T) {
	h := newHouse(t)
	s, address := serve(t, h)
	link := s.Link()
	chat := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, "<a id=link href=%q>the run</a>", link)
	}))
	t.Cleanup(chat.Close)
	there := testkit.Must(url.Parse(chat.URL))(t)
	otherSite, otherPort := "http://localhost:"+there.Port(), chat.URL
	w := openTab(startBrowser(t), t, otherSite)
	w.until(`document.querySelector("#link")`)
	eval[chromedp.Void](w, `document.querySelector("#link").click()`)
	w.until(`document.querySelector("#title")?.textContent === "Rewrite the parser"`)
	w.until(`location.hash === "" && location.search === ""`)

	for _, origin := range []string{otherSite, otherPort} {
		testkit.OK(t, chromedp.Do(w.ctx, chromedp.Navigate(origin)))
		w.until(fmt.Sprintf(`location.origin === %q && document.querySelector("#link")`, origin))
		got := eval[[]string](w, fmt.Sprintf(`(async (at) => {
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
		})(%q)`, address))
		testkit.Same(t, fmt.Sprintf("from %s", origin), "refused refused refused refused refused closed",
			strings.Join(got, " "))
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	testkit.Check(t, len(h.commands) == 0, "the run took %q", h.commands)
}
