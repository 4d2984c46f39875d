package main

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
)

// An audit is a list of JSON objects, one a line, each with its keys sorted and no space
// between: `hash` is the SHA-256 of the object without it, `prev` the hash of the line
// before, of the first the SHA-256 of the run's id. The first line, `audit`, says what it
// is of, the last, `end`, how much it is and how far the journal's seals vouch for it.
const auditVersion = 1

func auditFlags() []cli.Flag {
	return []cli.Flag{
		&cli.BoolFlag{Name: "audit", Usage: "print what the run did, from its journal: every start with its arguments, permission, message, command, kill and end, as a chain of hashes"},
		&cli.BoolFlag{Name: "json", Usage: "with --audit: one JSON object a line, for --verify"},
		&cli.BoolFlag{Name: "text", Usage: "with --audit: what was said, too, and not only its size and SHA-256"},
		&cli.StringFlag{Name: "verify", Usage: "check an audit `FILE` that was printed with --json: its chain and, if the run is here, each line against the journal", TakesFile: true},
	}
}

// auditor makes the lines of an audit.
type auditor struct {
	run  string
	text bool // what was said is in it
	prev string
	n    int
	fold supervisor.Fold
	emit func(auditLine) error
}

// auditLine is a line, for the eye and as it is hashed.
type auditLine struct {
	seq    uint64 // of the journal's record
	at     time.Time
	origin supervisor.Origin
	deed   supervisor.Deed
	hash   string
	raw    []byte
}

func newAuditor(run string, text bool, emit func(auditLine) error) *auditor {
	return &auditor{run: run, text: text, prev: firstLink(run), emit: emit}
}

// firstLink is what the first line of a run's audit continues.
func firstLink(run string) string {
	sum := sha256.Sum256([]byte(run))
	return hex.EncodeToString(sum[:])
}

// begin writes the first line.
func (a *auditor) begin() error {
	return a.add(auditLine{deed: supervisor.Deed{What: "audit", Detail: map[string]any{"run": a.run, "v": auditVersion, "with_text": a.text}}})
}

// take writes the lines of one record.
func (a *auditor) take(r journal.Record) error {
	before := a.fold.State
	step, err := a.fold.Replay(r)
	if err != nil {
		return err
	}
	origin := step.Input.From
	if origin.By == "" { // of a journal that is older than origins are
		origin = before.Origin(step.Input.Fact)
	}
	for _, deed := range supervisor.Deeds(step, &a.fold.State) {
		if err := a.add(auditLine{seq: r.Seq, at: step.Input.At, origin: origin, deed: deed}); err != nil {
			return err
		}
	}
	return nil
}

// finish writes the last line.
func (a *auditor) finish(rec journal.Recovery, tampered *journal.TamperedError) error {
	detail := map[string]any{"lines": a.n, "records": rec.Records, "head": a.prev, "seals": sealState(rec)}
	if tampered != nil {
		detail["tampered_from"] = tampered.Record
	}
	if list := damageOf(rec); len(list) > 0 {
		detail["damage"] = list
	}
	return a.add(auditLine{deed: supervisor.Deed{What: "end", Detail: detail}})
}

// sealState says how far a journal's seals vouch for it.
func sealState(rec journal.Recovery) string {
	s := rec.Seals
	switch {
	case rec.Records == 0:
		return "nothing to seal"
	case s.Sealed == 0 && s.Unknown == 0:
		return "not sealed (old)"
	case s.Sealed == 0:
		return fmt.Sprintf("sealed up to %d with a key that is not here: not verified", s.Unknown)
	case s.Unknown > 0:
		return fmt.Sprintf("sealed up to %d; up to %d with a key that is not here: not verified", s.Sealed, s.Unknown)
	}
	return fmt.Sprintf("sealed up to %d", s.Sealed)
}

