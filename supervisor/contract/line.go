package contract

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/arbiter-cli/arbiter/supervisor/verdict"
	"github.com/arbiter-cli/arbiter/transcript/jsonl"
)

// Line is one line of the event stream.
type Line struct {
	V    int
	Seq  uint64
	Time time.Time
	Event
}

// Unknown is an event that this version does not know, or an event with a field of the
// wrong type; Problem then says which. Raw is an object with the event's own fields.
type Unknown struct {
	Name    string
	Raw     json.RawMessage
	Problem string
}

// EventName is the name in the line.
func (u Unknown) EventName() string { return u.Name }

// eventShape is what the codec knows of one event.
type eventShape struct {
	typ    reflect.Type
	fields map[string]bool
	amend  []int // fields that body may have to change
}

var eventShapes = sync.OnceValue(func() map[string]eventShape {
	shapes := make(map[string]eventShape, len(events))
	for _, e := range events {
		typ := reflect.TypeOf(e.body)
		fields := make(map[string]bool, typ.NumField())
		for _, name := range jsonFields(typ) {
			fields[name] = true
		}
		shape := eventShape{typ: typ, fields: fields}
		for i := range typ.NumField() {
			f := typ.Field(i)
			kind, omitted := f.Type.Kind(), strings.Contains(f.Tag.Get("json"), ",omit")
			if kind == reflect.Float64 || kind == reflect.Slice && !omitted {
				shape.amend = append(shape.amend, i)
			}
		}
		shapes[e.body.EventName()] = shape
	}
	return shapes
})

// usualLine is the length of most lines, in bytes.
const usualLine = 384

// EncodeLine appends one event as a JSON object and a newline. On an error it returns
// dst unchanged. Bodies are values, not pointers. Everything that a terminal would act
// on is escaped, so that it is safe to show the stream raw.
func EncodeLine(dst []byte, seq uint64, t time.Time, e Event) ([]byte, error) {
	if e.Body == nil {
		return dst, errors.New("encode event: no body")
	}
	name := e.Body.EventName()
	t = t.UTC()
	if y := t.Year(); y < 0 || y > 9999 {
		return dst, fmt.Errorf("encode event %s: year %d has no RFC 3339 form", name, y)
	}
	before := dst
	dst = slices.Grow(dst, usualLine)
	dst = append(dst, `{"v":`...)
	dst = strconv.AppendInt(dst, Version, 10)
	dst = append(dst, `,"seq":`...)
	dst = strconv.AppendUint(dst, seq, 10)
	dst = append(dst, `,"time":"`...)
	dst = appendTime(dst, t)
	dst = append(dst, `","id":`...)
	dst = AppendQuoted(dst, e.ID)
	dst = append(dst, `,"event":`...)
	dst = AppendQuoted(dst, name)
	start := len(dst)
	dst, err := jsonl.Append(dst, body(e.Body))
	if err != nil {
		return before, fmt.Errorf("encode event %s: %w", name, err)
	}
	fields := dst[start:]
	if len(fields) < 2 || fields[0] != '{' {
		return before, fmt.Errorf("encode event %s: its body is not an object", name)
	}
	if len(fields) == len("{}") {
		return append(dst[:start], "}\n"...), nil
	}
	fields[0] = ','
	beyondASCII := func(c byte) bool { return c >= 0x7f }
	if slices.ContainsFunc(fields, beyondASCII) { // else there is nothing to escape
		dst = AppendSafe(dst[:start], bytes.Clone(fields))
	}
	return append(dst, '\n'), nil
}

// appendTime appends a time in UTC in the form of RFC 3339, with exactly three decimals. Package time formats its own
// layout faster than any other.
func appendTime(dst []byte, t time.Time) []byte {
	dst = t.Truncate(time.Second).AppendFormat(dst, time.RFC3339)
	ms := t.Nanosecond() / int(time.Millisecond)
	dst[len(dst)-1] = '.' // instead of Z
	return append(dst, byte('0'+ms/100), byte('0'+ms/10%10), byte('0'+ms%10), 'Z')
}

// EventNameOf returns the name of the event of a line that EncodeLine wrote, without decoding it;
// empty: the line is not an event.
func EventNameOf(line []byte) string {
	// In a JSON string every quote has a backslash before it: no id can hold this.
	_, rest, _ := bytes.Cut(line, []byte(`,"event":"`))
	name, _, _ := bytes.Cut(rest, []byte(`"`))
	return string(name)
}

// SeqOf returns the seq of such a line; 0: it has none.
func SeqOf(line []byte) uint64 {
	_, rest, _ := bytes.Cut(line, []byte(`"seq":`))
	digits, _, _ := bytes.Cut(rest, []byte(","))
	seq, err := strconv.ParseUint(string(digits), 10, 64)
	if err != nil {
		return 0
	}
	return seq
}

