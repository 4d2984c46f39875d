package standin

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// Texts that a resume puts into a conversation that was cut off (CLI 2.1.329).
const (
	noResponse  = "No response requested."
	lostOutcome = "[Tool call interrupted: the session ended before its result was recorded, so its outcome is unknown.]"
)

// past is what a transcript tells a process that resumes it.
type past struct {
	entries    []entry
	seen       map[string]bool // uuids of messages that were answered, at least in part
	dangling   []string        // tool_use ids without a result
	open       bool            // the last message has no answer yet
	unanswered []string        // uuids of messages after the last answer
	leaf       string
	system     []json.RawMessage // system prompt of the first request, if recorded
	cost       float64
	spent      map[string]usage
	last       *usage
	base       int    // entries that a compaction left
	lines      []line // since then
}

// pastLine is what is read of a transcript line.
type pastLine struct {
	Type       string `json:"type"`
	APIError   bool   `json:"isApiErrorMessage"`
	Attachment struct {
		SourceUUID string `json:"source_uuid"`
	} `json:"attachment"`
	Merged     []string `json:"mergedSendUuids"`
	UUID       string   `json:"uuid"`
	Parent     *string  `json:"parentUuid"`
	Sidechain  bool     `json:"isSidechain"`
	Summary    bool     `json:"isCompactSummary"`
	Prompt     string   `json:"promptSource"`
	Compaction struct {
		Preserved struct {
			UUIDs []string `json:"uuids"`
		} `json:"preservedMessages"`
	} `json:"compactMetadata"`
	RenderedAs string `json:"renderedRole"`
	Rendered   []struct {
		Content string `json:"content"`
	} `json:"rendered"`
	Message *struct {
		ID      string          `json:"id"`
		Role    string          `json:"role"`
		Model   string          `json:"model"`
		Content json.RawMessage `json:"content"`
		Usage   *usage          `json:"usage"`
	} `json:"message"`
	Shape *struct {
		System []json.RawMessage `json:"system"`
	} `json:"shape"`
	TotalCost  float64 `json:"totalCostUSD"`
	ModelUsage map[string]struct {
		Input         int `json:"inputTokens"`
		Output        int `json:"outputTokens"`
		CacheRead     int `json:"cacheReadInputTokens"`
		CacheCreation int `json:"cacheCreationInputTokens"`
	} `json:"modelUsage"`
}

// findTranscript looks for a session in every project, so that a session can be
// resumed from another directory (2.1.300 and later).
func findTranscript(env environ, session string) (string, bool) {
	m, _ := filepath.Glob(filepath.Join(env.configDir(), "projects", "*", session+".jsonl"))
	if len(m) == 0 {
		return "", false
	}
	return m[0], true
}

var errNoConversation = errors.New("no conversation")

// readPast reads a transcript. Lines that are no JSON are skipped: a crash can
// leave a torn one behind.
func readPast(path string) (*past, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read transcript: %w", err)
	}
	defer f.Close()
	p := &past{seen: map[string]bool{}, spent: map[string]usage{}}
	byID := map[string]*pastLine{}
	var messages []string // user messages nobody has answered yet
	r := bufio.NewReader(f)
	for {
		raw, err := r.ReadBytes('\n')
		l := &pastLine{}
		if json.Unmarshal(raw, l) == nil {
			p.take(l, byID, &messages)
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("read transcript: %w", err)
		}
	}
	if p.leaf == "" { // nobody has said anything in it
		return nil, errNoConversation
	}
	p.unanswered = messages
	p.follow(byID)
	return p, nil
}

// take reads one line in file order.
func (p *past) take(l *pastLine, byID map[string]*pastLine, messages *[]string) {
	switch l.Type {
	case "cost-state":
		p.cost = l.TotalCost
		for m, u := range l.ModelUsage {
			p.spent[m] = usage{u.Input, u.CacheCreation, u.CacheRead, u.Output}
		}
	case "api-request-shape":
		if l.Shape != nil && p.system == nil {
			p.system = l.Shape.System
		}
	case "user", "assistant", "attachment", "system":
		if l.UUID == "" || l.Sidechain {
			return
		}
		byID[l.UUID], p.leaf = l, l.UUID
		switch l.Type {
		case "user":
			*messages = append(append(*messages, l.Merged...), l.UUID)
		case "attachment":
			if id := l.Attachment.SourceUUID; id != "" {
				*messages = append(*messages, id)
			}
		case "assistant":
			for _, id := range *messages {
				p.seen[id] = true
			}
			*messages = nil
		}
	}
}

