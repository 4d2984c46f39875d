package clients

// This part of the package serves one page that follows a live run and answers what waits for the human.
//
// The page is only a client of the run's control socket: it shows what the socket reports, and sends commands of
// the contract. Text of agents is not trusted: it is bounded and sanitized here, and the page shows it as text
// nodes, never as markup.
//
// # Access
//
// Anyone can open the page with the link that the command prints. The token in the link works once. The browser
// that redeems it gets two secrets of this process: a cookie, which scripts cannot read, and a key in the link's
// fragment, which the page stores in its origin's storage and sends with each request for data. Both are needed. A
// cookie alone would be sent to every server on the same host, regardless of the port, including one that an agent
// has started.
//
// Before that, [guard] refuses requests for unknown host names (DNS rebinding) and from pages of other origins.
//
// # Goroutines
//
// [WebServer.Serve] owns the listener and waits for all handlers. The handler of a stream owns a connection to the run
// and a goroutine that asks for its status, and waits for both.

import (
	"crypto/rand"
	"crypto/subtle"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	// tokenParam is the parameter with the one-time token of a link.
	tokenParam = "t"
	// keyHeader is the header with the key that the page stores.
	keyHeader = "X-Arbiter-Key"
	// mostTokens is the maximum number of unused links.
	mostTokens = 16
)

// securityHeaders are set on every response. Scripts and styles come only from this server, text never becomes
// markup, and no other page may frame or open this one.
var securityHeaders = map[string]string{
	"Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; " +
		"connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; " +
		"require-trusted-types-for 'script'; trusted-types 'none'",
	"Cross-Origin-Opener-Policy":   "same-origin",
	"Cross-Origin-Resource-Policy": "same-origin",
	"Referrer-Policy":              "no-referrer",
	"X-Content-Type-Options":       "nosniff",
	"X-Frame-Options":              "DENY",
	"Cache-Control":                "no-store",
}

// bodyTime is how long the body of a request may take to arrive.
var bodyTime = 10 * time.Second

// guard decides who may send requests to this server.
type guard struct {
	hosts  []string // allowed host names besides loopback, in lower case, without port
	cookie string   // name of the cookie; servers on other ports of this host have their own cookies
	secret string   // value of the cookie
	key    string

	mu     sync.Mutex
	tokens []string // unused ones, the oldest first
}

func newGuard(hosts []string) *guard {
	g := &guard{cookie: "arbiter-" + strings.ToLower(rand.Text()[:8]), secret: rand.Text(), key: rand.Text()}
	for _, h := range hosts {
		g.hosts = append(g.hosts, strings.ToLower(h))
	}
	return g
}

// newToken makes a token for another browser. Beyond the limit, the oldest tokens become invalid.
func (g *guard) newToken() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	token := rand.Text()
	g.tokens = append(g.tokens, token)
	if extra := len(g.tokens) - mostTokens; extra > 0 {
		g.tokens = slices.Delete(g.tokens, 0, extra)
	}
	return token
}

// redeem invalidates a token, and reports whether it was valid.
func (g *guard) redeem(token string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	for i, t := range g.tokens {
		if same(t, token) {
			g.tokens = slices.Delete(g.tokens, i, i+1)
			return true
		}
	}
	return false
}

// valid reports whether a token could be redeemed.
func (g *guard) valid(token string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.ContainsFunc(g.tokens, func(t string) bool { return same(t, token) })
}

