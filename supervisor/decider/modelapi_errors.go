package decider

// This part of the package sends single questions to a model over HTTP, by OpenAI's Chat Completions, which
// many servers speak, local ones among them, and by Anthropic's Messages. [APIClient] is a Asker.
//
// # What a server is trusted with
//
// It gets the question and the key, and nothing else. Redirects are not followed, because they would send both
// to a server that the user did not name. Answers are bounded, and the key is masked in them, so that a server
// that echoes the key cannot get it recorded. A [APIKey] cannot be printed.
//
// # Parameters that a model refuses
//
// Models accept different parameters: some refuse a temperature, some an output schema, some call the limit of
// tokens max_completion_tokens. A request that is refused because of such a parameter is repeated at once
// without it, the answer's notes say so, and later requests leave it out.
//
// # Errors
//
// Each error is an *[APIError] that names the address, what happened and what to do. It reports whether asking
// again may help (Transient), when the server wants to be asked again (RetryAfter), and whether every other
// question would fail, too (Hopeless). The caller waits and asks again.
//
// # Concurrency
//
// A client is safe for concurrent use and starts no goroutines of its own. Each question ends with its context.

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/arbiter-cli/arbiter/sanitize"
)

// kind says what can be done about an error.
type kind int

const (
	serverKind   kind = iota // it may be transient: asking again may help
	refusedKind              // this question is not answered; another may be
	hopelessKind             // no question is answered until somebody changes a setting
)

// APIError says why there is no answer: from which server, what happened, and what to do.
type APIError struct {
	where  string // host and path
	what   string
	hint   string
	status int // of the response; 0: there was none
	kind   kind
	after  time.Duration // when the server wants to be asked again; 0: it does not say
	err    error         // of the network; may be nil
}

func (e *APIError) Error() string {
	s := "ask " + e.where + ": "
	if e.status != 0 && e.status != http.StatusOK {
		s += fmt.Sprintf("%d: ", e.status)
	}
	s += e.what
	if e.hint != "" {
		s += "; " + e.hint
	}
	return s
}

func (e *APIError) Unwrap() error { return e.err }

// Transient reports whether asking again may help.
func (e *APIError) Transient() bool { return e.kind == serverKind }

// Hopeless reports whether every other question would fail, too.
func (e *APIError) Hopeless() bool { return e.kind == hopelessKind }

// RetryAfter is how long the server wants the client to wait; 0: it does not say.
func (e *APIError) RetryAfter() time.Duration { return e.after }

// failed sets the address of an error.
func (c *APIClient) failed(e *APIError) *APIError {
	u, err := url.Parse(c.endpoint)
	if e.where = hostOf(c.endpoint); err == nil {
		e.where += u.Path
	}
	return e
}

// shown is a text of the server, for an error message.
func (c *APIClient) shown(text string) string {
	return sanitize.Line(sanitize.Redact(c.config.Key.mask(text)), 300)
}

func clipAPI(s string, n int) string { return sanitize.Line(s, n) }

// unreached says why no response came.
func (c *APIClient) unreached(ctx context.Context, err error) error {
	var dns *net.DNSError
	var authority x509.UnknownAuthorityError
	var hostname x509.HostnameError
	var invalid x509.CertificateInvalidError
	var certificate *tls.CertificateVerificationError
	var record tls.RecordHeaderError
	e := &APIError{kind: serverKind, what: c.shown(reason(err)), err: err}
	switch {
	case ctx.Err() != nil:
		return c.failed(&APIError{what: "no whole answer came in time", kind: serverKind, err: ctx.Err(),
			hint: "raise --decider-timeout, or check --decider-base-url"})
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		e.what = "the server closed the connection before the answer was whole"
	case errors.As(err, &dns) && dns.IsNotFound:
		e.kind, e.hint = hopelessKind, "check --decider-base-url and the proxy (HTTPS_PROXY, NO_PROXY)"
	case errors.As(err, &authority), errors.As(err, &hostname), errors.As(err, &invalid),
		errors.As(err, &certificate):
		e.kind, e.what = hopelessKind, "the server's TLS certificate is not accepted: "+e.what
		e.hint = "check --decider-base-url; for a certificate authority of your own, set SSL_CERT_FILE"
	case errors.As(err, &record), strings.Contains(err.Error(), "server gave HTTP response to HTTPS client"):
		e.kind, e.what = hopelessKind, "the server does not speak TLS"
		e.hint = "begin --decider-base-url with http:// for a local server"
	case strings.Contains(err.Error(), "malformed HTTP"):
		e.kind, e.what = hopelessKind, "the server does not speak HTTP here"
		e.hint = "check --decider-base-url: scheme, host and port"
	case strings.Contains(err.Error(), "server response headers exceeded"):
		e.kind, e.what = refusedKind, "the headers of the answer are too large"
	default:
		e.hint = "is the server running? check --decider-base-url and the proxy (HTTPS_PROXY, NO_PROXY)"
	}
	return c.failed(e)
}

