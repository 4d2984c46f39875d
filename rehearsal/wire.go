package rehearsal

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/arbiter-cli/arbiter/transcript"
)

const structuredOutput = "StructuredOutput"

// wireRequest holds the fields that are read from a Messages API request.
type wireRequest struct {
	Model        string          `json:"model"`
	Stream       bool            `json:"stream"`
	System       content         `json:"system"`
	Tools        []Tool          `json:"tools"`
	Messages     []wireMessage   `json:"messages"`
	OutputConfig json.RawMessage `json:"output_config"`
	Metadata     struct {
		UserID string `json:"user_id"`
	} `json:"metadata"`
}

type wireMessage struct {
	Role    string  `json:"role"`
	Content content `json:"content"`
}

// content is a list of blocks; the API also takes a bare string for one text.
type content []transcript.Block

func (c *content) UnmarshalJSON(b []byte) error {
	b = bytes.TrimSpace(b)
	if len(b) > 0 && b[0] == '"' {
		var s string
		if err := json.Unmarshal(b, &s); err != nil {
			return err
		}
		*c = content{{Type: "text", Text: s}}
		return nil
	}
	return json.Unmarshal(b, (*[]transcript.Block)(c))
}

// text joins the text that a model would read in the blocks.
func (c content) text() string {
	var parts []string
	for _, b := range c {
		switch b.Type {
		case "text":
			parts = append(parts, b.Text)
		case "tool_result":
			var result content
			_ = json.Unmarshal(b.Content, &result) // anything else has no text
			parts = append(parts, result.text())
		}
	}
	return strings.Join(parts, "\n")
}

// call is one parsed model request.
type call struct {
	wireRequest
	size      int    // bytes of the body
	session   string // Claude's session id
	agent     string // id of the subagent, if the CLI sends one
	role      Role   // according to the request alone; see stage.roleOf
	aside     aside
	firstText string // the first text of the conversation's sender
	history   []exchange
	pending   []inputPart // the input that the model must answer
	incoming  string      // its text
	cwd       string
	chat      bool // by Chat Completions
	direct    bool // from a client without sessions and tools: a verdict is the answer's text
}

func readCall(h http.Header, body []byte) (*call, error) {
	c := &call{size: len(body)}
	if err := json.Unmarshal(body, &c.wireRequest); err != nil {
		return nil, fmt.Errorf("read request: %w", err)
	}
	if c.Model == "" || len(c.Messages) == 0 {
		return nil, fmt.Errorf("read request: model and messages are required")
	}
	c.session = sessionID(h, c.Metadata.UserID)
	c.agent = h.Get("X-Claude-Code-Agent-Id")
	c.readMessages()
	if c.session == "" && c.asksForObject() {
		c.direct, c.session = true, newID("direct_")
	} else {
		c.aside = c.readAside()
	}
	c.role = c.readRole()
	return c, nil
}

// sessionID returns the session's id: metadata.user_id is JSON text that contains it, and a header repeats
// it (observed with CLI 2.1.329).
func sessionID(h http.Header, userID string) string {
	var id struct {
		Session string `json:"session_id"`
	}
	if json.Unmarshal([]byte(userID), &id) == nil && id.Session != "" {
		return id.Session
	}
	return h.Get("X-Claude-Code-Session-Id")
}

var (
	workingDirectory = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?m)^ *-? *(?:Primary working|Working) directory: (.+)$`)
	})
	reminder = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?s)^\s*<system-reminder>.*</system-reminder>\s*$`)
	})
)

func (c *call) findCwd(s string) {
	if m := workingDirectory().FindStringSubmatch(s); m != nil {
		c.cwd = strings.TrimSpace(m[1])
	}
}

func (c *call) offers(tool string) bool {
	return slices.ContainsFunc(c.Tools, func(t Tool) bool { return t.Name == tool })
}

// readRole determines the role from this request alone. The marker of a subagent comes first, because a
// subagent may be offered its parent's MCP tools. (In the billing header of the system prompt: observed
// with CLI 2.1.329.)
func (c *call) readRole() Role {
	switch {
	case c.aside != asideNone:
		return RoleSide
	case c.agent != "" || strings.Contains(c.System.text(), "cc_is_subagent=true"):
		return RoleSubagent
	case c.offers("mcp__arbiter__spawn_orchestrator"):
		return RoleArbiter
	case c.offers("mcp__arbiter__report_progress"):
		return RoleOrchestrator
	}
	return RoleMain
}
