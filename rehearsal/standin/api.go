package standin

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// modelRequest is one Messages API request.
type modelRequest struct {
	model, effort  string
	system         []json.RawMessage
	tools          []toolSpec
	messages       []wireMessage
	session, agent string // agent: id of the subagent that asks
	format         obj    // output_config.format, for answers in JSON
}

// toolSpec is a tool as the API is told of it.
type toolSpec struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	InputSchema json.RawMessage `json:"input_schema"`
}

// answer is what a model said.
type answer struct {
	id, model, requestID string
	opening              usage // of message_start: the input side is final
	usage                usage // after message_delta
	stopReason           string
	blocks               []json.RawMessage
}

// apiError is a failure that was not, or no longer, worth another try.
type apiError struct {
	status  int // 0: no answer at all
	kind    string
	message string
	said    string        // what is shown of it; "" = made of the rest
	after   time.Duration // the answer's retry-after
	mid     bool          // in the middle of a stream
	garbled bool          // what came could not be read
	local   bool          // no request was made
}

func (e *apiError) Error() string { return fmt.Sprintf("API error %d: %s", e.status, e.message) }

// sink hears an answer while it arrives.
type sink interface {
	opened(a *answer)             // message_start
	block(json.RawMessage)        // a content block is complete
	event(data json.RawMessage)   // every stream event, after block for its last one
	partial(text json.RawMessage) // the unfinished text block of an answer that was cut off
	retrying(attempt, most int, delay time.Duration, e *apiError)
}

// apiClient talks to {ANTHROPIC_BASE_URL}/v1/messages.
type apiClient struct {
	base       string
	key, token string
	device     string
	maxRetries int
	http       *http.Client
}

func newAPIClient(env environ) *apiClient {
	base := strings.TrimSuffix(env["ANTHROPIC_BASE_URL"], "/")
	if base == "" {
		base = "https://api.anthropic.com"
	}
	return &apiClient{
		base: base, key: env["ANTHROPIC_API_KEY"], token: env["ANTHROPIC_AUTH_TOKEN"],
		device: deviceID(env), maxRetries: env.number("CLAUDE_CODE_MAX_RETRIES", 10),
		// Many of these run at once, each with one request in flight: small buffers.
		http: &http.Client{Transport: &http.Transport{
			Proxy: http.ProxyFromEnvironment, MaxIdleConnsPerHost: 2,
			ReadBufferSize: 4 << 10, WriteBufferSize: 4 << 10, IdleConnTimeout: 30 * time.Second,
			ResponseHeaderTimeout: time.Duration(env.number("API_TIMEOUT_MS", 360_000)) * time.Millisecond,
		}},
	}
}

// loggedIn tells whether there is anything to authenticate with.
func (c *apiClient) loggedIn() bool { return c.key != "" || c.token != "" }

func (c *apiClient) gateway() string {
	if u, err := url.Parse(c.base); err == nil {
		return u.Host
	}
	return c.base
}

// call asks the model and tries again as long as that makes sense. A stream that
// breaks off after a block was complete ends the answer there: what the model
// began cannot be taken back.
func (c *apiClient) call(ctx context.Context, r modelRequest, s sink) (*answer, error) {
	p := persistence{most: c.maxRetries}
	for {
		a, err := c.try(ctx, r, p.whole, s)
		if err == nil || ctx.Err() != nil {
			return a, err
		}
		if a != nil && len(a.blocks) > 0 {
			return a, nil
		}
		var e *apiError
		if !errors.As(err, &e) {
			e = &apiError{message: err.Error()}
		}
		again, announced := p.another(e)
		if !again {
			return a, e
		}
		if !announced {
			continue
		}
		delay := backoff(p.failures, e.after)
		s.retrying(p.failures, c.maxRetries, delay, e)
		t := time.NewTimer(delay)
		select {
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
			return nil, context.Cause(ctx)
		}
	}
}

// backoff doubles from half a second to 32 s, with a quarter of jitter.
func backoff(attempt int, atLeast time.Duration) time.Duration {
	d := 500 * time.Millisecond << min(attempt-1, 6)
	d += rand.N(d / 4)
	return max(d, atLeast)
}

func (c *apiClient) body(r modelRequest, whole bool) []byte {
	output := obj{"effort": r.effort}
	if r.format != nil {
		output["format"] = r.format
	}
	request := obj{
		"model": r.model, "max_tokens": maxOutputTokens, "stream": true,
		"system": r.system, "messages": r.messages,
		"thinking": obj{"type": "adaptive"}, "output_config": output,
		"metadata": obj{"user_id": string(encode(struct {
			Device  string `json:"device_id"`
			Account string `json:"account_uuid"`
			Session string `json:"session_id"`
		}{c.device, "", r.session}))},
	}
	if len(r.tools) > 0 {
		request["tools"] = r.tools
	}
	if whole {
		request["stream"], request["max_tokens"] = false, 64_000
	}
	return encode(request)
}

// try makes one request, for a stream or for a whole answer.
func (c *apiClient) try(ctx context.Context, r modelRequest, whole bool, s sink) (*answer, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.base+"/v1/messages?beta=true", bytes.NewReader(c.body(r, whole)))
	if err != nil {
		return nil, fmt.Errorf("build request: %w", err)
	}
	h := req.Header
	h.Set("content-type", "application/json")
	h.Set("anthropic-version", "2023-06-01")
	h.Set("user-agent", "claude-cli/"+version+" (external, sdk-cli, stand-in)")
	h.Set("x-app", "cli")
	h.Set("x-claude-code-session-id", r.session)
	if r.agent != "" {
		h.Set("x-claude-code-agent-id", r.agent)
	}
	if c.key != "" {
		h.Set("x-api-key", c.key)
	}
	if c.token != "" {
		h.Set("authorization", "Bearer "+c.token)
	}
	resp, err := c.http.Do(req)
	var dial *net.OpError
	if errors.As(err, &dial) && dial.Op == "dial" {
		return nil, &apiError{message: "Unable to connect to API: " + dial.Err.Error()}
	}
	if err != nil {
		return nil, &apiError{message: "Connection dropped: " + err.Error()}
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, readAPIError(resp)
	}
	a := &answer{requestID: resp.Header.Get("request-id")}
	if strings.HasPrefix(resp.Header.Get("content-type"), "application/json") {
		return a, a.readWhole(resp.Body, s)
	}
	return a, a.readStream(ctx, resp.Body, s)
}
