package rehearsal

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/arbiter-cli/arbiter/transcript"
)

const structuredOutput = "StructuredOutput"

// wireRequest holds the fields that are read from a Messages API request.
type wireRequest struct {
	Model        string        `json:"model"`
	Stream       bool          `json:"stream"`
	System       content       `json:"system"`
	Tools        []offered     `json:"tools"`
	Messages     []wireMessage `json:"messages"`
	OutputConfig struct {
		Format struct {
			Schema *struct { // of an answer that is an object
				Properties map[string]json.RawMessage `json:"properties"`
			} `json:"schema"`
		} `json:"format"`
	} `json:"output_config"`
	Metadata struct {
		UserID string `json:"user_id"`
	} `json:"metadata"`
}

type offered struct{ Name string }

type wireMessage struct {
	Role    string  `json:"role"`
	Content content `json:"content"`
}

// content is a list of blocks; the API also takes a bare string for one text.
type content []transcript.Block

func (c *content) UnmarshalJSON(b []byte) error {
	*c = (&transcript.Message{Content: b}).Blocks()
	return nil
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

const chatPath = "/v1/chat/completions"

// readCall parses a request for the API that its path names.
func readCall(path string, h http.Header, body []byte) (*call, error) {
	c := &call{size: len(body), chat: strings.HasSuffix(strings.TrimSuffix(path, "/"), chatPath)}
	err := json.Unmarshal(body, &c.wireRequest)
	if err == nil && c.chat {
		err = c.readChat()
	}
	if err == nil && (c.Model == "" || len(c.Messages) == 0) {
		err = errors.New("model and messages are required")
	}
	if err != nil {
		return nil, fmt.Errorf("read request: %w", err)
	}
	c.readMessages()
	if !c.chat {
		c.session, c.agent = sessionID(h, c.Metadata.UserID), h.Get("X-Claude-Code-Agent-Id")
	}
	// Without a session, a question for an object, or by Chat Completions, is a conversation of its own.
	c.direct = c.chat || c.session == "" && len(c.Tools) == 0 && c.OutputConfig.Format.Schema != nil
	if c.direct {
		c.session = newID("direct_")
	} else {
		c.aside = c.readAside()
	}
	c.role = c.readRole()
	return c, nil
}

// readChat reads a Chat Completions request: system and developer messages become its system prompt. This path neither
// streams nor calls tools: it serves clients with single questions.
func (c *call) readChat() error {
	all := c.Messages
	c.Messages = nil
	for _, m := range all {
		switch m.Role {
		case "system", "developer":
			c.System = append(c.System, m.Content...)
		case "user", "assistant":
			c.Messages = append(c.Messages, m)
		default:
			return fmt.Errorf("messages of role %q are not played here", m.Role)
		}
	}
	switch {
	case c.Stream:
		return errors.New("here Chat Completions are not streamed: leave out stream")
	case len(c.Tools) > 0:
		return errors.New("here Chat Completions have no tools: leave out tools")
	}
	return nil
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
	return slices.ContainsFunc(c.Tools, func(t offered) bool { return t.Name == tool })
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

// plain makes a verdict the text of the answer, because a client that offers no tools cannot handle a call.
func (r reply) plain() reply {
	for i, b := range r.blocks {
		if b.Name == structuredOutput {
			r.blocks[i] = transcript.Block{Type: "text", Text: string(b.Input)}
		}
	}
	return r
}

func (r reply) chatAnswer(model string) object {
	finish := "stop"
	if r.stopReason == "max_tokens" {
		finish = "length"
	}
	u := r.usage
	return object{
		"id": newID("chatcmpl-"), "object": "chat.completion", "created": time.Now().Unix(), "model": model,
		"choices": []object{{"index": 0, "finish_reason": finish, "logprobs": nil,
			"message": object{"role": "assistant", "content": content(r.blocks).text(), "refusal": nil}}},
		"usage": object{"prompt_tokens": u.Context(), "completion_tokens": u.Output,
			"total_tokens":          u.Context() + u.Output,
			"prompt_tokens_details": object{"cached_tokens": u.CacheRead}},
	}
}

// exchange is one past answer of the model, with the texts that it answered.
type exchange struct {
	incoming []inputPart
	answer   content
}

// inputPart is one piece of the input that a model must answer.
type inputPart struct {
	text   string
	result string // id of the tool call whose result this is
	failed bool   // the result is an error
	system bool   // environment, hooks' context, messages folded into a running turn
}

// Texts that the CLI adds to a history that was cut off (observed with CLI 2.1.329).
const (
	noResponse  = "No response requested."       // for an answer that was lost: no step of the script gave it
	lostOutcome = "[Tool call interrupted:"      // for a result that was lost
	interrupted = "[Request interrupted by user" // after an answer or a call that was interrupted
)

// takeUpAgain matches the beginning of a supervisor's message which says that the last process ended, and
// that the model must continue the interrupted work.
var takeUpAgain = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^\s*⟦[^\n]*\bfrom:? supervisor\b[^\n]*\bretry\b`)
})

// readMessages splits the conversation into exchanges.
func (c *call) readMessages() {
	var pending []inputPart
	for _, m := range c.Messages {
		if c.cwd == "" && m.Role != "assistant" {
			c.findCwd(m.Content.text())
		}
		if m.Role == "assistant" {
			if answer := m.Content.without(func(text string) bool { return text == noResponse }); len(answer) > 0 {
				c.history = append(c.history, exchange{pending, answer})
				pending = nil
			}
			continue
		}
		parts := m.Content
		if m.Role == "user" && c.firstText == "" {
			c.firstText = parts.without(isReminder).text()
		}
		if m.Role == "user" && len(c.history) == 0 {
			parts = parts.without(isReminder)
		}
		for _, b := range parts {
			if t := (content{b}).text(); strings.TrimSpace(t) != "" {
				pending = append(pending, inputPart{t, b.ToolUseID, b.IsError, m.Role == "system"})
			}
		}
	}
	c.setPending(pending)
	for i := 0; i < len(c.history); {
		if c.cutOff(i) {
			c.withdraw(i)
			i = max(i-1, 0) // the supervisor's message may now follow the answer before
		} else {
			i++
		}
	}
	if c.cwd == "" {
		c.findCwd(c.System.text())
	}
}

func (c *call) setPending(pending []inputPart) { c.pending, c.incoming = pending, textOf(pending) }

// after returns the input that followed an answer.
func (c *call) after(i int) []inputPart {
	if i+1 < len(c.history) {
		return c.history[i+1].incoming
	}
	return c.pending
}

// withdraw removes an incomplete answer: its input must still be answered, together with everything that
// came since.
func (c *call) withdraw(i int) {
	words := slices.Concat(c.history[i].incoming, c.after(i))
	if i+1 < len(c.history) {
		c.history[i+1].incoming = words
	} else {
		c.setPending(words)
	}
	c.history = slices.Delete(c.history, i, i+1)
}

// cutOff reports whether an answer's process ended before the answer had its effect: the outcome of a call
// is unknown; or the supervisor asks the model to continue the turn, and in between there is only a call
// that failed, as calls of an ending process do, or nothing. A verdict may have been received although its
// result was not kept, so that the supervisor's message decides.
func (c *call) cutOff(i int) bool {
	calls, rules := map[string]bool{}, false
	for _, b := range c.history[i].answer {
		switch {
		case b.Type == "tool_use" && b.Name == structuredOutput:
			rules = true
		case b.Type == "tool_use":
			calls[b.ID] = true
		}
	}
	failed := false
	after := c.after(i)
	for _, w := range after {
		if calls[w.result] && strings.HasPrefix(w.text, lostOutcome) {
			return true
		}
		failed = failed || calls[w.result] && w.failed
	}
	return (rules || failed || len(calls) == 0) && resumed(after)
}

// resumed reports whether the first message of a sender is the supervisor's message that the process ended.
// Marks of an interrupt before it were caused by the end of the process.
func resumed(words []inputPart) bool {
	for _, w := range words {
		if w.isFromSender() && !w.mark() {
			return takeUpAgain().MatchString(w.text)
		}
	}
	return false
}

// isFromSender reports whether a word comes from a sender and not from the CLI.
func (w inputPart) isFromSender() bool {
	return w.result == "" && !w.system && !isReminder(w.text)
}

func (w inputPart) mark() bool { return w.isFromSender() && strings.HasPrefix(w.text, interrupted) }

// onPurpose reports whether an intended interrupt cut an answer of which only the beginning was kept: then
// the answer counts as given.
func onPurpose(after []inputPart) bool {
	i := slices.IndexFunc(after, inputPart.isFromSender)
	return i >= 0 && after[i].mark() && !resumed(after)
}

// spent finds the places where answers were cut on purpose before any part of them was kept.
func spent(words []inputPart) []int {
	var at []int
	first := true
	for i, w := range words {
		if w.mark() && !first && !resumed(words[i:]) {
			at = append(at, i)
		}
		first = first && !w.isFromSender()
	}
	return at
}

func textOf(words []inputPart) string {
	texts := make([]string, len(words))
	for i, w := range words {
		texts[i] = w.text
	}
	return strings.Join(texts, "\n")
}

// without removes the texts for which a condition holds.
func (c content) without(is func(text string) bool) content {
	return slices.DeleteFunc(slices.Clone(c), func(b transcript.Block) bool { return b.Type == "text" && is(b.Text) })
}

// isReminder reports whether a text is only a system reminder: a conversation begins with some, and they do not come
// from the sender.
func isReminder(text string) bool { return reminder().MatchString(text) }
