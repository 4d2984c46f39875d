package history

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"sync"

	"github.com/arbiter-cli/arbiter/sanitize"
)

// kept bounds the text that is kept of one event.
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
	"Request": true, "Question": true, "Ref": true, "SHA256": true, "Action": true,
}

// field is what the codec knows of a struct's exported field.
type field struct {
	index   int
	oneLine bool
	hidden  bool
}

var plans sync.Map // reflect.Type → []field

func planOf(typ reflect.Type) []field {
	if p, ok := plans.Load(typ); ok {
		return p.([]field)
	}
	var p []field
	for i := range typ.NumField() {
		if f := typ.Field(i); f.IsExported() {
			p = append(p, field{index: i, oneLine: !prose[f.Name], hidden: identifying[f.Name]})
		}
	}
	plans.Store(typ, p)
	return p
}

var rawMessage = reflect.TypeFor[json.RawMessage]()

// Marks before the elements of a slice, and before the target of a pointer.
const (
	markNil = iota
	markElement
	markEnd
)

// encoder writes a value field by field and makes its strings fit for a screen. It omits what does not fit,
// so that out ends at most a little beyond the limit.
type encoder struct {
	out   []byte
	limit int
}

func (e *encoder) remaining() int { return max(e.limit-len(e.out), 0) }

func (e *encoder) value(v reflect.Value, oneLine bool) {
	switch v.Kind() {
	case reflect.String:
		e.text(v.String(), oneLine)
	case reflect.Bool:
		e.out = append(e.out, 0)
		if v.Bool() {
			e.out[len(e.out)-1] = 1
		}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		e.out = binary.AppendVarint(e.out, v.Int())
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		e.out = binary.AppendUvarint(e.out, v.Uint())
	case reflect.Float32, reflect.Float64:
		e.out = binary.LittleEndian.AppendUint64(e.out, math.Float64bits(v.Float()))
	case reflect.Struct:
		for _, f := range planOf(v.Type()) {
			e.value(v.Field(f.index), f.oneLine)
		}
	case reflect.Pointer:
		if v.IsNil() {
			e.out = append(e.out, markNil)
			return
		}
		e.out = append(e.out, markElement)
		e.value(v.Elem(), oneLine)
	case reflect.Slice:
		e.slice(v, oneLine)
	}
	// Events have no other kinds; a test checks that.
}

func (e *encoder) slice(v reflect.Value, oneLine bool) {
	if v.Type() == rawMessage {
		raw := v.Bytes()
		if raw == nil {
			e.out = append(e.out, markNil)
			return
		}
		if remaining := e.remaining(); len(raw) > remaining {
			raw = shortenJSON(raw, remaining)
		}
		e.out = append(e.out, markElement)
		e.out = append(binary.AppendUvarint(e.out, uint64(len(raw))), raw...)
		return
	}
	if v.IsNil() {
		e.out = append(e.out, markNil)
		return
	}
	for i := range v.Len() {
		e.out = append(e.out, markElement)
		if e.remaining() == 0 && v.Type().Elem().Kind() == reflect.String {
			e.text(leftOut(v.Len()-i, "more"), true)
			break
		}
		e.value(v.Index(i), oneLine)
		if e.remaining() == 0 && v.Type().Elem().Kind() != reflect.String {
			break
		}
	}
	e.out = append(e.out, markEnd)
}

func (e *encoder) text(s string, oneLine bool) {
	if oneLine {
		s = sanitize.Line(s, maxLine)
	} else {
		remaining := e.remaining()
		s = sanitize.Text(shorten(s, remaining))
		if len(s) > remaining+maxNoteLength { // it was not valid UTF-8, and the corrected text is longer
			s = shorten(s, remaining)
		}
	}
	e.out = append(binary.AppendUvarint(e.out, uint64(len(s))), s...)
}

var errDamaged = errors.New("what was kept is damaged")

// decoder reads what an encoder wrote. Its strings are substrings of in.
type decoder struct {
	in  string
	bad bool
}

func (d *decoder) value(v reflect.Value) {
	if d.bad {
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(d.text())
	case reflect.Bool:
		v.SetBool(d.byte() == 1)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		u := d.uvarint()
		v.SetInt(int64(u>>1) ^ -int64(u&1))
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(d.uvarint())
	case reflect.Float32, reflect.Float64:
		if b := d.take(8); len(b) == 8 {
			v.SetFloat(math.Float64frombits(binary.LittleEndian.Uint64([]byte(b))))
		}
	case reflect.Struct:
		for _, f := range planOf(v.Type()) {
			d.value(v.Field(f.index))
		}
	case reflect.Pointer:
		if d.byte() == markElement {
			v.Set(reflect.New(v.Type().Elem()))
			d.value(v.Elem())
		}
	case reflect.Slice:
		d.slice(v)
	}
}

func (d *decoder) slice(v reflect.Value) {
	mark := d.byte()
	if mark == markNil {
		return
	}
	if v.Type() == rawMessage {
		v.SetBytes([]byte(d.text()))
		return
	}
	v.Set(reflect.MakeSlice(v.Type(), 0, 0))
	for ; mark == markElement && !d.bad; mark = d.byte() {
		element := reflect.New(v.Type().Elem()).Elem()
		d.value(element)
		v.Set(reflect.Append(v, element))
	}
}

func (d *decoder) take(n int) string {
	if n < 0 || n > len(d.in) {
		d.bad, d.in = true, ""
		return ""
	}
	s := d.in[:n]
	d.in = d.in[n:]
	return s
}

func (d *decoder) byte() byte {
	if b := d.take(1); b != "" {
		return b[0]
	}
	return markNil
}

func (d *decoder) uvarint() uint64 {
	var u uint64
	for shift := 0; shift < 64 && d.in != ""; shift += 7 {
		b := d.in[0]
		d.in = d.in[1:]
		u |= uint64(b&0x7f) << shift
		if b < 0x80 {
			return u
		}
	}
	d.bad = true
	return 0
}

func (d *decoder) text() string {
	n := d.uvarint()
	if n > uint64(len(d.in)) {
		d.bad = true
		return ""
	}
	return d.take(int(n))
}

// eachText calls f with the searchable strings of a value, until f returns true.
func eachText(v reflect.Value, f func(s string, raw bool) bool) bool {
	switch v.Kind() {
	case reflect.String:
		return f(v.String(), false)
	case reflect.Struct:
		for _, p := range planOf(v.Type()) {
			if !p.hidden && eachText(v.Field(p.index), f) {
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
