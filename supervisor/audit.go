package supervisor

// This part of the package selects the parts of a run's history that an audit needs (who did what), writes
// them as records of the event log, and reads them back. It has no effect on the run.

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
	"github.com/arbiter-cli/arbiter/transcript/jsonl"
)

// The audit of a run is a list of JSON objects, one per line, each with its keys sorted and without spaces:
// `hash` is the SHA-256 of the object without it, `prev` the hash of the line before, or for the first line the
// SHA-256 of the run's id. The first line, `audit`, says what run it is about; the last, `end`, how much it
// contains and what of the event log is damaged. An export that is kept elsewhere shows later whether the run's
// own files were changed since.
const version = 1

// auditor builds the lines of an audit.
type auditor struct {
	text bool // texts are included
	prev string
	n    int
	emit func(AuditLine) error

	last   uint64 // the youngest input
	input  uint64 // that origin belongs to
	origin input.Origin
}

// AuditLine is a line, in parts and as it is hashed.
type AuditLine struct {
	Seq    uint64 // of the journal's input
	At     time.Time
	Origin input.Origin
	Entry  AuditEntry
	Hash   string
	Raw    []byte // without the line's end

	detail map[string]any // of Entry, as the line has it
}

// take writes the lines of one entry of the log. What the loop reported without an input belongs to no input,
// and is left out.
func (a *auditor) take(e journal.LogEntry) error {
	if e.Input == 0 {
		return nil
	}
	a.last = max(a.last, e.Input)
	line := AuditLine{Seq: e.Input, At: e.At}
	if e.Input == a.input {
		line.Origin = a.origin
	}
	if e.Line != nil {
		if !audited()[contract.EventNameOf(e.Line)] {
			return nil
		}
		event, err := eventOf(e)
		if err != nil {
			return err
		}
		for _, line.Entry = range entriesOfEvent(event) {
			if err := a.add(line); err != nil {
				return err
			}
		}
		return nil
	}
	r, err := DecodeRecord(e)
	if err != nil {
		return err
	}
	switch r.Kind {
	case KindOrigin:
		a.input, a.origin = e.Input, input.Origin{By: r.By, Session: r.Session, Gen: r.Generation, Channel: r.Channel}
	case KindAudit:
		line.Entry = r.AuditEntry
		return a.add(line)
	}
	return nil
}

// add completes a line and passes it on.
func (a *auditor) add(l AuditLine) error {
	l.detail = a.detail(l.Entry.Detail)
	fields := map[string]any{"seq": l.Seq, "what": l.Entry.What, "prev": a.prev, "detail": l.detail}
	for name, value := range map[string]string{
		"about": l.Entry.About, "by": l.Origin.By, "session": l.Origin.Session, "channel": l.Origin.Channel,
	} {
		if value != "" {
			fields[name] = printable(value)
		}
	}
	if l.Origin.Gen != 0 {
		fields["generation"] = l.Origin.Gen
	}
	if !l.At.IsZero() {
		fields["time"] = l.At.UTC().Format(time.RFC3339Nano)
	}
	sum, err := lineHash(fields)
	if err != nil {
		return err
	}
	fields["hash"] = sum
	if l.Raw, err = jsonl.Marshal(fields); err != nil {
		return err
	}
	l.Hash, a.prev = sum, sum
	a.n++
	return a.emit(l)
}

// detail is the content of an entry, without secrets, and without texts unless they are requested.
func (a *auditor) detail(from map[string]any) map[string]any {
	to := map[string]any{}
	for name, value := range from {
		if v, ok := value.(map[string]any); ok { // a text of a record
			text, _ := v["text"].(string)
			value = AuditText(text)
		}
		switch v := value.(type) {
		case AuditText:
			to[name+"_bytes"], to[name+"_sha256"] = len(v), v.Sum()
			if a.text {
				to[name] = printable(string(v))
			}
		case string:
			to[name] = printable(v)
		case []string:
			to[name] = printables(v)
		case []any: // a list of a record
			to[name] = printables(v)
		default:
			to[name] = v
		}
	}
	return to
}

