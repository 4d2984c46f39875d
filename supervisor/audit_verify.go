package supervisor

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/arbiter-cli/arbiter/supervisor/journal"
	"github.com/arbiter-cli/arbiter/transcript/jsonl"
)

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
			prev = firstLink(a.Run)
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
