package standin

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
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
	after   time.Duration // the answer's retry-after
}

func (e *apiError) Error() string { return fmt.Sprintf("API error %d: %s", e.status, e.message) }

// overload is the status of an overloaded API.
const overload = 529

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
	body := c.body(r)
	for attempt := 1; ; attempt++ {
		a, err := c.try(ctx, body, r, s)
		if err == nil || ctx.Err() != nil {
			return a, err
		}
		var e *apiError
		if !errors.As(err, &e) {
			e = &apiError{kind: "unknown", message: err.Error()}
		}
		if a != nil && len(a.blocks) > 0 {
			return a, nil
		}
		if !c.again(e, attempt) {
			return a, e
		}
		delay := backoff(attempt, e.after)
		s.retrying(attempt, c.maxRetries, delay, e)
		t := time.NewTimer(delay)
		select {
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
			return nil, context.Cause(ctx)
		}
	}
}

// again: 400, 403 and 404 are final, an overloaded API gets two more tries, all
// else gets the full number (observed with CLI 2.1.329).
func (c *apiClient) again(e *apiError, attempt int) bool {
	switch e.status {
	case 400, 403, 404, 413:
		return false
	case overload:
		return attempt <= min(2, c.maxRetries)
	}
	return attempt <= c.maxRetries
}

// backoff doubles from half a second to 32 s, with a quarter of jitter.
func backoff(attempt int, atLeast time.Duration) time.Duration {
	d := 500 * time.Millisecond << min(attempt-1, 6)
	d += rand.N(d / 4)
	return max(d, atLeast)
}

func (c *apiClient) body(r modelRequest) []byte {
	messages := r.messages
	request := obj{
		"model": r.model, "max_tokens": maxOutputTokens, "stream": true,
		"system": r.system, "messages": messages,
		"thinking":      obj{"type": "adaptive"},
		"output_config": obj{"effort": r.effort},
		"metadata": obj{"user_id": string(encode(struct {
			Device  string `json:"device_id"`
			Account string `json:"account_uuid"`
			Session string `json:"session_id"`
		}{c.device, "", r.session}))},
	}
	if len(r.tools) > 0 {
		request["tools"] = r.tools
	}
	return encode(request)
}

func (c *apiClient) try(ctx context.Context, body []byte, r modelRequest, s sink) (*answer, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.base+"/v1/messages?beta=true", bytes.NewReader(body))
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
	if err != nil {
		return nil, &apiError{kind: "connection_error", message: "Unable to connect to API: " + err.Error()}
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

func readAPIError(resp *http.Response) *apiError {
	var w struct {
		Error struct{ Type, Message string }
	}
	raw, _ := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	e := &apiError{status: resp.StatusCode}
	if json.Unmarshal(raw, &w) == nil {
		e.kind, e.message = w.Error.Type, w.Error.Message
	}
	if e.message == "" {
		e.message = strings.TrimSpace(string(raw))
	}
	if n, err := strconv.Atoi(resp.Header.Get("retry-after")); err == nil {
		e.after = time.Duration(n) * time.Second
	}
	return e
}

// class is the `error` field of frames about the failure.
func (e *apiError) class() string {
	switch {
	case e.tooLong():
		return "invalid_request"
	case e.status == 401:
		return "authentication_failed"
	case e.status == 404:
		return "model_not_found"
	case e.status == 429:
		return "rate_limit"
	case e.status >= 500:
		return "server_error"
	}
	return "unknown"
}

func (e *apiError) tooLong() bool {
	return e.status == 400 && strings.HasPrefix(e.message, "prompt is too long")
}

// text is what the CLI says to its user.
func (e *apiError) text(model, gateway string) string {
	switch {
	case e.tooLong():
		return "Prompt is too long · " + strings.TrimPrefix(e.message, "prompt is too long: ")
	case e.status == 0:
		return "API Error: " + e.message
	case e.status == 401:
		return "Failed to authenticate. API Error: 401 " + e.message
	case e.status == 404:
		return "There's an issue with the selected model (" + model + "). It may not exist or you may not have access to it. Run --model to pick a different model."
	case e.status == 429:
		return "API Error: Request rejected (429) · " + e.message
	case e.status >= 500:
		return fmt.Sprintf("API Error: %d %s. This is a server-side issue, usually temporary — try again in a moment. If it persists, check your inference gateway (%s).",
			e.status, e.message, gateway)
	}
	return fmt.Sprintf("API Error: %d %s", e.status, e.message)
}