func same(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

// wrap passes allowed requests to next. Requests for data need the key, too; assets and the page itself need only
// the cookie.
func (g *guard) wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for name, value := range securityHeaders {
			w.Header().Set(name, value)
		}
		if r.ContentLength != 0 { // a recorder of tests has no deadlines
			_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(bodyTime))
		}
		switch {
		case !g.knows(r.Host):
			refuse(w, http.StatusMisdirectedRequest, "This name of the host is not allowed. If it is yours, start "+
				"arbiter web with --host and the name.")
		case !ownPage(r):
			refuse(w, http.StatusForbidden, "Requests of other pages are refused.")
		case r.Method == http.MethodGet && r.URL.Path == "/" && r.URL.Query().Has(tokenParam):
			g.offer(w, r)
		case r.Method == http.MethodPost && r.URL.Path == "/enter":
			g.enter(w, r)
		case r.Method == http.MethodGet && r.URL.Path == "/enter.js":
			next.ServeHTTP(w, r)
		case !g.hasCookie(r), needsKey(r) && !same(r.Header.Get(keyHeader), g.key):
			refuse(w, http.StatusUnauthorized, "This page opens with the link that arbiter web prints. A link works "+
				"once; an open page makes more of them.")
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// offer answers a link with a small page whose form redeems the token. The link itself does not: programs that preview
// links, or fetch them early, follow it, too.
func (g *guard) offer(w http.ResponseWriter, r *http.Request) {
	token := r.URL.Query().Get(tokenParam)
	switch {
	case g.valid(token):
		w.Header().Set("Content-Security-Policy", strings.Replace(securityHeaders["Content-Security-Policy"],
			"form-action 'none'", "form-action 'self'", 1))
		w.Header().Set("Referrer-Policy", "same-origin") // without a referrer, browsers name no origin of the form either
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprintf(w, offered, token)
	case g.hasCookie(r): // a browser loads its link again
		http.Redirect(w, r, "/", http.StatusSeeOther)
	default:
		refuse(w, http.StatusUnauthorized, usedLink)
	}
}

// offered is the page of [guard.offer]. Its script sends the form once a person sees the page.
const offered = `<!doctype html><html lang="en"><title>Arbiter</title>
<meta name="viewport" content="width=device-width">
<form method="post" action="/enter"><input type="hidden" name="t" value="%s"><button>Open the run</button></form>
<script src="/enter.js"></script></html>
`

const usedLink = "This link was used already, or is not of this arbiter web. Start arbiter web again, or make a link " +
	"on a page that is open."

// enter exchanges a token for the cookie and the key.
func (g *guard) enter(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, maxBody)
	if !g.redeem(r.PostFormValue(tokenParam)) {
		refuse(w, http.StatusUnauthorized, usedLink)
		return
	}
	http.SetCookie(w, &http.Cookie{
		Name: g.cookie, Value: g.secret, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode,
	})
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	fmt.Fprintf(w, entered, g.key)
}

// entered is a page that continues to the actual page. It is not an HTTP redirection: if the link was clicked on a
// page of another site, browsers would not send the new cookie.
const entered = `<!doctype html><html lang="en"><title>Arbiter</title>
<meta http-equiv="refresh" content="0; url=/#k=%[1]s"><p><a href="/#k=%[1]s">Continue to the run</a></p></html>
`

func (g *guard) hasCookie(r *http.Request) bool {
	c, err := r.Cookie(g.cookie)
	return err == nil && same(c.Value, g.secret)
}

// knows reports whether the Host of a request is a name of this server. A name that an attacker has pointed at this
// machine (DNS rebinding) is not. The port is not compared, because `ssh -L` changes it.
func (g *guard) knows(host string) bool {
	name, ok := hostname(host)
	if !ok {
		return false
	}
	if addr, err := netip.ParseAddr(name); err == nil && addr.IsLoopback() {
		return true
	}
	return name == "localhost" || slices.Contains(g.hosts, name)
}

// hostname returns the name in a Host header in lower case, without port and brackets.
func hostname(host string) (string, bool) {
	u, err := url.Parse("//" + host)
	if err != nil || u.Host != host || u.User != nil {
		return "", false
	}
	return strings.ToLower(u.Hostname()), u.Hostname() != ""
}

// ownPage reports whether a request comes from a page of this server, or from the address bar. A request that
// changes something must have an origin; browsers set it.
func ownPage(r *http.Request) bool {
	origin, site := r.Header.Get("Origin"), r.Header.Get("Sec-Fetch-Site")
	reads := r.Method == http.MethodGet || r.Method == http.MethodHead
	if origin == "" {
		return reads && (site == "" || site == "same-origin" || site == "none" || r.URL.Path == "/")
	}
	u, err := url.Parse(origin)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && strings.EqualFold(u.Host, r.Host) &&
		(site == "" || site == "same-origin" || reads && site == "none")
}

// needsKey reports whether a request reads data or sends a command.
func needsKey(r *http.Request) bool {
	return r.Method != http.MethodGet && r.Method != http.MethodHead || strings.HasPrefix(r.URL.Path, "/run/")
}

func refuse(w http.ResponseWriter, code int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(code)
	_, _ = w.Write([]byte(text + "\n")) // a client that has gone does not read it
}

// isLoopback reports whether only this machine can reach an address of --listen.
func isLoopback(listen string) bool {
	host, _, err := net.SplitHostPort(listen)
	if err != nil {
		return false
	}
	if host == "localhost" {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.IsLoopback()
}
