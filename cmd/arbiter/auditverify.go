package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
)

// brokenAudit says which line of an audit does not hold.
type brokenAudit struct {
	line   int
	reason string
}

func (b *brokenAudit) Error() string { return fmt.Sprintf("line %d: %s", b.line, b.reason) }

// readAudit is an exported audit whose chain holds.
type readAudit struct {
	run   string
	text  bool
	lines [][]byte // without the last
	last  map[string]any
}

// maxAuditLine bounds a line of an audit, in bytes: twice what a record can hold.
const maxAuditLine = 2 * journal.MaxPayload

// verifyChain reads an audit and holds each line against the one before.
func verifyChain(r io.Reader) (a readAudit, err error) {
	in := bufio.NewScanner(r)
	in.Buffer(nil, maxAuditLine)
	prev := ""
	for n := 1; in.Scan(); n++ {
		fields, err := auditFields(in.Bytes())
		if err != nil {
			return a, &brokenAudit{n, err.Error()}
		}
		what, _ := fields["what"].(string)
		if a.last != nil {
			return a, &brokenAudit{n, "it is behind the end"}
		}
		if n == 1 {
			if err := a.head(what, fields); err != nil {
				return a, &brokenAudit{n, err.Error()}
			}
			prev = firstLink(a.run)
		}
		if fields["prev"] != prev {
			return a, &brokenAudit{n, "it does not continue the line before it"}
		}
		hash := fields["hash"]
		delete(fields, "hash")
		if sum, err := lineHash(fields); err != nil || sum != hash {
			return a, &brokenAudit{n, "its hash is of another line"}
		}
		if what == "end" {
			detail, _ := fields["detail"].(map[string]any)
			if detail["head"] != prev || fmt.Sprint(detail["lines"]) != fmt.Sprint(n-1) {
				return a, &brokenAudit{n, "its totals are of another audit"}
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
		return a, &brokenAudit{len(a.lines) + 1, "the end is missing"}
	}
	return a, nil
}

// auditFields reads a line, which must be in the one form that is hashed.
func auditFields(line []byte) (map[string]any, error) {
	dec := json.NewDecoder(bytes.NewReader(line))
	dec.UseNumber()
	var fields map[string]any
	if err := dec.Decode(&fields); err != nil || fields == nil {
		return nil, errors.New("it is no JSON object")
	}
	if again, err := canonical(fields); err != nil || !bytes.Equal(again, line) {
		return nil, errors.New("it is not as it was printed")
	}
	return fields, nil
}

func (a *readAudit) head(what string, fields map[string]any) error {
	detail, _ := fields["detail"].(map[string]any)
	a.run, _ = detail["run"].(string)
	a.text, _ = detail["with_text"].(bool)
	switch {
	case what != "audit" || a.run == "":
		return errors.New("it is not the beginning of an audit")
	case fmt.Sprint(detail["v"]) != fmt.Sprint(auditVersion):
		return fmt.Errorf("the audit has format %v, this arbiter knows %d", detail["v"], auditVersion)
	}
	return nil
}

// against compares an audit with the journal of its run, as far as the audit goes: the
// run may have gone on since.
func (a readAudit) against(store *runs) error {
	i := 0
	auditor := newAuditor(a.run, a.text, func(l auditLine) error {
		if i < len(a.lines) && !bytes.Equal(l.raw, a.lines[i]) {
			return &brokenAudit{i + 1, fmt.Sprintf("the journal says otherwise (record %d, %s)", l.seq, l.deed.What)}
		}
		i++
		return nil
	})
	_, err := auditRun(store, auditor)
	if err == nil && i-1 < len(a.lines) { // the end does not count
		err = &brokenAudit{i, "the journal does not have it"}
	}
	return err
}

// verifyAudit checks a file. A break is a failure, with its line.
func (e env) verifyAudit(c *cli.Context) error {
	if c.NArg() > 1 || c.Bool("json") || c.Bool("text") {
		return usagef("logs --verify FILE: name the run it must be of, or none; --json and --text are for printing")
	}
	f, err := os.Open(c.String("verify"))
	if err != nil {
		return usagef("logs --verify: %v", err)
	}
	defer f.Close()
	a, err := verifyChain(f)
	if err != nil {
		return brokenf(err)
	}
	if c.NArg() == 1 && !strings.HasPrefix(a.run, c.Args().First()) {
		return &exitError{code: contract.ExitFailed, text: fmt.Sprintf("the audit is of run %s", short(a.run))}
	}
	store, err := openRuns(c)
	if err != nil {
		return err
	}
	defer store.Close()
	with := "its run is not here: nothing but the chain was checked"
	switch _, err := store.Find(a.run); {
	case err == nil:
		if err := a.against(store); err != nil {
			return brokenf(err)
		}
		with = "it agrees with the journal"
	case !errors.Is(err, journal.ErrNotFound):
		return environmentf("find run %s: %v", short(a.run), err)
	}
	fmt.Fprintf(e.stdout, "%d lines of run %s hold; %s; %s\n", len(a.lines)+1, short(a.run), with, sanitize.Line(fmt.Sprint(a.last["seals"]), 200))
	return nil
}

// brokenf is the error of an audit that does not hold, or cannot be read.
func brokenf(err error) error {
	var broken *brokenAudit
	if errors.As(err, &broken) {
		return &exitError{code: contract.ExitFailed, text: "the audit does not hold: " + broken.Error()}
	}
	return environmentf("verify: %v", err)
}

// tamperedf says what to do about a journal that somebody else has changed.
func tamperedf(t *journal.TamperedError) error {
	return environmentf("run %s: %v; what is before it is good: arbiter logs %s --audit shows it, and --resume --session %s --accept-prefix goes on from there (nothing is deleted)",
		short(t.Run), t, short(t.Run), short(t.Run))
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
