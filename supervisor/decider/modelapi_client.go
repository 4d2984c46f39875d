package decider

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"time"
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
		if err == nil {
			a.Notes = notes
			return a, nil
		}
		var failed *APIError
		if !errors.As(err, &failed) || failed.status != http.StatusBadRequest &&
			failed.status != http.StatusUnprocessableEntity {
			return Answer{}, err
		}
		p := refusedBy(failed.what, sent)
		if p == nil { // each is left out at most once, so this ends
			return Answer{}, err
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
