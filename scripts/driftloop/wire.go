package main

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// look notes what the lines of a recording that the CLI wrote ("< …") show: kinds of
// frames with their fields, requests, and what the CLI says it can do. Fields of what is
// the model's, the user's or a tool's own are not looked at.
func look(raw []byte, seen map[string]bool) {
	for l := range strings.Lines(string(raw)) {
		text, theirs := strings.CutPrefix(l, "< ")
		var f map[string]json.RawMessage
		if !theirs || json.Unmarshal([]byte(text), &f) != nil {
			continue
		}
		kind := word(f["type"])
		switch kind {
		case "control_response":
			fields(seen, "answer", inside(f["response"], "response"))
			abilities(seen, inside(f["response"], "response"))
			continue
		case "control_request":
			request := inside(f["request"])
			kind = "request " + word(request["subtype"])
			fields(seen, kind, request)
			continue
		}
		if sub := word(f["subtype"]); sub != "" && kind != "result" {
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

// abilities are what the CLI lists of itself.
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

// inside descends into an object by names.
func inside(raw json.RawMessage, path ...string) map[string]json.RawMessage {
	var object map[string]json.RawMessage
	_ = json.Unmarshal(raw, &object) // what is none has no fields
	if len(path) == 0 {
		return object
	}
	return inside(object[path[0]], path[1:]...)
}

func word(raw json.RawMessage) (s string) {
	_ = json.Unmarshal(raw, &s)
	return s
}

// allSeen lists what any version was seen to say, and whether all of them did.
func allSeen(found []findings) (differ []string, same int) {
	count := map[string]int{}
	for _, f := range found {
		for fact := range f.wire {
			count[fact]++
		}
	}
	for _, fact := range slices.Sorted(maps.Keys(count)) {
		if count[fact] == len(found) {
			same++
		} else {
			differ = append(differ, fact)
		}
	}
	return differ, same
}
