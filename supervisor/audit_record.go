package supervisor

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/arbiter-cli/arbiter/supervisor/effect"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
	"github.com/arbiter-cli/arbiter/transcript/jsonl"
)

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

	What   string         `json:"what,omitempty"`
	About  string         `json:"about,omitempty"`
	Detail map[string]any `json:"detail,omitempty"`

	Decided *input.Decided `json:"decided,omitempty"`
	Unused  bool           `json:"unused,omitempty"`

	MessageIDs []string `json:"message_ids,omitempty"`
}

func (r AuditRecord) encode() json.RawMessage { return encode(r) }

// originRecord has the members of a Record of [KindOrigin]. Each input has one, and few members are encoded faster.
type originRecord struct {
	Kind       string `json:"kind"`
	By         string `json:"by,omitempty"`
	Session    string `json:"session,omitempty"`
	Generation int    `json:"generation,omitempty"`
	Channel    string `json:"channel,omitempty"`
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

// written is the form in a record of a text that somebody wrote.
type written struct {
	Text string `json:"text"`
}

// recordOf is an entry as a record. It changes the entry's detail.
func recordOf(d AuditEntry) json.RawMessage {
	for name, value := range d.Detail {
		if text, ok := value.(AuditText); ok {
			d.Detail[name] = written{string(text)}
		}
	}
	return AuditRecord{Kind: KindAudit, What: d.What, About: d.About, Detail: d.Detail}.encode()
}

// Entry is the content of a record of [KindAudit].
func (r AuditRecord) Entry() AuditEntry {
	d := AuditEntry{What: r.What, About: r.About, Detail: make(map[string]any, len(r.Detail))}
	for name, value := range r.Detail {
		switch v := value.(type) {
		case map[string]any:
			text, _ := v["text"].(string)
			value = AuditText(text)
		case []any:
			list := make([]string, len(v))
			for i := range v {
				list[i] = fmt.Sprint(v[i])
			}
			value = list
		}
		d.Detail[name] = value
	}
	return d
}

// LogItems is a [EventRecorder]: the events of a step unchanged, and between them the records that an
// audit, an explanation of decisions and a ledger of messages need.
func LogItems(before *State, step Replayed, after *State) []LogItem {
	items := make([]LogItem, 1, len(step.Effects)+4) // the first one is the origin
	isAudited := false
	add := func(r json.RawMessage) { items = append(items, LogItem{Record: r}) }
	take := func(list entries) {
		for _, d := range list {
			add(recordOf(d))
			isAudited = true
		}
	}
	take(entriesOfInput(step.Input.Body))
	if f, ok := step.Input.Body.(input.Decided); ok {
		unused := f.Serial != 0 && (before.Rulings.DeciderRequest == nil || before.Rulings.DeciderRequest.Serial != f.Serial)
		add(AuditRecord{Kind: KindDecision, Decided: &f, Unused: unused}.encode())
	}
	if ids := demoted(before, after); len(ids) > 0 {
		add(AuditRecord{Kind: KindDemoted, MessageIDs: ids}.encode())
	}
	for _, e := range step.Effects {
		if emit, ok := e.(effect.Emit); ok {
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
		from = before.Senders().Origin(step.Input.Body)
	}
	items[0].Record = encode(originRecord{KindOrigin, from.By, from.Session, from.Gen, from.Channel})
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