// printable returns the text without secrets, in valid UTF-8, so that it has one form in JSON.
func printable(s string) string { return strings.ToValidUTF8(sanitize.Redact(s), "\ufffd") }

func printables[T any](list []T) []string {
	texts := make([]string, len(list))
	for i, x := range list {
		texts[i] = printable(fmt.Sprint(x))
	}
	return texts
}

// lineHash is the hash of a line without its hash.
func lineHash(fields map[string]any) (string, error) {
	b, err := jsonl.Marshal(fields)
	if err != nil {
		return "", err
	}
	return AuditText(b).Sum(), nil
}

// AuditOf builds the whole audit of a run from its event log, line by line; with text, texts are included.
func AuditOf(ctx context.Context, log *journal.EventLog, run string, text bool, emit func(AuditLine) error) error {
	a := &auditor{text: text, prev: AuditText(run).Sum(), emit: emit}
	err := a.add(AuditLine{Entry: AuditEntry{What: "audit",
		Detail: map[string]any{"run": run, "v": version, "with_text": a.text}}})
	if err != nil {
		return err
	}
	health, err := log.Each(ctx, journal.LogPosition{}, a.take)
	if err != nil {
		return err
	}
	detail := map[string]any{"lines": a.n, "records": a.last, "head": a.prev}
	if list := AuditDamage(health); len(list) > 0 {
		detail["damage"] = list
	}
	return a.add(AuditLine{Entry: AuditEntry{What: "end", Detail: detail}})
}

// PrintAudit writes a line for people.
func PrintAudit(w io.Writer, l AuditLine) error {
	at := ""
	if !l.At.IsZero() {
		at = l.At.Local().Format("2006-01-02 15:04:05.000")
	}
	who := l.Origin.By
	if l.Origin.Gen != 0 {
		who = fmt.Sprintf("%s.%d", who, l.Origin.Gen)
	}
	if l.Origin.Channel != "" {
		who += "@" + l.Origin.Channel
	}
	if l.Origin.Session != "" {
		l.detail["by_session"] = printable(l.Origin.Session)
	}
	_, err := fmt.Fprintf(w, "%6d  %-23s  %-16s  %-20s  %-9s %s  %s\n", l.Seq, at, sanitize.Line(who, 40), l.Entry.What,
		sanitize.Line(l.Entry.About, 20), l.Hash[:12], sanitize.Line(pairs(l.detail), 1000))
	return err
}

// pairs shows a detail as `name=value`, sorted by name.
func pairs(detail map[string]any) string {
	var list []string
	for _, name := range slices.Sorted(maps.Keys(detail)) {
		list = append(list, fmt.Sprintf("%s=%v", name, detail[name]))
	}
	return strings.Join(list, " ")
}

// AuditDamage describes the damage of an event log that a crash does not explain.
func AuditDamage(h journal.LogHealth) []string {
	list := []string{}
	for _, d := range h.Damage {
		list = append(list, sanitize.Line(d.String(), 300))
	}
	return list
}

// JournalDamage describes the damage of a journal that a crash does not explain.
func JournalDamage(r journal.Recovery) []string {
	list := []string{}
	for _, d := range r.Damage {
		if d.Torn || d.Mended {
			continue
		}
		list = append(list, sanitize.Line(fmt.Sprintf("%s at %d: %s", d.Segment, d.Offset, d.Reason), 300))
	}
	return list
}

// AuditEntry is something that an audit is about: who was started and how it ended, what was permitted, said,
// commanded and stopped. About is the agent that did it or that it was done to, if any.
type AuditEntry struct {
	What   string         `json:"what,omitempty"`
	About  string         `json:"about,omitempty"`
	Detail map[string]any `json:"detail,omitempty"` // strings, whole numbers, truth values, AuditText and lists of strings
}

// AuditText is what somebody wrote. An audit shows its size and hash, unless the text is requested.
type AuditText string

// MarshalJSON encodes a text for a record, so that a reader can distinguish it from other strings.
func (t AuditText) MarshalJSON() ([]byte, error) {
	return jsonl.Marshal(map[string]string{"text": string(t)})
}

