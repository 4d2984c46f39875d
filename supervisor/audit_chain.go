package supervisor

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
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
	run  string
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
}

// firstLink is the previous hash of the first line of a run's audit.
func firstLink(run string) string {
	sum := sha256.Sum256([]byte(run))
	return hex.EncodeToString(sum[:])
}

// begin writes the first line.
func (a *auditor) begin() error {
	return a.add(AuditLine{Entry: AuditEntry{What: "audit",
		Detail: map[string]any{"run": a.run, "v": version, "with_text": a.text}}})
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
		event, err := contract.DecodeWritten(e.Line)
		if err != nil {
			return fmt.Errorf("read line %d of the event log: %w", e.N, err)
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
		line.Entry = r.Entry()
		return a.add(line)
	}
	return nil
}

// finish writes the last line.
func (a *auditor) finish(h journal.LogHealth) error {
	detail := map[string]any{"lines": a.n, "records": a.last, "head": a.prev}
	if list := AuditDamage(h); len(list) > 0 {
		detail["damage"] = list
	}
	return a.add(AuditLine{Entry: AuditEntry{What: "end", Detail: detail}})
}

// add completes a line and passes it on.
func (a *auditor) add(l AuditLine) error {
	fields := map[string]any{"seq": l.Seq, "what": l.Entry.What, "prev": a.prev, "detail": a.detail(l.Entry.Detail)}
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
		switch v := value.(type) {
		case AuditText:
			to[name+"_bytes"], to[name+"_sha256"] = len(v), v.Sum()
			if a.text {
				to[name] = printable(string(v))
			}
		case string:
			to[name] = printable(v)
		case []string:
			list := make([]string, len(v))
			for i := range v {
				list[i] = printable(v[i])
			}
			to[name] = list
		default:
			to[name] = v
		}
	}
	return to
}

// printable returns the text without secrets, in valid UTF-8, so that it has one form in JSON.
func printable(s string) string { return strings.ToValidUTF8(sanitize.Redact(s), "\ufffd") }

// lineHash is the hash of a line without its hash.
func lineHash(fields map[string]any) (string, error) {
	b, err := jsonl.Marshal(fields)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:]), nil
}

// AuditOf builds the whole audit of a run from its event log, line by line; with text, texts are included.
func AuditOf(ctx context.Context, log *journal.EventLog, run string, text bool, emit func(AuditLine) error) error {
	a := &auditor{run: run, text: text, prev: firstLink(run), emit: emit}
	if err := a.begin(); err != nil {
		return err
	}
	health, err := log.Each(ctx, journal.LogPosition{}, a.take)
	if err != nil {
		return err
	}
	return a.finish(health)
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
	detail, err := detailText(l.Raw)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "%6d  %-23s  %-16s  %-20s  %-9s %s  %s\n", l.Seq, at, sanitize.Line(who, 40), l.Entry.What,
		sanitize.Line(l.Entry.About, 20), l.Hash[:12], sanitize.Line(detail, 1000))
	return err
}

// detailText is the detail of a line as `name=value` pairs, sorted.
func detailText(raw []byte) (string, error) {
	var line struct {
		Session string         `json:"session"`
		Detail  map[string]any `json:"detail"`
	}
	if err := json.Unmarshal(raw, &line); err != nil {
		return "", err
	}
	if line.Session != "" {
		line.Detail["by_session"] = line.Session
	}
	return pairs(line.Detail), nil
}

// pairs shows a detail as `name=value`, sorted by name.
func pairs(detail map[string]any) string {
	var list []string
	for _, name := range slices.Sorted(maps.Keys(detail)) {
		value := detail[name]
		if list2, ok := value.([]any); ok {
			words := make([]string, len(list2))
			for i, w := range list2 {
				words[i] = fmt.Sprint(w)
			}
			value = "[" + strings.Join(words, " ") + "]"
		}
		if v, ok := value.(float64); ok {
			value = int64(v) // they are whole
		}
		list = append(list, fmt.Sprintf("%s=%v", name, value))
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