// follow walks from the last written line to the root: the file can be a tree,
// and the last leaf is the branch that counts. A compaction starts a new root.
func (p *past) follow(byID map[string]*pastLine) {
	var chain []*pastLine
	for id := p.leaf; id != ""; {
		l, ok := byID[id]
		if !ok {
			break
		}
		delete(byID, id) // a loop in a damaged file ends here
		chain = append(chain, l)
		if l.Parent == nil {
			break
		}
		id = *l.Parent
	}
	var kept []string // by a compaction, after its summary
	uses := map[string]bool{}
	var order []string
	for i := len(chain) - 1; i >= 0; i-- {
		l := chain[i]
		e, ok := l.entry()
		p.lines = append(p.lines, l.describe())
		kept = append(kept, l.Compaction.Preserved.UUIDs...)
		if l.Type == "assistant" && l.APIError {
			p.open = false // an answer of sorts, which the model never sees
			continue
		}
		if !ok {
			continue
		}
		p.entries = append(p.entries, e)
		if l.Summary {
			p.preserve(kept, byID)
		}
		for _, b := range e.blocks {
			if id, result := toolIDs(b); id != "" && !result {
				uses[id] = true
				order = append(order, id)
			} else if result {
				delete(uses, id)
			}
		}
		if e.role != "system" {
			p.open = e.role == "user"
		}
		if l.Type == "assistant" && l.Message.Usage != nil && l.Message.Model != synthetic {
			p.last = l.Message.Usage
		}
	}
	for _, id := range order {
		if uses[id] {
			p.dangling = append(p.dangling, id)
		}
	}
}

// preserve takes over what a compaction kept after its summary.
func (p *past) preserve(uuids []string, byID map[string]*pastLine) {
	for _, id := range uuids {
		l := byID[id]
		if l == nil || l.APIError {
			continue
		}
		if e, ok := l.entry(); ok {
			p.entries = append(p.entries, e)
		}
	}
	p.base, p.lines = len(p.entries), nil
}

func (l *pastLine) describe() line {
	d := line{kind: l.Type, uuid: l.UUID, prompt: l.Prompt != ""}
	if l.Message != nil {
		d.message = l.Message.ID
	}
	return d
}

// entry is the line as a part of the conversation, if it is one.
func (l *pastLine) entry() (entry, bool) {
	switch {
	case l.Type == "attachment" && l.RenderedAs == "system":
		e := entry{role: "system"}
		for _, r := range l.Rendered {
			e.blocks = append(e.blocks, textBlock(r.Content))
		}
		return e, len(e.blocks) > 0
	case (l.Type == "user" || l.Type == "assistant") && l.Message != nil:
		blocks, err := contentBlocks(l.Message.Content)
		return entry{role: l.Type, id: l.Message.ID, blocks: blocks, prompt: l.Prompt != ""}, err == nil && len(blocks) > 0
	}
	return entry{}, false
}

// contentBlocks reads message content, which is a list of blocks or bare text.
func contentBlocks(raw json.RawMessage) ([]json.RawMessage, error) {
	if len(raw) == 0 || string(raw) == "null" {
		return nil, nil
	}
	if raw[0] == '"' {
		var s string
		if err := json.Unmarshal(raw, &s); err != nil {
			return nil, err
		}
		return []json.RawMessage{textBlock(s)}, nil
	}
	var blocks []json.RawMessage
	err := json.Unmarshal(raw, &blocks)
	return blocks, err
}

// toolIDs tells which tool call a block makes or answers.
func toolIDs(block json.RawMessage) (id string, result bool) {
	var b struct {
		Type  string `json:"type"`
		ID    string `json:"id"`
		UseID string `json:"tool_use_id"`
	}
	if json.Unmarshal(block, &b) != nil {
		return "", false
	}
	switch b.Type {
	case "tool_use":
		return b.ID, false
	case "tool_result":
		return b.UseID, true
	}
	return "", false
}
