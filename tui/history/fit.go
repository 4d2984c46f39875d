package history

import (
	"encoding/json"
	"reflect"
	"strings"
	"unicode/utf8"

	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/words"
)

// kept bounds what is kept of one event, in bytes.
const kept = 256 << 10

// maxLine bounds values of one line, in runes: ids, names, paths.
const maxLine = 4096

// prose are the fields that may have several lines. Every other string has one line.
var prose = map[string]bool{
	"Text": true, "Prompt": true, "Message": true, "Reason": true, "Summary": true, "Problem": true,
	"GeneratedBecause": true, "Accomplished": true, "Remaining": true, "KeyContext": true, "Constraints": true,
	"OpenQuestions": true, "SandboxReason": true, "Digest": true, "Choice": true, "Rejected": true, "Why": true,
	"Command": true, "Expect": true, "Output": true, "Claim": true,
}

// identifying are the fields that are never shown, and that a search ignores.
var identifying = map[string]bool{
	"Session": true, "SessionID": true, "MessageID": true, "MessageIDs": true, "ToolUse": true, "Subagent": true,
	"Request": true, "Question": true, "Ref": true, "SHA256": true, "Action": true, "Run": true,
}

var rawMessage = reflect.TypeFor[json.RawMessage]()

// fit returns a copy of an event whose texts are fit for a screen, and the bytes that it takes.
func fit(e contract.Event) (contract.Event, int) {
	f := fitter{remaining: kept}
	body := f.value(reflect.Indirect(reflect.ValueOf(e.Body)), true)
	fitting := contract.Event{ID: lineID(e.ID), Body: body.Interface().(contract.Body)}
	return fitting, kept - f.remaining + int(body.Type().Size())
}

// lineID returns an id in the form in which it is kept.
func lineID(id string) string { return sanitize.Line(id, maxID/4) }

// fitter copies a value and omits what exceeds its limit.
type fitter struct{ remaining int }

func (f *fitter) value(v reflect.Value, oneLine bool) reflect.Value {
	fitting := reflect.New(v.Type()).Elem()
	switch v.Kind() {
	case reflect.String:
		fitting.SetString(f.text(v.String(), oneLine))
	case reflect.Struct:
		for i := range v.NumField() {
			if field := v.Type().Field(i); field.IsExported() {
				fitting.Field(i).Set(f.value(v.Field(i), !prose[field.Name]))
			}
		}
	case reflect.Pointer:
		if !v.IsNil() {
			f.remaining -= int(v.Type().Elem().Size())
			fitting.Set(f.value(v.Elem(), oneLine).Addr())
		}
	case reflect.Slice:
		f.slice(fitting, v, oneLine)
	default: // numbers and booleans; a test checks that events have no other kinds
		fitting.Set(v)
	}
	return fitting
}

func (f *fitter) slice(fitting, v reflect.Value, oneLine bool) {
	switch {
	case v.IsNil():
		return
	case v.Type() == rawMessage:
		raw := v.Bytes()
		if len(raw) > f.remaining {
			raw = shortenJSON(raw, max(f.remaining, 0))
		}
		f.remaining -= len(raw)
		fitting.SetBytes(raw)
		return
	}
	fitting.Set(reflect.MakeSlice(v.Type(), 0, 0))
	for i := range v.Len() {
		element := v.Index(i)
		f.remaining -= int(element.Type().Size())
		full := f.remaining <= 0
		if full && element.Kind() == reflect.String {
			element = reflect.ValueOf(leftOut(v.Len()-i, "more"))
		}
		fitting.Set(reflect.Append(fitting, f.value(element, oneLine || full)))
		if full {
			break
		}
	}
}

func (f *fitter) text(s string, oneLine bool) string {
	if oneLine {
		s = sanitize.Line(s, maxLine)
	} else {
		limit := max(f.remaining, 0)
		s = sanitize.Text(shorten(s, limit))
		if len(s) > limit+maxNoteLength { // it was not valid UTF-8, and the corrected text is longer
			s = shorten(s, limit)
		}
	}
	f.remaining -= len(s)
	return s
}