// Sum is the SHA-256 of a text, in hexadecimal.
func (t AuditText) Sum() string { return fmt.Sprintf("%x", sha256.Sum256([]byte(t))) }

type entries []AuditEntry

// add adds an entry. detail contains names and values in turn; empty values are left out.
func (d *entries) add(what, about string, detail ...any) {
	entry := AuditEntry{What: what, About: about, Detail: map[string]any{}}
	for i := 0; i+1 < len(detail); i += 2 {
		switch v := detail[i+1].(type) {
		case string:
			if v == "" {
				continue
			}
		case AuditText:
			if v == "" {
				continue
			}
		case []string:
			if len(v) == 0 {
				continue
			}
		}
		entry.Detail[detail[i].(string)] = detail[i+1]
	}
	*d = append(*d, entry)
}

// entriesOfInput are the entries of an input itself, without its events.
func entriesOfInput(f input.Body) (d entries) {
	switch f := f.(type) {
	case input.Began:
		d.processRun("begun", f.Options, f.Claude)
	case input.Resumed:
		d.processRun("resumed", f.Options, f.Claude)
	case input.BridgeBack:
		d.add("bridge_back", "", "claude", f.Claude.Path, "claude_version", f.Claude.Version, "claude_sha256",
			f.Claude.SHA256, "swept", f.Swept)
	case input.BridgeLost:
		halted := "" // and so left out
		if f.Halted {
			halted = "yes"
		}
		d.add("bridge_lost", "", "reason", f.Message, "halted", halted)
	case input.NoBridge:
		d.add("not_begun", "", "category", string(f.Category), "reason", f.Message)
	case input.Command:
		d.command(f.Command)
	case input.Signal:
		d.add("signal", "", "signal", f.Signal, "fast", f.Fast)
	case input.Spawned:
		x := f.Result
		d.add("spawned", f.Agent.ID, "session_id", x.SessionID, "generation", f.Agent.Generation, "pid", x.PID, "argv",
			x.Argv, "cwd", x.CWD, "permission_mode", x.PermissionMode, "sandbox", x.Sandbox, "env", x.Env,
			"claude_version", x.ClaudeVersion, "claude_sha256", x.ClaudeSHA256, "resumed", x.Resumed)
	case input.NotSpawned:
		d.add("not_spawned", f.Agent.ID, "generation", f.Agent.Generation, "category", string(f.Category), "reason",
			f.Message)
	case input.PTYOpened:
		x := f.Result
		d.add("terminal_opened", f.Agent.ID, "generation", f.Agent.Generation, "failed", f.Failed, "pid", x.PID, "argv",
			x.Argv, "cwd", x.CWD, "sandbox", x.Sandbox)
	case input.NotSent:
		d.add("not_sent", f.Agent.ID, "wire_id", f.MessageID, "reason", f.Message)
	case input.ToolCalled:
		d.add("tool_called", f.Params.ID, "tool", f.Params.Tool, "call", f.Params.Call, "input", AuditText(f.Params.Input),
			"subagent", f.Params.Subagent)
	case input.PermissionAsked:
		d.add("permission_asked", f.Params.ID, "request", f.Params.Request, "tool", f.Params.Tool, "action", f.Action,
			"subagent", f.Params.Subagent, "rules_say", f.Behavior, "decided_by", f.By, "rule", f.Rule, "reason",
			f.Reason)
	case input.PermissionWithdrawn:
		d.add("permission_withdrawn", "", "request", f.Request)
	case input.CallDecided:
		d.add("judged", f.Params.ID, "tool", f.Params.Tool, "action", f.Action, "subagent", f.Params.Subagent,
			"behavior", f.Behavior, "decided_by", f.By, "rule", f.Rule, "reason", f.Reason)
	case input.Remembered:
		d.add("granted", "", "tool", f.Grant.Tool, "rule", f.Grant.Rule, "action", f.Grant.Action, "failed", f.Failed)
	case input.TrustRecorded:
		d.add("trusted", "", "hash", f.Hash, "failed", f.Failed)
	case input.Configured:
		d.add("model", f.Agent.ID, "model", f.Model, "failed", f.Failed)
	case input.Stopped:
		d.add("stopped", "", "unstopped", f.Unstopped)
	case input.AgentEvent:
		switch x := f.Event.Body.(type) {
		case bridge.ToolRan:
			d.add("tool_ran", f.Event.ID, "tool", x.Tool, "tool_use", x.ToolUse, "input", AuditText(x.Input), "subagent",
				x.Subagent)
		case bridge.Done:
			d.add("ended", f.Event.ID, "session_id", x.SessionID, "generation", f.Event.Generation, "exit_code",
				x.Exit.Code, "signal", x.Exit.Signal, "expected", x.Exit.Expected, "swept", x.Exit.Swept)
		}
	}
	return d
}

