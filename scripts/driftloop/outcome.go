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

// The states of a behaviour.
const (
	ok       = "ok"
	second   = "ok (2nd try)"
	differs  = "differs"
	notThere = "not there"
)

// cell is the state of one behaviour with one version.
type cell struct {
	State  string
	Reason string `json:",omitempty"` // first line of the failure
}

// outcome is the result of a run of go test.
type outcome struct {
	cells    map[string]cell // by test
	oddities []string        // frames and requests that the driver did not know
}

// line is a line of go test -json.
type line struct {
	Action, Test, Output, Key, Value string
}

// reasonLine matches a line in which a test says why it failed.
var reasonLine = regexp.MustCompile(`^\s+[\w.-]+\.go:\d+: (.*\S)`)

// read reads the output of go test -json. A test that began and did not end (because of the deadline, or
// because another test panicked) counts as differing; a skipped test counts as not there.
func read(r io.Reader, subtests bool) (*outcome, error) {
	o := &outcome{cells: map[string]cell{}}
	reasons := map[string]string{}
	d := json.NewDecoder(r)
	for {
		var l line
		if err := d.Decode(&l); err == io.EOF {
			break
		} else if err != nil {
			return nil, fmt.Errorf("read go test -json: %w", err)
		}
		parts := append(strings.SplitN(l.Test, "/", 3), "", "")
		row, whole := parts[0], parts[1] == ""
		if subtests {
			row, whole = parts[1], parts[2] == ""
		}
		switch {
		case row == "":
		case l.Action == "run" && whole:
			o.cells[row] = cell{State: differs, Reason: "it did not end"}
		case l.Action == "output":
			if m := reasonLine.FindStringSubmatch(l.Output); m != nil && reasons[row] == "" {
				reasons[row] = scrub(m[1])
			}
		case l.Action == "attr" && l.Key == "oddity":
			o.oddities = append(o.oddities, l.Value)
		case whole && states[l.Action] != "":
			o.cells[row] = cell{State: states[l.Action]}
			if l.Action != "pass" {
				o.cells[row] = cell{states[l.Action], reasons[row]}
			}
		}
	}
	return o, nil
}

var states = map[string]string{"pass": ok, "fail": differs, "skip": notThere}

// failed returns the rows that differ.
func (o *outcome) failed() []string {
	rows := slices.Sorted(maps.Keys(o.cells))
	return slices.DeleteFunc(rows, func(row string) bool { return o.cells[row].State != differs })
}

// takeOver replaces results by those of a second try.
func (o *outcome) takeOver(again *outcome) {
	for row, c := range again.cells {
		if c.State == ok {
			c.State = second
		}
		o.cells[row] = c
	}
	o.oddities = append(o.oddities, again.oddities...)
}

// scrubs replace parts of a reason that differ from run to run and from machine to machine.
var scrubs = []struct {
	pattern *regexp.Regexp
	with    string
}{
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
	for _, s := range scrubs {
		text = s.pattern.ReplaceAllString(text, s.with)
	}
	if runes := []rune(strings.TrimSpace(text)); len(runes) > 160 {
		return string(runes[:159]) + "…"
	}
	return strings.TrimSpace(text)
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
func recordObservations(raw []byte, seen map[string]bool) {
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
			seen["`"+name+"` in "+of] = true
			if list, _ := value.([]any); name == "capabilities" || name == "tools" {
				for _, ability := range list {
					seen[fmt.Sprintf("`%v` among %s", ability, name)] = true
				}
			}
		}
	}
}

// allSeen returns what some versions showed and others did not, and the number of facts that all versions
// showed.
func allSeen(found []findings) (differ []string, same int) {
	count := map[string]int{}
	for _, f := range found {
		for observation := range f.wire {
			count[observation]++
		}
	}
	for _, observation := range slices.Sorted(maps.Keys(count)) {
		if count[observation] == len(found) {
			same++
		} else {
			differ = append(differ, observation)
		}
	}
	return differ, same
}