// reason is a network error without the address, which the message contains already.
func reason(err error) string {
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err
	}
	return err.Error()
}

// refusal says why a response is not an answer.
func (c *APIClient) refusal(res *http.Response, body []byte) error {
	e := &APIError{status: res.StatusCode, kind: serverKind, after: retryAPIAfter(res.Header, time.Now())}
	e.what = c.errorText(body)
	if e.what == "" {
		e.what = strings.ToLower(http.StatusText(res.StatusCode)) + kindOf(res.Header, body)
	}
	source := c.config.keySource()
	switch code := res.StatusCode; {
	case code >= 300 && code < 400:
		e.kind, e.what = hopelessKind, "it redirects to "+c.target(res)
		e.hint = "redirects are not followed, so that no other server gets the key: set --decider-base-url to the " +
			"address that answers"
	case code == http.StatusUnauthorized && c.config.Key.Empty():
		e.kind, e.hint = hopelessKind, "no key was sent: name the variable that contains it with --decider-key-env"
	case code == http.StatusUnauthorized, code == http.StatusForbidden:
		e.kind, e.hint = hopelessKind, "check the key in "+source+", or name another variable with --decider-key-env"
	case code == http.StatusPaymentRequired, code == http.StatusTooManyRequests && exhausted(body):
		e.kind, e.hint = hopelessKind, "the account of the key in "+source+" has no credit left"
	case code == http.StatusNotFound, code == http.StatusMethodNotAllowed:
		e.kind, e.hint = hopelessKind, "check --decider-base-url ("+c.example()+") and --decider-model ("+
			clipAPI(c.config.Model, 80)+")"
	case code == http.StatusRequestEntityTooLarge:
		e.kind, e.hint = refusedKind, "the question is too large for this server or model"
	case code == http.StatusProxyAuthRequired:
		e.kind, e.hint = hopelessKind, "the proxy requires a login: check HTTPS_PROXY"
	case code == http.StatusTooManyRequests, code == http.StatusRequestTimeout, code == http.StatusConflict,
		code == http.StatusTooEarly, code >= 500 && code != http.StatusNotImplemented:
	default:
		e.kind = refusedKind
	}
	return c.failed(e)
}

// example is what a base URL looks like.
func (c *APIClient) example() string {
	if c.config.Provider == OpenAI {
		return "it ends before /chat/completions, such as http://127.0.0.1:11434/v1"
	}
	return "it ends before /v1/messages"
}

// target is the destination of a redirect, without parts that may be secret.
func (c *APIClient) target(res *http.Response) string {
	u, err := res.Location()
	if err != nil {
		return "nowhere"
	}
	return c.shown(u.Scheme + "://" + u.Host + u.Path)
}

// exhausted reports whether waiting does not help against a 429.
func exhausted(body []byte) bool {
	return strings.Contains(string(body), "insufficient_quota") || strings.Contains(string(body), "billing_hard_limit")
}

// errorText is a body's description of an error; empty: it has none that can be read.
func (c *APIClient) errorText(body []byte) string {
	var m struct {
		Error   json.RawMessage `json:"error"`
		Message string          `json:"message"`
		Detail  json.RawMessage `json:"detail"`
	}
	if json.Unmarshal(body, &m) != nil {
		return ""
	}
	var inner struct {
		Message string `json:"message"`
	}
	var plain string
	switch {
	case json.Unmarshal(m.Error, &inner) == nil && inner.Message != "":
		return c.shown(inner.Message)
	case json.Unmarshal(m.Error, &plain) == nil && plain != "":
		return c.shown(plain)
	case m.Message != "":
		return c.shown(m.Message)
	case len(m.Detail) > 0:
		return c.shown(string(m.Detail))
	case len(m.Error) > 0:
		return c.shown(string(m.Error))
	}
	return ""
}

// retryAPIAfter reads the header of that name: seconds, or a date.
func retryAPIAfter(h http.Header, now time.Time) time.Duration {
	value := strings.TrimSpace(h.Get("Retry-After"))
	if seconds, err := strconv.ParseFloat(value, 64); err == nil {
		const most = 1e6 // seconds; a longer wait is as good as never
		if !(seconds > 0) {
			return 0
		}
		return time.Duration(min(seconds, most) * float64(time.Second))
	}
	if at, err := http.ParseTime(value); err == nil {
		return max(at.Sub(now), 0)
	}
	return 0
}