// processRun adds the settings that a process of the run works under.
func (d *entries) processRun(what string, o runconfig.Options, c bridge.ClaudeInfo) {
	sandbox := "unsandboxed"
	if o.Sandbox != nil {
		sandbox = "bubblewrap"
	}
	d.add(what, "",
		"cwd", o.CWD, "arbiter_version", o.Version, "claude", c.Path, "claude_version", c.Version, "claude_sha256",
		c.SHA256, "claude_identity", c.Identity, "permissions", o.Permissions, "allow", o.Allow, "deny", o.Deny, "ask",
		o.Ask, "sandbox", sandbox, "sandbox_reason", o.SandboxReason, "trusted", o.Trusted, "trust_hash", o.TrustHash,
		"task", AuditText(o.Task), "rehearsal", o.Rehearsal, "stand_in", c.StandIn, "human_present", o.HumanPresent,
		"max_orchestrators", o.MaxOrchestrators, "max_iterations", o.MaxIterations, "max_subagents",
		o.MaxSubagents, "max_subagents_total", o.MaxSubagentsTotal, "max_subagents_per_hour", o.MaxSubagentsPerHour,
		"max_failures", o.MaxFailures,
		"max_cost_usd", fmt.Sprint(o.MaxCostUSD), "fuse_usd", fmt.Sprint(o.FuseUSD), "timeout", duration(o.Timeout),
		"permission_wait",
		duration(o.PermissionWait))
}

func duration(t time.Duration) string {
	if t <= 0 {
		return ""
	}
	return t.String()
}

// command adds a human's command. What the human wrote is text; everything else is included as it is.
func (d *entries) command(c contract.Command) {
	if bad, ok := c.Body.(contract.Malformed); ok {
		d.add("command", "", "command", "malformed", "reason", bad.Problem)
		return
	}
	detail := []any{"command", c.Body.CommandType(), "ref", c.Ref}
	raw, err := json.Marshal(c.Body)
	var fields map[string]any
	if err == nil && json.Unmarshal(raw, &fields) == nil {
		for name, value := range fields {
			switch v := value.(type) {
			case string:
				if name == "text" || name == "message" {
					detail = append(detail, name, AuditText(v))
				} else {
					detail = append(detail, name, v)
				}
			case nil:
			default:
				again, _ := json.Marshal(v)
				detail = append(detail, name, AuditText(again))
			}
		}
	}
	d.add("command", "", detail...)
}

