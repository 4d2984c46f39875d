package bridge

import (
	"encoding/json"
	"reflect"
	"strings"

	"github.com/arbiter-cli/arbiter/transcript/jsonl"
)

// fieldsOf are the fields of an event's body by their JSON names.
func fieldsOf(typ reflect.Type) map[string]int {
	fields := make(map[string]int, typ.NumField())
	for i := range typ.NumField() {
		name, _, _ := strings.Cut(typ.Field(i).Tag.Get("json"), ",")
		fields[name] = i
	}
	return fields
}

// readFields reads an event's object into its body, as encoding/json does, which looks
// three times at each byte: events are most of what a run receives, and of its journal.
// It reports false for what it does not know: then encoding/json has the word.
func readFields(data []byte, body reflect.Value, fields map[string]int) bool {
	known := true
	return jsonl.Members(data, func(key, value []byte) bool {
		i, field := fields[string(key)]
		if !field {
			switch string(key) {
			case "id", "generation", "event":
				known = json.Valid(value)
			default:
				known = false
			}
			return known
		}
		into := body.Field(i).Addr().Interface()
		switch into := into.(type) {
		case *string:
			if s, err := jsonl.String(value); err == nil {
				*into = s
				return true
			}
		case *int:
			if n, ok := jsonl.Natural(value); ok {
				*into = n
				return true
			}
		}
		known = json.Unmarshal(value, into) == nil
		return known
	}) && known
}
