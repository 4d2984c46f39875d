package transcript

import (
	"bytes"
	"encoding/json"

	"github.com/arbiter-cli/arbiter/transcript/jsonl"
)

// Decoder makes records of lines. The zero value is ready; it has one owner. It
// remembers the strings that every line repeats, so that they exist once.
type Decoder struct {
	names   [16]string // the last ones seen
	at      int
	records []Record
}

// Decode makes records of one line, given without its end; the slice is good
// until the next call. A line that is one object yields one record. In a damaged
// one every object that begins like a record and is whole is found: the stub
// before it, NULs, and what was joined to it without a line end are left. whole
// says that the line was as it should be.
//
// Nothing here is an error of the stream: a record that cannot be understood is
// an Other.
func (d *Decoder) Decode(line []byte) (records []Record, whole bool) {
	line = bytes.Trim(line, " \t\r\n")
	if len(line) == 0 {
		return nil, true
	}
	clear(d.records)
	d.records = d.records[:0]
	if line[0] == '{' && bytes.IndexByte(line, 0) < 0 {
		var f fields
		if end := f.scan(line); end == len(line) {
			d.records = append(d.records, d.record(&f))
			return d.records, true
		}
	}
	if json.Valid(line) {
		return nil, true // no object
	}
	d.salvage(line)
	return d.records, false
}

// beginnings of a record, where one is looked for in a damaged line.
var beginnings = [][]byte{[]byte(`{"parentUuid":`), []byte(`{"type":`)}

// maxStubs bounds how many cut records one damaged line is searched behind.
const maxStubs = 8

// salvage finds the records in a damaged line. What it takes for one is checked
// to the last byte.
func (d *Decoder) salvage(line []byte) {
	for stubs := 0; stubs < maxStubs; {
		at := nextBeginning(line)
		if at < 0 {
			return
		}
		line = line[at:]
		var f fields
		end := f.scan(line)
		if end < 0 || !json.Valid(line[:end]) {
			stubs++
			line = line[1:] // what joined the stub may be whole
			continue
		}
		d.records = append(d.records, d.record(&f))
		line = line[end:]
	}
}

// nextBeginning finds where the next record may begin, -1 if nowhere. Inside of
// JSON text the quotes are escaped, so what is found there is none.
func nextBeginning(line []byte) int {
	for at := 0; ; at++ {
		i := bytes.IndexByte(line[at:], '{')
		if i < 0 {
			return -1
		}
		at += i
		for _, b := range beginnings {
			if bytes.HasPrefix(line[at:], b) {
				return at
			}
		}
	}
}

// record makes the record of fields that were found.
func (d *Decoder) record(f *fields) Record {
	r := reader{names: d}
	head := d.head(&r, f)
	var rec Record
	switch head.Type {
	case "user":
		rec = d.user(&r, f, head)
	case "assistant":
		rec = &Assistant{Header: head, APIError: r.boolean("isApiErrorMessage", f.apiError),
			Message: d.message(&r, f, true)}
	case "attachment":
		rec = d.attachment(&r, f, head)
	case "system":
		rec = &System{Header: head, Subtype: r.name("subtype", f.subtype)}
	default:
		return &Other{Header: head, Err: r.err}
	}
	if r.err != nil {
		return &Other{Header: head, Err: r.err, Partial: rec}
	}
	return rec
}

func (d *Decoder) head(r *reader, f *fields) Header {
	return Header{
		Type:      r.name("type", f.typ),
		Session:   r.name("sessionId", f.session),
		UUID:      r.text("uuid", f.uuid),
		Parent:    r.text("parentUuid", f.parent),
		Logical:   r.text("logicalParentUuid", f.logical),
		Timestamp: r.text("timestamp", f.timestamp),
		Sidechain: r.boolean("isSidechain", f.sidechain),
	}
}

func (d *Decoder) user(r *reader, f *fields, head Header) *User {
	u := &User{
		Header:         head,
		Meta:           r.boolean("isMeta", f.meta),
		CompactSummary: r.boolean("isCompactSummary", f.compactSummary),
		PromptSource:   r.name("promptSource", f.promptSource),
		Message:        d.message(r, f, false),
	}
	if !jsonl.IsNull(f.merged) {
		if err := json.Unmarshal(f.merged, &u.Merged); err != nil {
			u.Merged = nil
			r.fail("mergedSendUuids", err)
		}
	}
	return u
}

func (d *Decoder) message(r *reader, f *fields, answer bool) Message {
	m := &f.message
	r.object("message", m.raw)
	msg := Message{Content: m.content}
	if !answer {
		return msg
	}
	msg.ID = r.text("message.id", m.id)
	msg.Model = r.name("message.model", m.model)
	msg.StopReason = r.name("message.stop_reason", m.stop)
	r.object("message.usage", m.usage.raw)
	msg.Usage = Usage{
		Input:         r.integer("message.usage.input_tokens", m.usage.input),
		CacheRead:     r.integer("message.usage.cache_read_input_tokens", m.usage.read),
		CacheCreation: r.integer("message.usage.cache_creation_input_tokens", m.usage.creation),
		Output:        r.integer("message.usage.output_tokens", m.usage.output),
	}
	return msg
}

func (d *Decoder) attachment(r *reader, f *fields, head Header) *Attachment {
	a := &f.attachment
	r.object("attachment", a.raw)
	return &Attachment{
		Header:     head,
		Kind:       r.name("attachment.type", a.typ),
		SourceUUID: r.text("attachment.source_uuid", a.source),
		ToolUseID:  r.text("attachment.toolUseID", a.toolUse),
		Data:       a.data,
	}
}

// intern returns the string that raw holds, the one that was made before if it
// is among the last.
func (d *Decoder) intern(body []byte) string {
	for i := range d.names {
		if d.names[i] == string(body) {
			return d.names[i]
		}
	}
	s := string(body)
	d.names[d.at] = s
	d.at = (d.at + 1) % len(d.names)
	return s
}
