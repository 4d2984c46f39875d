package rehearsal

import (
	"encoding/json"
	"strings"
)

// aside is a request outside a conversation's history. It is answered without a step, unless an actor
// matches role side.
type aside int

const (
	asideNone       aside = iota
	asideToolless         // requests that offer no tools: titles, summaries of tool use
	asideQuestion         // side_question of the control protocol: the whole history, all tools
	asideCompaction       // the request for a summary before a compaction: also the whole history, all tools
)

// readAside determines the kind of a request. A side question and a compaction offer the session's tools,
// to hit its prompt cache, and differ from a turn only in the last block. The openings were observed with
// CLI 2.1.329.
func (c *call) readAside() aside {
	// Texts of hooks may follow, as messages of role system.
	at := len(c.Messages) - 1
	for at > 0 && c.Messages[at].Role == "system" {
		at--
	}
	if last := c.Messages[at]; last.Role == "user" {
		for _, b := range last.Content {
			switch {
			case strings.HasPrefix(b.Text, "<system-reminder>This is a side question"):
				return asideQuestion
			case strings.HasPrefix(b.Text, "CRITICAL: Respond with TEXT ONLY. Do NOT call any tools."):
				return asideCompaction
			}
		}
	}
	if len(c.Tools) == 0 {
		return asideToolless
	}
	return asideNone
}

// asideAnswer returns a text that the client accepts.
func (c *call) asideAnswer() string {
	switch c.aside {
	case asideQuestion:
		return "The thread remembers; ask what it was told."
	case asideCompaction:
		return "<analysis>The rehearsal holds nothing that must be kept.</analysis>\n" +
			"<summary>The work goes on as scripted.</summary>"
	}
	if c.wantsTitle() {
		return `{"title":"Rehearsal"}`
	}
	return "A rehearsal."
}

// wantsTitle reports whether a request asks for a session title: it has an output schema of one field.
func (c *call) wantsTitle() bool {
	var o struct {
		Format struct {
			Schema struct {
				Properties map[string]json.RawMessage `json:"properties"`
			} `json:"schema"`
		} `json:"format"`
	}
	if json.Unmarshal(c.OutputConfig, &o) != nil {
		return false
	}
	_, ok := o.Format.Schema.Properties["title"]
	return ok
}
