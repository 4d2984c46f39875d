package transcript

// fields are the texts of the fields that records are made of, found in one pass
// over the line, in whatever order they stand. Of a field that stands twice the
// last counts, as with the CLI.
type fields struct {
	raw                                                        []byte
	typ, subtype, session, uuid, parent, logical, timestamp    []byte
	agent, sidechain, meta, compactSummary, apiError           []byte
	promptSource, merged, operation, content, cost, modelUsage []byte
	message                                                    messageFields
	attachment                                                 attachmentFields
	compact                                                    compactFields
}

type messageFields struct {
	raw, id, role, model, stop, content []byte
	usage                               usageFields
}

type usageFields struct{ raw, input, read, creation, output []byte }

type attachmentFields struct{ raw, typ, source, toolUse, data []byte }

type compactFields struct{ raw, trigger, pre, post []byte }

// scan takes the object that data begins with, and returns where it ends, -1 if
// there is none.
func (f *fields) scan(data []byte) int {
	s := scanner{data: data}
	for key, ok := s.first(); ok; key, ok = s.next() {
		switch string(key) {
		case "type":
			f.typ = s.value()
		case "subtype":
			f.subtype = s.value()
		case "sessionId":
			f.session = s.value()
		case "uuid":
			f.uuid = s.value()
		case "parentUuid":
			f.parent = s.value()
		case "logicalParentUuid":
			f.logical = s.value()
		case "timestamp":
			f.timestamp = s.value()
		case "agentId":
			f.agent = s.value()
		case "isSidechain":
			f.sidechain = s.value()
		case "isMeta":
			f.meta = s.value()
		case "isCompactSummary":
			f.compactSummary = s.value()
		case "isApiErrorMessage":
			f.apiError = s.value()
		case "promptSource":
			f.promptSource = s.value()
		case "mergedSendUuids":
			f.merged = s.value()
		case "operation":
			f.operation = s.value()
		case "content":
			f.content = s.value()
		case "totalCostUSD":
			f.cost = s.value()
		case "modelUsage":
			f.modelUsage = s.value()
		case "message":
			f.message.scan(&s)
		case "attachment":
			f.attachment.scan(&s)
		case "compactMetadata":
			f.compact.scan(&s)
		default:
			s.value()
		}
	}
	if s.bad {
		return -1
	}
	f.raw = data[:s.at]
	return s.at
}

func (m *messageFields) scan(s *scanner) {
	*m = messageFields{}
	from := s.at
	if !s.opens() {
		m.raw = s.value()
		return
	}
	for key, ok := s.first(); ok; key, ok = s.next() {
		switch string(key) {
		case "id":
			m.id = s.value()
		case "role":
			m.role = s.value()
		case "model":
			m.model = s.value()
		case "stop_reason":
			m.stop = s.value()
		case "content":
			m.content = s.value()
		case "usage":
			m.usage.scan(s)
		default:
			s.value()
		}
	}
	m.raw = s.data[from:s.at]
}

func (u *usageFields) scan(s *scanner) {
	*u = usageFields{}
	from := s.at
	if !s.opens() {
		u.raw = s.value()
		return
	}
	for key, ok := s.first(); ok; key, ok = s.next() {
		switch string(key) {
		case "input_tokens":
			u.input = s.value()
		case "cache_read_input_tokens":
			u.read = s.value()
		case "cache_creation_input_tokens":
			u.creation = s.value()
		case "output_tokens":
			u.output = s.value()
		default:
			s.value()
		}
	}
	u.raw = s.data[from:s.at]
}

func (a *attachmentFields) scan(s *scanner) {
	*a = attachmentFields{}
	from := s.at
	if !s.opens() {
		a.raw = s.value()
		return
	}
	for key, ok := s.first(); ok; key, ok = s.next() {
		switch string(key) {
		case "type":
			a.typ = s.value()
		case "source_uuid":
			a.source = s.value()
		case "toolUseID":
			a.toolUse = s.value()
		case "data":
			a.data = s.value()
		default:
			s.value()
		}
	}
	a.raw = s.data[from:s.at]
}

func (c *compactFields) scan(s *scanner) {
	*c = compactFields{}
	from := s.at
	if !s.opens() {
		c.raw = s.value()
		return
	}
	for key, ok := s.first(); ok; key, ok = s.next() {
		switch string(key) {
		case "trigger":
			c.trigger = s.value()
		case "preTokens":
			c.pre = s.value()
		case "postTokens":
			c.post = s.value()
		default:
			s.value()
		}
	}
	c.raw = s.data[from:s.at]
}

// opens says whether the value that comes is an object.
func (s *scanner) opens() bool { return s.at < len(s.data) && s.data[s.at] == '{' }
