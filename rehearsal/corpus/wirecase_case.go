package corpus

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
)

// WireCase is one conversation.
type WireCase struct {
	Name    string
	Replies []WireReply
	Runs    []WireProcess
	Files   map[string][]byte // of the working directory
}

// WireProcess is one process of a case.
type WireProcess struct {
	Args, Env []string
	Steps     []WireStep
}

// WireStep is one line of a host section.
type WireStep struct {
	Line int // in its section
	Op   string
	Arg  string
}

// loadOne reads a case.
func loadOne(path string) (*WireCase, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("load case: %w", err)
	}
	c := &WireCase{Name: strings.TrimSuffix(filepath.Base(path), ".txtar"), Files: map[string][]byte{}}
	sections := map[string][]byte{}
	for _, f := range txtar.Parse(raw).Files {
		if name, ok := strings.CutPrefix(f.Name, "work/"); ok {
			c.Files[name] = f.Data
			continue
		}
		sections[f.Name] = f.Data
	}
	for i, line := range lines(sections["model"]) {
		var r WireReply
		d := json.NewDecoder(strings.NewReader(line))
		d.DisallowUnknownFields()
		if err := d.Decode(&r); err != nil {
			return nil, fmt.Errorf("%s: model reply %d: %w", c.Name, i+1, err)
		}
		c.Replies = append(c.Replies, r)
	}
	delete(sections, "model")
	for n := 1; ; n++ {
		suffix := ""
		if n > 1 {
			suffix = fmt.Sprintf(".%d", n)
		}
		host, ok := sections["host"+suffix]
		if !ok {
			break
		}
		steps, err := parseSteps(host)
		if err != nil {
			return nil, fmt.Errorf("%s: host%s: %w", c.Name, suffix, err)
		}
		c.Runs = append(c.Runs, WireProcess{lines(sections["args"+suffix]), lines(sections["env"+suffix]), steps})
		for _, s := range []string{"host", "args", "env"} {
			delete(sections, s+suffix)
		}
	}
	for name := range sections {
		return nil, fmt.Errorf("%s: unknown section %q", c.Name, name)
	}
	if len(c.Runs) == 0 {
		return nil, fmt.Errorf("%s: no host section", c.Name)
	}
	return c, nil
}

// LoadAll reads all cases that match a glob.
func LoadAll(t *testing.T, glob string) []*WireCase {
	t.Helper()
	paths, err := filepath.Glob(glob)
	if err != nil || len(paths) == 0 {
		t.Fatalf("no cases match %s (%v)", glob, err)
	}
	var out []*WireCase
	for _, p := range paths {
		c, err := loadOne(p)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, c)
	}
	return out
}

func lines(b []byte) (out []string) {
	for _, l := range strings.Split(string(b), "\n") {
		if l = strings.TrimSpace(l); l != "" && !strings.HasPrefix(l, "#") {
			out = append(out, l)
		}
	}
	return out
}

// arguments lists the operations, and whether they take an argument.
var arguments = map[string]bool{
	">": true, "<": true, "!": true, "saw": true, "requests": true, "called": true, "release": false,
	"eof": false, "signal": true, "exit": true, "stderr": true, "file": true, "until": true, "touch": true,
}

func parseSteps(b []byte) (out []WireStep, err error) {
	for i, l := range bytes.Split(b, []byte("\n")) {
		line := strings.TrimSpace(string(l))
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		op, arg, _ := strings.Cut(line, " ")
		wants, known := arguments[op]
		switch {
		case !known:
			return nil, fmt.Errorf("line %d: unknown step %q", i+1, op)
		case wants != (arg != ""):
			return nil, fmt.Errorf("line %d: step %q: wrong number of arguments", i+1, op)
		case (op == "<" || op == "!") && !json.Valid([]byte(arg)):
			return nil, fmt.Errorf("line %d: the pattern is not JSON: %s", i+1, arg)
		}
		out = append(out, WireStep{i + 1, op, arg})
	}
	return out, nil
}
