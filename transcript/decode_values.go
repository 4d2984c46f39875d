package transcript

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/arbiter-cli/arbiter/transcript/jsonl"
)

var (
	errNoObject  = errors.New("not an object")
	errNoBoolean = errors.New("not a boolean")
)

// reader reads the values of fields and keeps the first error. Absent and null are the
// zero value.
type reader struct {
	names *Decoder
	err   error
}

func (r *reader) fail(field string, err error) {
	if err != nil && r.err == nil {
		r.err = fmt.Errorf("field %s: %w", field, err)
	}
}

func (r *reader) text(field string, raw []byte) string {
	if jsonl.IsNull(raw) {
		return ""
	}
	s, err := jsonl.String(raw)
	r.fail(field, err)
	return s
}

// name reads a string that is repeated from line to line.
func (r *reader) name(field string, raw []byte) string {
	if len(raw) > 2 && len(raw) < 64 && raw[0] == '"' && jsonl.Plain(raw[1:len(raw)-1]) {
		return r.names.intern(raw[1 : len(raw)-1])
	}
	return r.text(field, raw)
}

func (r *reader) boolean(field string, raw []byte) bool {
	yes := string(raw) == "true"
	if !yes && !jsonl.IsNull(raw) && string(raw) != "false" {
		r.fail(field, errNoBoolean)
	}
	return yes
}

// integer reads a count, mostly without a decoder.
func (r *reader) integer(field string, raw []byte) (n int) {
	if jsonl.IsNull(raw) {
		return 0
	}
	n, plain := jsonl.Natural(raw)
	if !plain { // a sign, an exponent, a word
		r.fail(field, json.Unmarshal(raw, &n))
	}
	return n
}

// object checks that a field is an object; absent and null pass.
func (r *reader) object(field string, raw []byte) {
	if !jsonl.IsNull(raw) && raw[0] != '{' {
		r.fail(field, errNoObject)
	}
}