// add completes a line and hands it on.
func (a *auditor) add(l auditLine) error {
	fields := map[string]any{"seq": l.seq, "what": l.deed.What, "prev": a.prev, "detail": a.detail(l.deed.Detail)}
	for name, value := range map[string]string{
		"about": l.deed.About, "by": l.origin.By, "session": l.origin.Session, "channel": l.origin.Channel,
	} {
		if value != "" {
			fields[name] = printable(value)
		}
	}
	if l.origin.Gen != 0 {
		fields["generation"] = l.origin.Gen
	}
	if !l.at.IsZero() {
		fields["time"] = l.at.UTC().Format(time.RFC3339Nano)
	}
	sum, err := lineHash(fields)
	if err != nil {
		return err
	}
	fields["hash"] = sum
	if l.raw, err = canonical(fields); err != nil {
		return err
	}
	l.hash, a.prev = sum, sum
	a.n++
	return a.emit(l)
}

// detail is what a deed tells, without secrets, and without texts unless they are wanted.
func (a *auditor) detail(from map[string]any) map[string]any {
	to := map[string]any{}
	for name, value := range from {
		switch v := value.(type) {
		case supervisor.Text:
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

// printable is without secrets, and has one form in JSON.
func printable(s string) string { return strings.ToValidUTF8(sanitize.Redact(s), "\ufffd") }

// canonical is JSON in the one form that is hashed.
func canonical(v any) ([]byte, error) {
	var b writeBuffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return b[:len(b)-1], nil // without the line's end
}

type writeBuffer []byte

func (b *writeBuffer) Write(p []byte) (int, error) {
	*b = append(*b, p...)
	return len(p), nil
}

// lineHash is the hash of a line that has none yet.
func lineHash(fields map[string]any) (string, error) {
	b, err := canonical(fields)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:]), nil
}

// auditRun makes the whole audit of a run. What was tampered with ends it: that is told in
// its last line, and returned.
func auditRun(store *runs, a *auditor) (*journal.TamperedError, error) {
	if err := a.begin(); err != nil {
		return nil, err
	}
	rec, err := store.Read(a.run, a.take)
	var tampered *journal.TamperedError
	if err != nil && !errors.As(err, &tampered) {
		return nil, err
	}
	return tampered, a.finish(rec, tampered)
}

// audit prints or verifies one.
func (e env) audit(c *cli.Context) error {
	if c.IsSet("verify") {
		return e.verifyAudit(c)
	}
	if c.NArg() != 1 {
		return usagef("logs --audit: name one run (arbiter sessions lists them)")
	}
	store, info, err := openRun(c)
	if err != nil {
		return err
	}
	defer store.Close()
	w := bufio.NewWriter(e.stdout)
	emit := func(l auditLine) error { return printAudit(w, l) }
	if c.Bool("json") {
		emit = func(l auditLine) error {
			_, err := w.Write(append(l.raw, '\n'))
			return err
		}
	}
	tampered, err := auditRun(store, newAuditor(info.Run, c.Bool("text"), emit))
	if err = errors.Join(err, w.Flush()); err != nil {
		return environmentf("audit run %s: %v", short(info.Run), err)
	}
	if tampered != nil {
		return tamperedf(tampered)
	}
	return nil
}

// printAudit writes a line for people.
func printAudit(w io.Writer, l auditLine) error {
	at := ""
	if !l.at.IsZero() {
		at = l.at.Local().Format("2006-01-02 15:04:05.000")
	}
	who := l.origin.By
	if l.origin.Gen != 0 {
		who = fmt.Sprintf("%s.%d", who, l.origin.Gen)
	}
	if l.origin.Channel != "" {
		who += "@" + l.origin.Channel
	}
	detail, err := canonicalDetail(l.raw)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "%6d  %-23s  %-16s  %-20s  %-9s %s  %s\n", l.seq, at, sanitize.Line(who, 40), l.deed.What,
		sanitize.Line(l.deed.About, 20), l.hash[:12], sanitize.Line(detail, 1000))
	return err
}

// canonicalDetail is the detail of a line as `name=value` pairs, sorted.
func canonicalDetail(raw []byte) (string, error) {
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