// entriesOfEffect are the entries of an effect; after is the state after its input.
func entriesOfEffect(e input.Effect, after *State) (d entries) {
	switch e := e.(type) {
	case input.Spawn:
		d.add("spawn", e.Params.ID, "generation", e.Params.Generation, "session_id", e.Params.Config.SessionID,
			"resume", e.Params.Config.Resume)
	case input.Send:
		m, _ := after.Conversation.SentAs(e.Params.MessageID)
		d.add("sent", e.Params.ID, "message_id", m.ID, "wire_id", e.Params.MessageID, "generation", e.Params.Generation,
			"content", AuditText(e.Params.Content), "steer", e.Params.Steer)
	case input.Interrupt:
		d.add("interrupt", e.Agent.ID, "generation", e.Agent.Generation)
	case input.Kill:
		d.add("kill", e.Agent.ID, "generation", e.Agent.Generation, "now", e.Now)
	case input.Shutdown:
		d.add("shutdown", "", "fast", e.Fast)
	case input.OpenPTY:
		d.add("terminal", e.Params.ID, "generation", e.Params.Generation, "session_id", e.Params.Config.SessionID)
	case input.ClosePTY:
		d.add("terminal_close", e.Agent.ID, "generation", e.Agent.Generation)
	case input.RunCheck:
		d.add("check", e.Agent.ID, "request", e.Request, "number", e.Number, "command", AuditText(e.Params.Command))
	case input.PinTrust:
		d.add("trust", "", "host", e.Host, "hash", e.Hash)
	case input.DropBridge:
		d.add("bridge_dropped", "")
	case input.Finish:
		d.add("finished", "", "exit", int(e.Exit))
	}
	return d
}

// entriesOfEvent are the entries of events that frontends receive, where no other entry contains them.
func entriesOfEvent(e contract.Event) (d entries) {
	switch b := e.Body.(type) {
	case contract.Message:
		d.add("message", "", "message_id", b.MessageID, "from", b.From, "to", b.To, "kind", b.Kind, "text",
			AuditText(b.Text), "edited", b.Edited)
	case contract.Delivered:
		d.add("delivered", e.ID, "message_id", b.MessageID, "from", b.From, "session_id", b.SessionID, "generation",
			b.Generation, "sequence", b.Sequence)
	case contract.Withdrawn:
		d.add("withdrawn", "", "message_id", b.MessageID)
	case contract.Permission:
		d.add("permission", e.ID, "request", b.Request, "behavior", b.Behavior, "decided_by", b.By, "tool", b.Tool,
			"rule", b.Rule, "action", b.Action, "scope", b.Scope, "reason", b.Reason, "subagent", b.Subagent)
	case contract.Halted:
		d.add("halt", "", "channel", b.By)
	case contract.Takeover:
		d.add("takeover", e.ID, "state", b.State, "reason", b.Reason, "words", b.Words, "files", b.Files, "digest",
			AuditText(b.Digest))
	case contract.Error:
		d.add("error", e.ID, "category", string(b.Category), "reason", b.Message)
	case contract.Rejected:
		d.add("rejected", "", "ref", b.Ref, "reason", b.Message)
	case contract.Result:
		d.add("result", "", "status", b.Status, "summary", AuditText(b.Summary), "iterations", b.Iterations, "crashes",
			b.Crashes)
	}
	return d
}

// audited are the names of the events that entriesOfEvent covers.
var audited = sync.OnceValue(func() map[string]bool {
	names := map[string]bool{}
	for _, body := range contract.Events() {
		if len(entriesOfEvent(contract.Event{Body: body})) > 0 {
			names[body.EventName()] = true
		}
	}
	return names
})

// eventOf reads the event of a line.
func eventOf(e journal.LogEntry) (contract.Event, error) {
	event, err := contract.DecodeWritten(e.Line)
	if err != nil {
		return event, fmt.Errorf("read line %d of the event log: %w", e.N, err)
	}
	return event, nil
}

// AuditLedger lists the messages of a run from a position of its event log on, and what happened to them according to
// it; [Messages.Close] adds what the last state knows.
func AuditLedger(ctx context.Context, log *journal.EventLog, from journal.LogPosition) (
	ledger Messages, h journal.LogHealth, err error,
) {
	h, err = log.Each(ctx, from, func(e journal.LogEntry) error {
		if e.Record != nil {
			return ledgerRecord(&ledger, e)
		}
		switch contract.EventNameOf(e.Line) {
		case contract.Message{}.EventName(), contract.Delivered{}.EventName():
		default:
			return nil
		}
		event, err := eventOf(e)
		if err != nil {
			return err
		}
		switch b := event.Body.(type) {
		case contract.Message:
			ledger.AddMessage(e.At, b)
		case contract.Delivered:
			ledger.Delivered(b.MessageID, b.Proof)
		}
		return nil
	})
	return ledger, h, err
}

