package fakecli

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// modelRequest is the body of a Messages API request.
type modelRequest struct {
	Model     string            `json:"model"`
	MaxTokens int               `json:"max_tokens"`
	Stream    bool              `json:"stream"`
	System    []json.RawMessage `json:"system"`
	Messages  []wireMessage     `json:"messages"`
	Tools     []toolSpec        `json:"tools,omitempty"`
	Output    struct {
		Effort string `json:"effort"`
	} `json:"output_config"`
	Metadata struct {
		UserID string `json:"user_id"` // JSON text, like the CLI's
	} `json:"metadata"`
	agent string // id of the subagent that asks
}

type wireMessage struct {
	Role    string            `json:"role"`
	Content []json.RawMessage `json:"content"`
}

// toolSpec describes a tool to the API.
type toolSpec struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	InputSchema json.RawMessage `json:"input_schema"`
}

// answer is what a model said: a message of the API.
type answer struct {
	ID      string            `json:"id"`
	Model   string            `json:"model"`
	Content []json.RawMessage `json:"content"`
	Stop    string            `json:"stop_reason"`
	Usage   usage             `json:"usage"`

	opening usage    // of message_start: the input side is final
	uuids   []string // of the blocks' frames and lines
}

func (a *answer) text() string { return textOf(a.Content) }

// textOf joins the text blocks among blocks.
func textOf(blocks []json.RawMessage) string {
	var parts []string
	for _, raw := range blocks {
		var b struct{ Type, Text string }
		if json.Unmarshal(raw, &b) == nil && b.Type == "text" && b.Text != "" {
			parts = append(parts, b.Text)
		}
	}
	return strings.Join(parts, "\n")
}

// apiError is a failed model call. The real CLI tries again for minutes; here the first
// failure is the last.
type apiError struct {
	status  int // 0: no answer
	kind    string
	message string
	said    string // what is shown of it; "" = made of the rest
}

func (e *apiError) Error() string { return fmt.Sprintf("API error %d: %s", e.status, e.message) }

func (e *apiError) tooLong() bool {
	return e.status == 400 && strings.HasPrefix(e.message, "prompt is too long")
}

// class is the `error` field of frames about the failure.
func (e *apiError) class() string {
	switch {
	case e.tooLong():
		return "invalid_request"
	case e.status == 401 || e.status == 403:
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

// text is what the CLI says to its user.
func (e *apiError) text() string {
	switch {
	case e.said != "":
		return e.said
	case e.tooLong():
		return "Prompt is too long · " + strings.TrimPrefix(e.message, "prompt is too long: ")
	case e.status == 0:
		return "API Error: " + e.message
	case e.status == 401 || e.status == 403:
		return fmt.Sprintf("Failed to authenticate. API Error: %d %s", e.status, e.message)
	case e.status == 404:
		return "There's an issue with the selected model: the API does not know it."
	case e.status == 429:
		return "API Error: Request rejected (429) · " + e.message
	}
	return fmt.Sprintf("API Error: %d %s", e.status, e.message)
}

// apiClient talks to {ANTHROPIC_BASE_URL}/v1/messages.
type apiClient struct {
	base, key, token, session string
	http                      *http.Client
}

func newAPIClient(env environment, session string) *apiClient {
	base := cmp.Or(env["ANTHROPIC_BASE_URL"], "https://api.anthropic.com")
	return &apiClient{
		base: strings.TrimSuffix(base, "/"), session: session,
		key: env["ANTHROPIC_API_KEY"], token: env["ANTHROPIC_AUTH_TOKEN"],
		// A hundred of these run at once, each with one request in flight: small buffers.
		http: &http.Client{Transport: &http.Transport{
			Proxy: http.ProxyFromEnvironment, MaxIdleConnsPerHost: 2, IdleConnTimeout: 30 * time.Second,
			ReadBufferSize: 4 << 10, WriteBufferSize: 4 << 10,
		}},
	}
}

// post sends a request; the caller closes the body of the answer.
func (c *apiClient) post(ctx context.Context, r modelRequest) (io.ReadCloser, error) {
	r.MaxTokens = maxOutputTokens
	r.Metadata.UserID = string(encode(obj{"session_id": c.session}))
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.base+"/v1/messages", bytes.NewReader(encode(r)))
	if err != nil {
		return nil, &apiError{message: err.Error()}
	}
	headers := map[string]string{"content-type": "application/json", "anthropic-version": "2023-06-01",
		"user-agent": "claude-cli/" + version + " (stand-in)", "x-claude-code-agent-id": r.agent, "x-api-key": c.key}
	if c.token != "" {
		headers["authorization"] = "Bearer " + c.token
	}
	for name, value := range headers {
		if value != "" {
			req.Header.Set(name, value)
		}
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, &apiError{message: "Unable to connect to API: " + err.Error()}
	}
	if resp.StatusCode == http.StatusOK {
		return resp.Body, nil
	}
	defer resp.Body.Close()
	var w struct {
		Error struct{ Type, Message string }
	}
	raw, _ := io.ReadAll(io.LimitReader(resp.Body, 64<<10)) // an error body that breaks off is as good as none
	_ = json.Unmarshal(raw, &w)
	return nil, &apiError{status: resp.StatusCode, kind: w.Error.Type, message: cmp.Or(w.Error.Message, string(raw))}
}

// aside makes one call outside of the conversation.
func (s *session) aside(r modelRequest) (*answer, error) {
	begun := time.Now()
	body, err := s.api.post(s.ctx, r)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	a, err := readStream(body, &listener{ctx: s.ctx})
	if err == nil {
		s.account.add(r.Model, a.Usage, time.Since(begun))
	}
	return a, err
}
