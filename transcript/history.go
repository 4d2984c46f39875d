package transcript

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/arbiter-cli/arbiter/transcript/jsonl"
)

// kind says what a record means for the course of a turn.
type kind int

const (
	other     kind = iota // environment, reminders, local commands: no step of a turn
	prompt                // a message from outside, which starts a turn
	steer                 // a message that was folded into the running turn
	pushed                // the CLI made the model continue (a missing verdict, a hook)
	result                // of a tool
	answer                // of the model
	closing               // filler that the CLI writes when a resume finds a turn cut off
	failure               // a text by the CLI instead of an answer: the API failed
	interrupt             // an interrupt stopped the turn
)

// Texts that the CLI writes itself (observed with CLI 2.1.329).
const (
	synthetic   = "<synthetic>" // the model name of texts that no model wrote
	noResponse  = "No response requested."
	interrupted = "[Request interrupted by user" // ends with …], or … for tool use]
	verdictTool = "StructuredOutput"
)

// node is a record that is linked into the conversation, without its contents.
type node struct {
	order     int // position in the file
	kind      kind
	isMessage bool // by a user or an assistant; only such nodes can be a leaf
	uuid      string
	parent    string
	time      string
	messages  []string // ids of the messages from outside that it contains
	api       string   // id of the API message
	verdicts  []string // tool use ids of verdicts
	final     bool     // the model said that it was done

	// For branch.go: the last message at or before the node, whether another node continues it, whether
	// findSpeakers has visited it, and whether it is on the branch.
	speaker                *node
	children, walked, live bool
}

// history is the tree of a session's records.
type history struct {
	session string
	nodes   []*node
	byUUID  map[string]*node
	inputs  map[string]json.RawMessage // verdicts by tool use id
	results map[string]bool            // tool use id → success
	ruled   map[string]json.RawMessage // verdicts the CLI accepted, by tool use id
}

func newHistory(session string) *history {
	return &history{session: session, byUUID: map[string]*node{}, inputs: map[string]json.RawMessage{},
		results: map[string]bool{}, ruled: map[string]json.RawMessage{}}
}

// read adds all records of r.
func (h *history) read(ctx context.Context, r io.Reader) error {
	_, err := eachRecord(ctx, r, h.add)
	return err
}

// eachRecord calls yield with every record of r, in order, and counts the lines that were not exactly one
// object.
func eachRecord(ctx context.Context, r io.Reader, yield func(*Record)) (damaged int, err error) {
	lines := jsonl.NewLineReader(ctxReader{ctx, r}, 0)
	for {
		line, err := lines.NextOrLast()
		if err == io.EOF {
			return damaged, nil
		}
		if err != nil {
			return damaged, fmt.Errorf("read transcript: %w", err)
		}
		records, whole := Decode(line.Data)
		if line.Oversize || !whole {
			damaged++
		}
		for _, rec := range records {
			yield(rec)
		}
	}
}

// ctxReader fails when its context is cancelled: a file can be long, and a disk slow.
type ctxReader struct {
	ctx context.Context
	r   io.Reader
}

func (c ctxReader) Read(b []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.r.Read(b)
}

// add adds one record. Of two with the same uuid the first counts, as in the CLI. Of a record with a wrong
// field the other fields count.
func (h *history) add(r *Record) {
	if !r.of(h.session) || r.UUID == "" || r.Sidechain || h.byUUID[r.UUID] != nil {
		return
	}
	n := &node{order: len(h.nodes), uuid: r.UUID, parent: cmp.Or(r.Parent, r.Logical), time: r.Timestamp}
	switch r.Type {
	case user:
		n.isMessage = true
		h.user(n, r)
	case assistant:
		n.isMessage = true
		h.assistant(n, r)
	case attachment:
		h.attachment(n, r)
	case system:
	default:
		return
	}
	h.nodes = append(h.nodes, n)
	h.byUUID[n.uuid] = n
}

func (h *history) user(n *node, r *Record) {
	blocks := r.Message.Blocks()
	for _, b := range blocks {
		if b.Type == "tool_result" {
			n.kind = result
			h.results[b.ToolUseID] = !b.IsError
		}
	}
	if n.kind == result {
		return
	}
	text := ""
	if len(blocks) > 0 {
		text = blocks[0].Text
	}
	switch {
	case r.Meta:
		n.kind = pushed
	case r.CompactSummary:
	case r.PromptSource == "" && strings.HasPrefix(text, interrupted):
		n.kind = interrupt
	case r.PromptSource == "" &&
		(strings.HasPrefix(text, "<command-name>") || strings.HasPrefix(text, "<local-command-")):
	default:
		n.kind = prompt
		n.messages = append(slices.Clone(r.Merged), r.UUID)
	}
}

func (h *history) assistant(n *node, r *Record) {
	if r.Message.ID == "" && r.Message.Content == nil {
		return
	}
	blocks := r.Message.Blocks()
	n.kind, n.api = answer, r.Message.ID
	switch {
	case r.APIError:
		n.kind = failure
		return
	case r.Message.Model == synthetic && len(blocks) == 1 && blocks[0].Text == noResponse:
		n.kind = closing
		return
	case r.Message.Model == synthetic:
		n.kind = failure
		return
	}
	switch r.Message.StopReason {
	case "end_turn", "stop_sequence", "refusal":
		n.final = true
	}
	for _, b := range blocks {
		if b.Type != "tool_use" {
			continue
		}
		n.final = false
		if b.Name == verdictTool {
			n.verdicts = append(n.verdicts, b.ID)
			h.inputs[b.ID] = b.Input
		}
	}
}

func (h *history) attachment(n *node, r *Record) {
	switch a := r.Attachment; {
	case a.Kind == "structured_output" && a.ToolUseID != "":
		if len(a.Data) > 0 {
			h.ruled[a.ToolUseID] = a.Data
		}
	case a.SourceUUID != "":
		n.kind, n.messages = steer, []string{a.SourceUUID}
	}
}