// ledgerRecord applies a record about messages.
func ledgerRecord(ledger *Messages, e journal.LogEntry) error {
	r, err := DecodeRecord(e)
	if err != nil {
		return err
	}
	switch r.Kind {
	case KindDemoted:
		for _, id := range r.MessageIDs {
			ledger.Demoted(id)
		}
	case KindAudit:
		if id, _ := r.Detail["message_id"].(string); r.What == "sent" {
			ledger.Sent(id)
		}
	}
	return nil
}

// The kinds of records; package eventlog describes their contents.
const (
	KindOrigin   = "origin"
	KindAudit    = "audit"
	KindDecision = "decision"
	KindDemoted  = "shelved"
)

// AuditRecord is a record of the event log; its kind determines which members it has.
type AuditRecord struct {
	Kind string `json:"kind"`

	By         string `json:"by,omitempty"`
	Session    string `json:"session,omitempty"`
	Generation int    `json:"generation,omitempty"`
	Channel    string `json:"channel,omitempty"`

	AuditEntry

	Decided *input.Decided `json:"decided,omitempty"`
	Unused  bool           `json:"unused,omitempty"`

	MessageIDs []string `json:"message_ids,omitempty"`
}

func encode(record any) json.RawMessage {
	raw, err := jsonl.Marshal(record)
	if err != nil {
		panic(err) // our own types
	}
	return raw
}

// DecodeRecord reads a record. Numbers in its detail are json.Number.
func DecodeRecord(e journal.LogEntry) (r AuditRecord, err error) {
	d := json.NewDecoder(bytes.NewReader(e.Record))
	d.UseNumber()
	if err := d.Decode(&r); err != nil {
		return AuditRecord{}, fmt.Errorf("read line %d of the event log: %w", e.N, err)
	}
	return r, nil
}

// LogItems is a [EventRecorder]: the events of a step unchanged, and between them the records that an
// audit, an explanation of decisions and a ledger of messages need.
func LogItems(before *State, step Replayed, after *State) []LogItem {
	items := make([]LogItem, 1, len(step.Effects)+4) // the first one is the origin
	isAudited := false
	add := func(r json.RawMessage) { items = append(items, LogItem{Record: r}) }
	take := func(list entries) {
		for _, d := range list {
			add(encode(AuditRecord{Kind: KindAudit, AuditEntry: d}))
			isAudited = true
		}
	}
	take(entriesOfInput(step.Input.Body))
	if f, ok := step.Input.Body.(input.Decided); ok {
		unused := f.Serial != 0 && (before.Rulings.DeciderRequest == nil || before.Rulings.DeciderRequest.Serial != f.Serial)
		add(encode(AuditRecord{Kind: KindDecision, Decided: &f, Unused: unused}))
	}
	if ids := demoted(before, after); len(ids) > 0 {
		add(encode(AuditRecord{Kind: KindDemoted, MessageIDs: ids}))
	}
	for _, e := range step.Effects {
		if emit, ok := e.(input.Emit); ok {
			items = append(items, LogItem{Event: emit.Event})
			isAudited = isAudited || audited()[emit.Event.Body.EventName()]
			continue
		}
		take(entriesOfEffect(e, after))
	}
	if !isAudited {
		return items[1:]
	}
	from := step.Input.From
	if from.By == "" {
		from = before.Origin(step.Input.Body)
	}
	items[0].Record = encode(AuditRecord{
		Kind: KindOrigin, By: from.By, Session: from.Session, Generation: from.Gen, Channel: from.Channel})
	return items
}

// demoted are the messages that a step has ruled on without their reader.
func demoted(before, after *State) (ids []string) {
	if before.Conversation.Ledger.Demoted == after.Conversation.Ledger.Demoted {
		return nil
	}
	was := map[string]bool{}
	for _, e := range before.Conversation.WorkLog {
		was[e.ID] = e.Demoted
	}
	for _, e := range after.Conversation.WorkLog {
		if e.Demoted && !was[e.ID] {
			ids = append(ids, e.ID)
		}
	}
	return ids
}

