package contract

import (
	"encoding/json"
	"reflect"
	"testing"
	"unicode/utf8"

	"github.com/arbiter-cli/arbiter/internal/testkit"

	"github.com/google/go-cmp/cmp"

	"github.com/arbiter-cli/arbiter/rehearsal/corpus"
)

// decoded has raw JSON compared by what it says: of escapes there are several forms.
var decoded = cmp.Transformer("decoded", func(raw json.RawMessage) (v any) {
	if err := json.Unmarshal(raw, &v); err != nil {
		return err.Error()
	}
	return v
})

// TestModelOutputOnALine: every event with any text in all of its fields is one line on
// which no terminal acts, and says the same when it is read.
func TestModelOutputOnALine(t *testing.T) {
	for i, c := range corpus.ModelOutput(t, "../..") {
		text := c.Valid()
		for j, b := range Events() {
			if c.Large() && j > 0 || (len(text) > 2<<10 || testkit.Race) && (i+j)%5 != 0 {
				continue
			}
			// As others hand it in, and as it arrives by JSON.
			raw := corpus.Filled(reflect.TypeOf(b), c.Text).Interface().(Body)
			want := corpus.Filled(reflect.TypeOf(b), text).Interface().(Body)
			events := []Event{{text, want}, {c.Text, raw}}
			if c.Text == text {
				events = events[:1]
			}
			for _, e := range events {
				line, err := EncodeLine(nil, 7, someTime, e)
				if err != nil {
					t.Fatalf("%s: %s: %v", c.Name, b.EventName(), err)
				}
				if !utf8.Valid(line) {
					t.Fatalf("%s: %s: %.300q is not UTF-8", c.Name, b.EventName(), line)
				}
				for k, r := range string(line) {
					if r < ' ' && !(r == '\n' && k == len(line)-1) || acted(r) {
						t.Fatalf("%s: %s: %U in %.300q", c.Name, b.EventName(), r, line)
					}
				}
				got, err := DecodeLine(line)
				if err != nil {
					t.Fatalf("%s: %s: %v", c.Name, b.EventName(), err)
				}
				if diff := cmp.Diff(want, got.Body, decoded); diff != "" || got.ID != text {
					t.Fatalf("%s: %s (-said +read):\n%.2000s", c.Name, b.EventName(), diff)
				}
			}
		}
	}
}
