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
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/arbiter-cli/arbiter/sanitize"
)

// Bounds of what is sent and read, in bytes.
const (
	maxQuestion = 8 << 20
	maxResponse = 4 << 20
	maxHeader   = 64 << 10
)

// APIClient asks one model. Create it with [NewAPIClient].
type APIClient struct {
	config   APIConfig
	endpoint string
	http     *http.Client

	mu      sync.Mutex
	refused []string // names of parameters that the model does not take
}

// NewAPIClient creates a client. It connects with the first question, through the proxies that HTTPS_PROXY, HTTP_PROXY
// and NO_PROXY name.
func NewAPIClient(c APIConfig) (*APIClient, error) {
	c.KeyName = cmp.Or(c.KeyName, "its environment variable")
	c.MaxTokens = cmp.Or(max(c.MaxTokens, 0), DefaultMaxTokens)
	if err := c.check(); err != nil {
		return nil, fmt.Errorf("ask %s: %w", c.Provider, err)
	}
	transport := &http.Transport{
		Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true, TLSHandshakeTimeout: 15 * time.Second,
		MaxIdleConnsPerHost: 2, IdleConnTimeout: time.Minute, MaxResponseHeaderBytes: maxHeader,
		TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12},
	}
	return &APIClient{config: c, endpoint: c.endpoint(), http: &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

// Close closes idle connections.
func (c *APIClient) Close() { c.http.CloseIdleConnections() }

// Ask implements Asker. Errors are *[APIError], or the context's.
func (c *APIClient) Ask(ctx context.Context, q Question) (Answer, error) {
	var notes []string
	for {
		body, sent, err := c.config.body(q, c.left())
		if err != nil {
			return Answer{}, c.failed(&APIError{what: err.Error(), kind: refusedKind})
		}
		a, err := c.post(ctx, body)
		a.Notes = notes
		failed, refused := errors.AsType[*APIError](err)
		if !refused || failed.status != http.StatusBadRequest && failed.status != http.StatusUnprocessableEntity {
			return a, err // an error may have cost tokens, too
		}
		p := refusedBy(failed.what, sent)
		if p == nil { // each is left out at most once, so this ends
			return a, err
		}
		c.leaveOut(p.name)
		if p.label != "" {
			notes = append(notes, fmt.Sprintf("%s takes no %s, and was asked without: %s", c.config.Model, p.label,
				failed.what))
		}
	}
}

func (c *APIClient) left() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.refused)
}

func (c *APIClient) leaveOut(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !slices.Contains(c.refused, name) {
		c.refused = append(c.refused, name)
	}
}