// Broken says which line of an audit is wrong.
type Broken struct {
	Line   int
	Reason string
}

func (b *Broken) Error() string { return fmt.Sprintf("line %d: %s", b.Line, b.Reason) }

// AuditChain is an exported audit whose chain is correct.
type AuditChain struct {
	Run   string
	text  bool
	lines [][]byte // without the last one
	last  map[string]any
}

// Len is how many lines it has.
func (a AuditChain) Len() int { return len(a.lines) + 1 }

// maxLine bounds a line of an audit, in bytes: twice the maximal line of the event log.
const maxLine = 2 * journal.MaxLine

// ReadAudit reads an exported audit and checks each line against the one before.
func ReadAudit(r io.Reader) (a AuditChain, err error) {
	in := bufio.NewScanner(r)
	in.Buffer(nil, maxLine)
	prev := ""
	for n := 1; in.Scan(); n++ {
		fields, err := fieldsOf(in.Bytes())
		if err != nil {
			return a, &Broken{n, err.Error()}
		}
		what, _ := fields["what"].(string)
		if a.last != nil {
			return a, &Broken{n, "it is after the end"}
		}
		if n == 1 {
			if err := a.head(what, fields); err != nil {
				return a, &Broken{n, err.Error()}
			}
			prev = AuditText(a.Run).Sum()
		}
		if fields["prev"] != prev {
			return a, &Broken{n, "it does not continue the line before it"}
		}
		hash := fields["hash"]
		delete(fields, "hash")
		if sum, err := lineHash(fields); err != nil || sum != hash {
			return a, &Broken{n, "its hash is of another line"}
		}
		if what == "end" {
			detail, _ := fields["detail"].(map[string]any)
			if detail["head"] != prev || fmt.Sprint(detail["lines"]) != fmt.Sprint(n-1) {
				return a, &Broken{n, "its totals are of another audit"}
			}
			a.last = detail
		} else {
			a.lines = append(a.lines, bytes.Clone(in.Bytes()))
		}
		prev = fmt.Sprint(hash)
	}
	if err := in.Err(); err != nil {
		return a, fmt.Errorf("read: %w", err)
	}
	if a.last == nil {
		return a, &Broken{len(a.lines) + 1, "the end is missing"}
	}
	return a, nil
}

// fieldsOf reads a line, which must have the one form that is hashed.
func fieldsOf(line []byte) (map[string]any, error) {
	dec := json.NewDecoder(bytes.NewReader(line))
	dec.UseNumber()
	var fields map[string]any
	if err := dec.Decode(&fields); err != nil || fields == nil {
		return nil, errors.New("it is not a JSON object")
	}
	if again, err := jsonl.Marshal(fields); err != nil || !bytes.Equal(again, line) {
		return nil, errors.New("it is not as it was printed")
	}
	return fields, nil
}

func (a *AuditChain) head(what string, fields map[string]any) error {
	detail, _ := fields["detail"].(map[string]any)
	a.Run, _ = detail["run"].(string)
	a.text, _ = detail["with_text"].(bool)
	switch {
	case what != "audit" || a.Run == "":
		return errors.New("it is not the beginning of an audit")
	case fmt.Sprint(detail["v"]) != fmt.Sprint(version):
		return fmt.Errorf("the audit has format %v; this arbiter reads format %d", detail["v"], version)
	}
	return nil
}

// Against compares an audit with the event log of its run, as far as the audit goes: the run may have continued
// since.
func (a AuditChain) Against(ctx context.Context, log *journal.EventLog) error {
	i := 0
	err := AuditOf(ctx, log, a.Run, a.text, func(l AuditLine) error {
		if i < len(a.lines) && !bytes.Equal(l.Raw, a.lines[i]) {
			return &Broken{i + 1, fmt.Sprintf("the journal says otherwise (record %d, %s)", l.Seq, l.Entry.What)}
		}
		i++
		return nil
	})
	if err == nil && i-1 < len(a.lines) { // the end line does not count
		err = &Broken{i, "the journal does not have it"}
	}
	return err
}