// eachText calls f with the searchable strings of a value, until f returns true.
func eachText(v reflect.Value, f func(s string, raw bool) bool) bool {
	switch v.Kind() {
	case reflect.String:
		return f(v.String(), false)
	case reflect.Struct:
		for i := range v.NumField() {
			field := v.Type().Field(i)
			if field.IsExported() && !identifying[field.Name] && eachText(v.Field(i), f) {
				return true
			}
		}
	case reflect.Pointer:
		return !v.IsNil() && eachText(v.Elem(), f)
	case reflect.Slice:
		if v.Type() == rawMessage {
			return f(string(v.Bytes()), true)
		}
		for i := range v.Len() {
			if eachText(v.Index(i), f) {
				return true
			}
		}
	}
	return false
}

// maxNoteLength is more than the length of a note.
const maxNoteLength = 64

// leftOut returns the note that replaces what was omitted.
func leftOut(n int, of string) string { return "… " + words.Number(n) + " " + of + " left out …" }

// shorten keeps about n bytes of s, the beginning and a bit of the end, whole lines if they are short, and
// notes what it omitted.
func shorten(s string, n int) string {
	if len(s) <= n {
		return s
	}
	if n < maxNoteLength {
		return leftOut(len(s), "bytes")
	}
	const line = 200
	head, tail := n/4*3, len(s)-n/4
	if i := strings.LastIndexByte(s[head-min(head, line):head], '\n'); i >= 0 {
		head += i - min(head, line)
	}
	if i := strings.IndexByte(s[tail:min(tail+line, len(s))], '\n'); i >= 0 {
		tail += i + 1
	}
	for head > 0 && !utf8.RuneStart(s[head]) {
		head--
	}
	for tail < len(s) && !utf8.RuneStart(s[tail]) {
		tail++
	}
	return s[:head] + "\n" + leftOut(tail-head, "bytes") + "\n" + s[tail:]
}

// shortenJSON keeps about n bytes of a JSON value, by shortening the longest of its strings. Input that is
// not JSON is not made into JSON.
func shortenJSON(raw []byte, n int) []byte {
	for limit := n / 2; limit >= 2*maxNoteLength; limit /= 8 {
		if short := cutStrings(raw, limit); len(short) <= n {
			return short
		}
	}
	note, err := json.Marshal(map[string]string{"…": leftOut(len(raw), "bytes")})
	if err != nil {
		return nil
	}
	return note
}

// cutStrings returns raw with every string literal of more than limit bytes cut.
func cutStrings(raw []byte, limit int) []byte {
	var out []byte
	done := 0 // raw[:done] is in out
	for i := 0; i < len(raw); i++ {
		if raw[i] != '"' {
			continue
		}
		start, end := i+1, i+1
		for end < len(raw) && raw[end] != '"' {
			end += unit(raw[end:])
		}
		i = end
		if end-start <= limit {
			continue
		}
		head, tail := start, start
		for next := head; next <= start+limit/4*3; next += unit(raw[next:]) {
			head = next
		}
		for tail = head; tail < end-limit/4; {
			tail += unit(raw[tail:])
		}
		out = append(out, raw[done:head]...)
		out = append(out, `\n`+leftOut(tail-head, "bytes")+`\n`...)
		done = tail
	}
	return append(out, raw[done:]...)
}

// unit returns the length of the first character of b in a JSON string: an escape, two that are one
// character, or a rune.
func unit(b []byte) int {
	n := 1
	switch {
	case b[0] == '\\' && len(b) > 1 && b[1] == 'u':
		n = 6
		if len(b) > 7 && (b[2]|0x20) == 'd' && strings.IndexByte("89abAB", b[3]) >= 0 && b[6] == '\\' && b[7] == 'u' {
			n = 12
		}
	case b[0] == '\\':
		n = 2
	case b[0] >= utf8.RuneSelf:
		_, n = utf8.DecodeRune(b)
	}
	return min(n, len(b))
}