// body replaces nil slices, which the contract shows as lists, and other values
// that would be null, and rounds money and percentages. It works on copies.
func body(b Body) any {
	switch b := b.(type) {
	case Unknown:
		return orEmpty(b.Raw)
	case Changes:
		files := make([]FileChange, len(b.Files))
		for i, f := range b.Files {
			if f.Agents == nil {
				f.Agents = []string{}
			}
			files[i] = f
		}
		b.Files = files
		return b
	case Handoff:
		var d verdict.Document
		if b.Document != nil {
			d = *b.Document
		}
		d.Normalize()
		b.Document = &d
		return b
	}
	shape, known := eventShapes()[b.EventName()]
	if !known || shape.amend == nil {
		return b
	}
	v := reflect.New(shape.typ).Elem()
	v.Set(reflect.ValueOf(b))
	for _, i := range shape.amend {
		switch f := v.Field(i); x := f.Addr().Interface().(type) {
		case *json.RawMessage:
			*x = orEmpty(*x)
		case *float64: // dollars are rounded to a millionth, percentages to a hundredth
			if strings.HasSuffix(shape.typ.Field(i).Name, "Pct") {
				*x = math.Round(*x*100) / 100
			} else {
				*x = RoundUSD(*x)
			}
		default:
			if f.IsNil() {
				f.Set(reflect.MakeSlice(f.Type(), 0, 0))
			}
		}
	}
	return v.Interface()
}

// RoundUSD rounds to a millionth of a dollar, which removes the rounding errors of additions.
func RoundUSD(usd float64) float64 { return math.Round(usd*1e6) / 1e6 }

func orEmpty(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 {
		return json.RawMessage("{}")
	}
	return raw
}

// DecodeLine reads a line of the event stream. Unknown events and fields
// are not errors: the stream may come from a newer version.
func DecodeLine(data []byte) (Line, error) {
	all, err := jsonl.Members(data)
	if err != nil {
		return Line{}, fmt.Errorf("decode event: %w", err)
	}
	var line Line
	var name, at string
	envelope := []struct {
		key  string
		into any
		seen bool
	}{{key: "v", into: &line.V}, {key: "seq", into: &line.Seq}, {key: "time", into: &at},
		{key: "id", into: &line.ID}, {key: "event", into: &name}}
	own := all[:0]
next:
	for _, m := range all {
		for i := range envelope {
			e := &envelope[i]
			if m.Key != e.key {
				continue
			}
			if e.seen {
				return Line{}, fmt.Errorf("decode event: field %q is given twice", m.Key)
			}
			if string(m.Value) == "null" {
				return Line{}, fmt.Errorf("decode event: field %q is null", m.Key)
			}
			if err := json.Unmarshal(m.Value, e.into); err != nil {
				return Line{}, fmt.Errorf("decode event: field %q: %w", m.Key, err)
			}
			e.seen = true
			continue next
		}
		own = append(own, m)
	}
	for _, e := range envelope {
		if !e.seen {
			return Line{}, fmt.Errorf("decode event: field %q is missing", e.key)
		}
	}
	if line.V != Version {
		return Line{}, fmt.Errorf("decode event: version %d, this program reads version %d", line.V, Version)
	}
	if line.Time, err = time.Parse(time.RFC3339, at); err != nil {
		return Line{}, fmt.Errorf("decode event: %w", err)
	}
	line.Time = line.Time.UTC().Truncate(time.Millisecond)
	line.Body = decodeBody(name, own)
	return line, nil
}

