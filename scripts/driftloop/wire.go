package main

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// recordObservations records what the CLI's lines in a recording ("< …") show: kinds of frames with their fields,
// requests, and the abilities that the CLI lists. It ignores the contents of fields that come from the model, the
// user or a tool.
func recordObservations(raw []byte, seen map[string]bool) {
	for l := range strings.Lines(string(raw)) {
		text, theirs := strings.CutPrefix(l, "< ")
		var f map[string]json.RawMessage
		if !theirs || json.Unmarshal([]byte(text), &f) != nil {
			continue
		}
		kind := stringOf(f["type"])
		switch kind {
		case "control_response":
			fields(seen, "answer", inside(f["response"], "response"))
			abilities(seen, inside(f["response"], "response"))
			continue
		case "control_request":
			request := inside(f["request"])
			kind = "request " + stringOf(request["subtype"])
			fields(seen, kind, request)
			continue
		}
		if sub := stringOf(f["subtype"]); sub != "" && kind != "result" {
			kind += "/" + sub
		}
		fields(seen, "frame "+kind, f)
		abilities(seen, f)
	}
}

func fields(seen map[string]bool, of string, object map[string]json.RawMessage) {
	for name := range object {
		seen["`"+name+"` in "+of] = true
	}
}

// abilities records the capabilities and tools that the CLI lists.
func abilities(seen map[string]bool, object map[string]json.RawMessage) {
	for _, list := range []string{"capabilities", "tools"} {
		var names []string
		if json.Unmarshal(object[list], &names) == nil {
			for _, name := range names {
				seen["`"+name+"` among "+list] = true
			}
		}
	}
}

// inside returns the object at a path of names in an object.
func inside(raw json.RawMessage, path ...string) map[string]json.RawMessage {
	var object map[string]json.RawMessage
	_ = json.Unmarshal(raw, &object) // anything but an object has no fields
	if len(path) == 0 {
		return object
	}
	return inside(object[path[0]], path[1:]...)
}

func stringOf(raw json.RawMessage) (s string) {
	_ = json.Unmarshal(raw, &s)
	return s
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
