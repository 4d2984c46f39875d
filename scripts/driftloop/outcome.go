package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// The states of a behaviour, with the first line of a failure after them.
const (
	ok       = "ok"
	second   = "ok (2nd try)"
	differs  = "differs"
	notThere = "not there"
	seen     = "seen" // on the wire
)

// cells are the states of behaviours with one version, by test.
type cells map[string]string

// reasonLine matches a line in which a test says why it failed.
var reasonLine = regexp.MustCompile(`^\s+[\w.-]+\.go:\d+: (.*\S)`)

// read reads the output of go test -json, and adds the frames and requests that the driver did not know to what the
// wire showed. A test that began and did not end (because of the deadline, or because another test panicked) counts as
// differing; a skipped test counts as not there.
func read(r io.Reader, subtests bool, wire cells) (cells, error) {
	all, reasons := cells{}, map[string]string{}
	for d := json.NewDecoder(r); ; {
		var l struct{ Action, Test, Output, Key, Value string }
		if err := d.Decode(&l); err == io.EOF {
			return all, nil
		} else if err != nil {
			return nil, fmt.Errorf("read go test -json: %w", err)
		}
		parts := append(strings.SplitN(l.Test, "/", 3), "", "")
		row, whole := parts[0], parts[1] == ""
		if subtests {
			row, whole = parts[1], parts[2] == ""
		}
		state := map[string]string{"pass": ok, "fail": differs, "skip": notThere}[l.Action]
		switch {
		case row == "":
		case l.Action == "run" && whole:
			all[row] = differs + ": it did not end"
		case l.Action == "output":
			if m := reasonLine.FindStringSubmatch(l.Output); m != nil && reasons[row] == "" {
				reasons[row] = ": " + scrub(m[1])
			}
		case l.Action == "attr" && l.Key == "oddity":
			wire[l.Value] = seen
		case whole && state == ok:
			all[row] = ok
		case whole && state != "":
			all[row] = state + reasons[row]
		}
	}
}

// failed returns the rows that differ.
func (c cells) failed() []string {
	rows := slices.Sorted(maps.Keys(c))
	return slices.DeleteFunc(rows, func(row string) bool { return !strings.HasPrefix(c[row], differs) })
}

// takeOver replaces results by those of a second try.
func (c cells) takeOver(again cells) {
	for row, state := range again {
		if c[row] = state; state == ok {
			c[row] = second
		}
	}
}

// replacements are made in a text, one after the other.
type replacements []struct {
	pattern *regexp.Regexp
	with    string
}

func (r replacements) in(text string) string {
	for _, x := range r {
		text = x.pattern.ReplaceAllString(text, x.with)
	}
	return text
}

// scrubs replace parts of a reason that differ from run to run and from machine to machine.
var scrubs = replacements{
	{regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`), "ID"},
	{regexp.MustCompile(`(?:/[\w.@+-]+){2,}/?`), "PATH"},
	{regexp.MustCompile(`toolu_\w+|msg_\w+|req_\w+`), "ID"},
	{regexp.MustCompile(`0x[0-9a-f]+`), "ADDR"},
	{regexp.MustCompile(`\b\d+(?:\.\d+)?(?:ms|µs|s)\b`), "TIME"},
	{regexp.MustCompile(`127\.0\.0\.1:\d+`), "127.0.0.1:PORT"},
	{regexp.MustCompile(`[\s\p{Cc}]+`), " "},
}

// scrub makes a reason equal on every machine, and short.
func scrub(text string) string {
	text = strings.TrimSpace(scrubs.in(text))
	if runes := []rune(text); len(runes) > 160 {
		return string(runes[:159]) + "…"
	}
	return text
}

// object is a JSON object.
type object map[string]any

// at returns the object at a path of names; anything but an object has no fields.
func (o object) at(path ...string) object {
	for _, name := range path {
		o, _ = o[name].(map[string]any)
	}
	return o
}

// recordObservations records what the CLI's lines in a recording ("< …") show: kinds of frames with their fields,
// requests, and the abilities that the CLI lists. It ignores the contents of fields that come from the model, the
// user or a tool.
func recordObservations(raw []byte, wire cells) {
	for l := range strings.Lines(string(raw)) {
		text, theirs := strings.CutPrefix(l, "< ")
		var f object
		if !theirs || json.Unmarshal([]byte(text), &f) != nil {
			continue
		}
		of, about := fmt.Sprint("frame ", f["type"]), f
		switch sub, _ := f["subtype"].(string); {
		case f["type"] == "control_response":
			of, about = "answer", f.at("response", "response")
		case f["type"] == "control_request":
			about = f.at("request")
			of = fmt.Sprint("request ", about["subtype"])
		case sub != "" && f["type"] != "result":
			of += "/" + sub
		}
		for name, value := range about {
			wire["`"+name+"` in "+of] = seen
			if list, _ := value.([]any); name == "capabilities" || name == "tools" {
				for _, ability := range list {
					wire[fmt.Sprintf("`%v` among %s", ability, name)] = seen
				}
			}
		}
	}
}