// DecodeWritten reads the event of a line that EncodeLine wrote. It takes a fraction of the
// time of DecodeLine, which also checks the form of the line: readers of a log decode many lines.
func DecodeWritten(line []byte) (Event, error) {
	_, rest, _ := bytes.Cut(line, []byte(`,"id":"`))
	id, _, _ := bytes.Cut(rest, []byte(`"`))
	shape, known := eventShapes()[EventNameOf(line)]
	if known && !bytes.Contains(id, []byte(`\`)) && bytes.HasPrefix(line, versionPrefix) {
		v := reflect.New(shape.typ)
		if err := json.Unmarshal(line, v.Interface()); err == nil {
			return Event{ID: string(id), Body: v.Elem().Interface().(Body)}, nil
		}
	}
	l, err := DecodeLine(line)
	return l.Event, err
}

var versionPrefix = fmt.Appendf(nil, `{"v":%d,`, Version)

func decodeBody(name string, own []jsonl.Member) Body {
	shape, ok := eventShapes()[name]
	if !ok {
		return Unknown{Name: name, Raw: joinMembers(own, nil)}
	}
	// Only exact names are passed on: encoding/json would ignore case.
	v := reflect.New(shape.typ)
	if err := json.Unmarshal(joinMembers(own, shape.fields), v.Interface()); err != nil {
		return Unknown{Name: name, Raw: joinMembers(own, nil), Problem: err.Error()}
	}
	return v.Elem().Interface().(Body)
}

// jsonFields lists the JSON names of a struct's fields in order.
func jsonFields(typ reflect.Type) []string {
	var names []string
	for f := range typ.Fields() {
		if name := jsonName(f); name != "-" {
			names = append(names, name)
		}
	}
	return names
}

func jsonName(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name
}

// joinMembers returns an object of the members in only, or of all members if only is nil.
func joinMembers(all []jsonl.Member, only map[string]bool) json.RawMessage {
	out := []byte{'{'}
	for _, m := range all {
		if only != nil && !only[m.Key] {
			continue
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = AppendQuoted(out, m.Key)
		out = append(out, ':')
		out = append(out, m.Value...)
	}
	return append(out, '}')
}

// AppendSafe appends JSON text, or text that is already safe for a terminal, so that no
// terminal or viewer acts on anything in it. It escapes what encoding/json lets through: DEL,
// the C1 controls, bidirectional controls, line and paragraph separators and tag
// characters. Invalid UTF-8, which json.RawMessage may carry, becomes U+FFFD. In
// valid JSON bytes beyond ASCII occur inside of strings only, so that an escape is
// right wherever one is found.
func AppendSafe(dst, text []byte) []byte {
	start := 0
	for i := 0; i < len(text); {
		if text[i] < 0x7f {
			i++
			continue
		}
		r, size := utf8.DecodeRune(text[i:])
		if acted(r) || r == utf8.RuneError && size == 1 {
			dst = append(dst, text[start:i]...)
			for _, unit := range utf16.AppendRune(nil, r) {
				dst = fmt.Appendf(dst, `\u%04x`, unit)
			}
			start = i + size
		}
		i += size
	}
	return append(dst, text[start:]...)
}

// acted reports whether terminals or viewers act on a rune instead of showing it.
func acted(r rune) bool {
	switch {
	case r >= 0x7f && r <= 0x9f: // DEL and C1
		return true
	case r < 0x061c:
		return false
	case r == 0x061c, r == 0x200e, r == 0x200f, // bidirectional marks
		r >= 0x2028 && r <= 0x202e, // separators, embeddings and overrides
		r >= 0x2066 && r <= 0x2069: // isolates
		return true
	}
	return r >= 0xe0000 && r <= 0xe007f // tags: invisible text
}

// AppendQuoted appends a JSON string. Ids and names are plain ASCII.
func AppendQuoted(dst []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			quoted, err := json.Marshal(s)
			if err != nil {
				panic("contract: a string has a JSON form: " + err.Error())
			}
			return AppendSafe(dst, quoted)
		}
	}
	dst = append(dst, '"')
	dst = append(dst, s...)
	return append(dst, '"')
}

// DefaultMaxLine bounds a command line, in bytes.
const DefaultMaxLine = 16 << 20

// ReadCommands yields the commands of r until it ends, fails, or yield returns
// false. A line longer than max (0: DefaultMaxLine) becomes a Malformed, and
// reading continues after it. Empty lines and a byte order mark are skipped, CRLF
// is a line end, and the last line needs none. A problem names its line. The end of input is not an error.
func ReadCommands(r io.Reader, max int, yield func(Command) bool) error {
	if max <= 0 {
		max = DefaultMaxLine
	}
	lines := jsonl.NewLineReader(r, max+len("\r"))
	for n := 1; ; n++ {
		next, err := lines.Next()
		if err != nil && !errors.Is(err, io.EOF) {
			return fmt.Errorf("read commands: %w", err)
		}
		if err != nil {
			next, _ = lines.Splitter.Flush()
		}
		line := next.Data
		long := next.Oversize || len(line) > max
		if n == 1 {
			line = bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
		}
		line = bytes.TrimSpace(line)
		switch {
		case long:
			problem := fmt.Sprintf("the line is longer than %d bytes", max)
			if !yield(located(Command{Body: malformed(problem, nil)}, n)) {
				return nil
			}
		case len(line) > 0:
			if !yield(located(ParseCommand(line), n)) {
				return nil
			}
		}
		if err != nil {
			return nil
		}
	}
}

// located says in which line the problem of a malformed command is, counted from 1.
func located(c Command, line int) Command {
	if m, ok := c.Body.(Malformed); ok {
		m.Problem = fmt.Sprintf("line %d: %s", line, m.Problem)
		c.Body = m
	}
	return c
}
