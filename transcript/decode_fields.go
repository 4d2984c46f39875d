package transcript

import "github.com/arbiter-cli/arbiter/transcript/jsonl"

// fields are the texts of the fields that records are made of, found in one pass
// over the line, in whatever order they stand. Of a field that stands twice the
// last counts, as with the CLI.
type fields struct {
	typ, subtype, session, uuid, parent, logical, timestamp         []byte
	sidechain, meta, compactSummary, apiError, promptSource, merged []byte
	message                                                         messageFields
	attachment                                                      attachmentFields
}

type messageFields struct {
	raw, id, model, stop, content []byte
	usage                         usageFields
}

type usageFields struct{ raw, input, read, creation, output []byte }

type attachmentFields struct{ raw, typ, source, toolUse, data []byte }

// scan takes the object that data begins with, and returns where it ends, -1 if
// there is none.
func (f *fields) scan(data []byte) int {
	s := jsonl.Scanner{Data: data}
	for key, ok := s.First(); ok; key, ok = s.Next() {
		switch string(key) {
		case "type":
			f.typ = s.Value()
		case "subtype":
			f.subtype = s.Value()
		case "sessionId":
			f.session = s.Value()
		case "uuid":
			f.uuid = s.Value()
		case "parentUuid":
			f.parent = s.Value()
		case "logicalParentUuid":
			f.logical = s.Value()
		case "timestamp":
			f.timestamp = s.Value()
		case "isSidechain":
			f.sidechain = s.Value()
		case "isMeta":
			f.meta = s.Value()
		case "isCompactSummary":
			f.compactSummary = s.Value()
		case "isApiErrorMessage":
			f.apiError = s.Value()
		case "promptSource":
			f.promptSource = s.Value()
		case "mergedSendUuids":
			f.merged = s.Value()
		case "message":
			f.message.scan(&s)
		case "attachment":
			f.attachment.scan(&s)
		default:
			s.Value()
		}
	}
	if s.Bad {
		return -1
	}
	return s.At
}

func (m *messageFields) scan(s *jsonl.Scanner) {
	*m = messageFields{}
	from := s.At
	if !s.Opens() {
		m.raw = s.Value()
		return
	}
	for key, ok := s.First(); ok; key, ok = s.Next() {
		switch string(key) {
		case "id":
			m.id = s.Value()
		case "model":
			m.model = s.Value()
		case "stop_reason":
			m.stop = s.Value()
		case "content":
			m.content = s.Value()
		case "usage":
			m.usage.scan(s)
		default:
			s.Value()
		}
	}
	m.raw = s.Data[from:s.At]
}

func (u *usageFields) scan(s *jsonl.Scanner) {
	*u = usageFields{}
	from := s.At
	if !s.Opens() {
		u.raw = s.Value()
		return
	}
	for key, ok := s.First(); ok; key, ok = s.Next() {
		switch string(key) {
		case "input_tokens":
			u.input = s.Value()
		case "cache_read_input_tokens":
			u.read = s.Value()
		case "cache_creation_input_tokens":
			u.creation = s.Value()
		case "output_tokens":
			u.output = s.Value()
		default:
			s.Value()
		}
	}
	u.raw = s.Data[from:s.At]
}

func (a *attachmentFields) scan(s *jsonl.Scanner) {
	*a = attachmentFields{}
	from := s.At
	if !s.Opens() {
		a.raw = s.Value()
		return
	}
	for key, ok := s.First(); ok; key, ok = s.Next() {
		switch string(key) {
		case "type":
			a.typ = s.Value()
		case "source_uuid":
			a.source = s.Value()
		case "toolUseID":
			a.toolUse = s.Value()
		case "data":
			a.data = s.Value()
		default:
			s.Value()
		}
	}
	a.raw = s.Data[from:s.At]
}