// post sends one request.
func (c *APIClient) post(ctx context.Context, body []byte) (Answer, error) {
	var none Answer
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.endpoint, bytes.NewReader(body))
	if err != nil {
		return none, c.failed(&APIError{what: "the address cannot be used", kind: hopelessKind})
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", "arbiter")
	c.authorise(req)
	res, err := c.http.Do(req)
	if err != nil {
		return none, c.unreached(ctx, err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(io.LimitReader(res.Body, maxResponse+1))
	switch {
	case err != nil:
		return none, c.unreached(ctx, err)
	case len(text) > maxResponse:
		return none, c.failed(&APIError{status: res.StatusCode, kind: refusedKind,
			what: fmt.Sprintf("the answer has more than %d bytes", maxResponse),
			hint: "lower --decider-max-tokens, or check --decider-base-url"})
	case res.StatusCode != http.StatusOK:
		return none, c.refusal(res, text)
	}
	return c.read(text, res.Header)
}

func (c *APIClient) authorise(req *http.Request) {
	switch {
	case c.config.Provider == APIAnthropic:
		req.Header.Set("Anthropic-Version", "2023-06-01")
		if !c.config.Key.Empty() {
			req.Header.Set("X-Api-Key", c.config.Key.text)
		}
	case !c.config.Key.Empty():
		req.Header.Set("Authorization", "Bearer "+c.config.Key.text)
	}
}

// The providers, by the API of their servers.
const (
	OpenAI       = "openai"    // Chat Completions
	APIAnthropic = "anthropic" // Messages
)

// Addresses of the providers themselves.
const (
	openAIURL    = "https://api.openai.com/v1"
	anthropicURL = "https://api.anthropic.com"
)

// DefaultMaxTokens is the default bound of an answer: a decision with a long message fits into it.
const DefaultMaxTokens = 4096

// APIConfig says which model a client asks, and how.
type APIConfig struct {
	Provider    string   // OpenAI or Anthropic
	BaseURL     string   // empty: the provider's own
	Key         APIKey   // empty: none is sent
	KeyName     string   // the variable that the key came from, for errors; may be empty
	Model       string   // required
	MaxTokens   int      // of an answer; 0: DefaultMaxTokens
	Temperature *float64 // nil: the model's own
	Effort      string   // empty: the model's own
}

// CheckBaseURL checks the address of a server; empty is the provider's own. One that contains a password or a
// query is refused, because it is recorded; withKey refuses an address to which a key would be sent over the
// network without encryption.
func CheckBaseURL(address string, withKey bool) error {
	if address == "" {
		return nil
	}
	u, err := url.Parse(address)
	if err != nil {
		var e *url.Error // contains the address
		if errors.As(err, &e) {
			err = e.Err
		}
		return fmt.Errorf("is not a URL: %w", err)
	}
	switch {
	case u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.Opaque != "":
		return errors.New("must begin with https:// or http:// and a host, such as http://127.0.0.1:11434/v1")
	case u.User != nil:
		return errors.New("contains a user or a password, and is recorded with the run: put the secret into an " +
			"environment variable")
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return errors.New("must end with its path: leave out what begins with ? or #")
	case withKey && u.Scheme == "http" && !local(u.Hostname()):
		return fmt.Errorf("would send the API key to %s without encryption: use https", u.Hostname())
	}
	return nil
}

// local reports whether a host is this machine or one of a private network.
func local(host string) bool {
	if ip, err := netip.ParseAddr(host); err == nil {
		return ip.IsLoopback() || ip.IsPrivate() || ip.IsLinkLocalUnicast()
	}
	if !strings.Contains(host, ".") {
		return true
	}
	return slices.ContainsFunc([]string{".localhost", ".local", ".internal", ".lan", ".home.arpa"},
		func(suffix string) bool { return strings.HasSuffix(strings.ToLower(host), suffix) })
}

// endpoint is the URL to which questions are posted. The address of a Chat Completions server includes the
// version; that of a Messages server need not.
func (c APIConfig) endpoint() string {
	base := strings.TrimRight(c.BaseURL, "/")
	if c.Provider == OpenAI {
		return cmp.Or(base, openAIURL) + "/chat/completions"
	}
	return strings.TrimSuffix(cmp.Or(base, anthropicURL), "/v1") + "/v1/messages"
}

func (c APIConfig) check() error {
	switch {
	case c.Provider != OpenAI && c.Provider != APIAnthropic:
		return fmt.Errorf("there is no provider %q: use openai or anthropic", c.Provider)
	case c.Model == "":
		return errors.New("no model is named")
	case !c.Key.valid():
		return fmt.Errorf("the key in %s has characters that no key has: set it again, without quotes and line breaks",
			c.KeyName)
	}
	if err := CheckBaseURL(c.BaseURL, !c.Key.Empty()); err != nil {
		return fmt.Errorf("the base URL %w", err)
	}
	return nil
}

// Default models of the providers themselves: small ones.
const (
	OpenAIModel    = "gpt-4.1-mini"
	AnthropicModel = "claude-haiku-4-5"
)

// DefaultModel is the default model of a provider; empty: only its owner knows the models of a server at its
// own address.
func DefaultModel(provider, baseURL string) string {
	switch {
	case provider == APIAnthropic:
		return AnthropicModel
	case baseURL == "":
		return OpenAIModel
	}
	return ""
}

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
	if err != nil {
		e.where = "the server"
		return e
	}
	e.where = u.Host + u.Path
	if host, port, err := net.SplitHostPort(u.Host); err == nil && (port == "443" || port == "80") {
		e.where = host + u.Path
	}
	return e
}

// shown is a text of the server, for an error message.
func (c *APIClient) shown(text string) string {
	return sanitize.Line(sanitize.Redact(c.config.Key.mask(text)), 300)
}

// unreached says why no response came.
func (c *APIClient) unreached(ctx context.Context, err error) error {
	var dns *net.DNSError
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
	case errors.As(err, &certificate):
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
	source := c.config.KeyName
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
			sanitize.Line(c.config.Model, 80)+")"
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
	_, _ = json.Unmarshal(m.Error, &inner), json.Unmarshal(m.Error, &plain) // one of them, or another form
	return c.shown(cmp.Or(inner.Message, plain, m.Message, string(m.Detail), string(m.Error)))
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

// APIKey is an API key. No verb of fmt and no encoder prints it.
type APIKey struct{ text string }

// NewKey makes a key from a variable's value. White space around it, such as the newline of the file that it
// was read from, is removed.
func NewKey(value string) APIKey { return APIKey{strings.TrimSpace(value)} }

// String implements fmt.Stringer, for all verbs that print strings.
func (k APIKey) String() string {
	if k.text == "" {
		return ""
	}
	return sanitize.Mark(len(k.text))
}

// GoString implements fmt.GoStringer, for %#v.
func (k APIKey) GoString() string { return k.String() }

// MarshalText implements encoding.TextMarshaler, for JSON and logs.
func (k APIKey) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// Empty reports whether there is no key.
func (k APIKey) Empty() bool { return k.text == "" }

// valid reports whether the key can be sent in a header.
func (k APIKey) valid() bool {
	return !strings.ContainsFunc(k.text, func(r rune) bool { return r <= ' ' || r >= 0x7f })
}

// leastMasked is the minimal length of a key that is masked in other texts: a shorter one, such as the
// placeholder for a local server, may be an ordinary word.
const leastMasked = 8

// mask removes the key from a text.
func (k APIKey) mask(text string) string {
	if len(k.text) < leastMasked {
		return text
	}
	return strings.ReplaceAll(text, k.text, k.String())
}

type object = map[string]any

// parameter is a member of a request that some models refuse.
type parameter struct {
	name    string // as refusals name it; empty: it is not refused
	label   string // describes what is left out then
	member  string // of the request; of its output_config behind that name and a dot
	value   any
	instead string // the member that has the value then; empty: none
}

// parameters are those of the settings, in the order in which a refusal is searched for them.
func (c APIConfig) parameters(schema []byte) []parameter {
	var list []parameter
	add := func(name, label, member string, value any) {
		list = append(list, parameter{name: name, label: label, member: member, value: value})
	}
	if c.Temperature != nil {
		add("temperature", "temperature", "temperature", *c.Temperature)
	}
	limit := parameter{member: "max_tokens", value: c.MaxTokens}
	if c.Provider == APIAnthropic {
		if c.Effort != "" {
			add("effort", "effort", "output_config.effort", c.Effort)
		}
		if len(schema) > 0 {
			add("output_config", "output schema", "output_config.format",
				object{"type": "json_schema", "schema": json.RawMessage(schema)})
		}
		return append(list, limit)
	}
	if c.Effort != "" {
		add("reasoning_effort", "effort", "reasoning_effort", c.Effort)
	}
	if len(schema) > 0 {
		add("response_format", "output schema", "response_format", object{"type": "json_schema",
			"json_schema": object{"name": "decision", "schema": json.RawMessage(schema)}})
	}
	// The API itself has a new name for it, which its own models require; other servers know the old one.
	limit.instead = "max_completion_tokens"
	if c.BaseURL == "" {
		limit.member, limit.instead = limit.instead, limit.member
	}
	limit.name = limit.member
	return append(list, limit)
}

// into adds the parameter to a request.
func (p parameter) into(body object) {
	outer, inner, nested := strings.Cut(p.member, ".")
	switch {
	case !nested:
		body[outer] = p.value
	case body[outer] == nil:
		body[outer] = object{inner: p.value}
	default:
		body[outer].(object)[inner] = p.value
	}
}

// body renders a question. refused are the names of parameters to leave out.
func (c APIConfig) body(q Question, refused []string) ([]byte, []parameter, error) {
	user := object{"role": "user", "content": q.Prompt}
	b := object{"model": c.Model}
	if c.Provider == APIAnthropic {
		b["messages"] = []object{user}
		if q.System != "" {
			b["system"] = q.System
		}
	} else if b["messages"] = []object{user}; q.System != "" {
		b["messages"] = []object{{"role": "system", "content": q.System}, user}
	}
	var sent []parameter
	for _, p := range c.parameters(q.Schema) {
		if p.name != "" && slices.Contains(refused, p.name) {
			if p.instead == "" {
				continue
			}
			p.name, p.member = "", p.instead
		}
		p.into(b)
		sent = append(sent, p)
	}
	text, err := json.Marshal(b)
	if err != nil {
		return nil, nil, fmt.Errorf("write the question: %w", err)
	}
	if len(text) > maxQuestion {
		return nil, nil, fmt.Errorf("the question has %d bytes, and at most %d are sent", len(text), maxQuestion)
	}
	return text, sent, nil
}

// refusals are words that servers use to refuse a parameter as such. A parameter with a wrong value is not left
// out.
var refusals = []string{"support", "unknown", "unrecognized", "extra input", "not permitted", "not allowed",
	"deprecated", "unexpected", "only the default", "removed"}

// refusedBy finds the parameter that a server's text refuses; nil: none of those sent.
func refusedBy(text string, sent []parameter) *parameter {
	text = strings.ToLower(text)
	if !slices.ContainsFunc(refusals, func(word string) bool { return strings.Contains(text, word) }) {
		return nil
	}
	i := slices.IndexFunc(sent, func(p parameter) bool { return p.name != "" && strings.Contains(text, p.name) })
	if i < 0 {
		return nil
	}
	return &sent[i]
}

// apiResponse is the part of a response that is read: of a chat.completion, or of a message.
type apiResponse struct {
	Model      string          `json:"model"`
	Error      json.RawMessage `json:"error"` // some gateways answer 200 with an error
	StopReason string          `json:"stop_reason"`
	Content    text            `json:"content"`
	Choices    []struct {
		FinishReason string `json:"finish_reason"`
		Message      struct {
			Content text   `json:"content"`
			Refusal string `json:"refusal"`
		} `json:"message"`
	} `json:"choices"`
	Usage struct {
		Usage
		Prompt     int `json:"prompt_tokens"`
		Completion int `json:"completion_tokens"`
		Details    struct {
			Cached int `json:"cached_tokens"`
		} `json:"prompt_tokens_details"`
	} `json:"usage"`
}

// text is a text, or a list of parts; only those of type text count.
type text string

func (t *text) UnmarshalJSON(raw []byte) error {
	if len(raw) == 0 || raw[0] != '[' {
		var s *string
		if err := json.Unmarshal(raw, &s); err != nil {
			return err
		}
		if s != nil {
			*t = text(*s)
		}
		return nil
	}
	var parts []struct{ Type, Text string }
	if err := json.Unmarshal(raw, &parts); err != nil {
		return err
	}
	var b strings.Builder
	for _, p := range parts {
		if p.Type == "text" {
			b.WriteString(p.Text)
		}
	}
	*t = text(b.String())
	return nil
}

// read turns the body of a response into an answer.
func (c *APIClient) read(body []byte, header http.Header) (Answer, error) {
	var r apiResponse
	err := json.Unmarshal(body, &r)
	a, stop, refusal := Answer{Model: r.Model, Text: string(r.Content), Usage: r.Usage.Usage}, r.StopReason, ""
	if c.config.Provider == OpenAI {
		a.Text, stop = "", ""
		a.Usage = Usage{Input: r.Usage.Prompt - r.Usage.Details.Cached, Output: r.Usage.Completion,
			CacheRead: r.Usage.Details.Cached}
		if len(r.Choices) > 0 {
			first := r.Choices[0]
			a.Text, stop, refusal = string(first.Message.Content), first.FinishReason, first.Message.Refusal
		}
	}
	a.Usage.CostUSD = 0 // no server is believed what it costs
	for _, n := range []*int{&a.Usage.Input, &a.Usage.Output, &a.Usage.CacheRead, &a.Usage.CacheCreation} {
		*n = max(*n, 0)
	}
	a.Text = c.config.Key.mask(a.Text)
	a.Model = cmp.Or(c.config.Key.mask(sanitize.Line(a.Model, 200)), c.config.Model)
	switch {
	case err != nil:
		return Answer{}, c.failed(&APIError{status: http.StatusOK, kind: serverKind,
			what: "the answer is not what this API answers" + kindOf(header, body),
			hint: "check --decider-base-url and --decider-provider"})
	case len(r.Error) > 0 && string(r.Error) != "null":
		return a, c.failed(&APIError{status: http.StatusOK, kind: serverKind, what: c.errorText(body)})
	case refusal != "":
		return a, c.failed(&APIError{status: http.StatusOK, kind: refusedKind,
			what: "the model refused: " + c.shown(refusal)})
	case stop == "refusal" || stop == "content_filter":
		return a, c.failed(&APIError{status: http.StatusOK, kind: refusedKind, what: "the model refused to answer"})
	case a.Text == "" && stop == "" && a.Usage == (Usage{}):
		return Answer{}, c.failed(&APIError{status: http.StatusOK, kind: serverKind,
			what: "the answer contains no text" + kindOf(header, body),
			hint: "check --decider-base-url and --decider-provider"})
	case stop == "length" || stop == "max_tokens":
		a.Problem = fmt.Sprintf("it was cut off at the limit of %d tokens (--decider-max-tokens): be brief.",
			c.config.MaxTokens)
	}
	return a, nil
}

// kindOf describes an unexpected body.
func kindOf(header http.Header, body []byte) string {
	if len(body) == 0 {
		return ": it is empty"
	}
	kind, _, err := mime.ParseMediaType(header.Get("Content-Type"))
	if err != nil || kind == "application/json" {
		return ""
	}
	return ": it is " + sanitize.Line(kind, 60)
}
