package transcript

import (
	"bytes"
	"encoding/json"
	"errors"
)

// wireRecord has the fields of the CLI's lines that are used.
type wireRecord struct {
	Type           string   `json:"type"`
	Subtype        string   `json:"subtype"`
	Session        string   `json:"sessionId"`
	UUID           string   `json:"uuid"`
	Parent         string   `json:"parentUuid"`
	Logical        string   `json:"logicalParentUuid"`
	Timestamp      string   `json:"timestamp"`
	Sidechain      bool     `json:"isSidechain"`
	Meta           bool     `json:"isMeta"`
	CompactSummary bool     `json:"isCompactSummary"`
	APIError       bool     `json:"isApiErrorMessage"`
	PromptSource   string   `json:"promptSource"`
	Merged         []string `json:"mergedSendUuids"`
	Message        struct {
		ID         string          `json:"id"`
		Model      string          `json:"model"`
		StopReason string          `json:"stop_reason"`
		Content    json.RawMessage `json:"content"`
		Usage      Usage           `json:"usage"`
	} `json:"message"`
	Attachment struct {
		Type       string          `json:"type"`
		SourceUUID string          `json:"source_uuid"`
		ToolUseID  string          `json:"toolUseID"`
		Data       json.RawMessage `json:"data"`
	} `json:"attachment"`
}

// Decode decodes one line, given without its end, to records. A line that is one object gives one record; a
// field of the wrong type is left empty. In a damaged line, Decode finds every whole object that begins like a
// record, and leaves out incomplete records before it, NULs, and text that was joined to it without a line end.
// whole reports that the line was undamaged JSON.
func Decode(line []byte) (records []Record, whole bool) {
	line = bytes.Trim(line, " \t\r\n")
	if len(line) == 0 {
		return nil, true
	}
	var w wireRecord
	switch err := json.Unmarshal(line, &w); {
	case !readable(err):
		return recoverRecords(line), false
	case line[0] != '{':
		return nil, true // no object
	}
	return []Record{w.record()}, true
}

// readable reports whether encoding/json has decoded the other fields in spite of this error.
func readable(err error) bool {
	var odd *json.UnmarshalTypeError
	return err == nil || errors.As(err, &odd)
}

// beginnings of a record, to be looked for in a damaged line.
var beginnings = [][]byte{[]byte(`{"parentUuid":`), []byte(`{"type":`)}

// maxStubs is how many incomplete records a damaged line may have before the search ends.
const maxStubs = 8

// recoverRecords finds the records in a damaged line.
func recoverRecords(line []byte) (records []Record) {
	for stubs := 0; stubs < maxStubs; {
		at := nextBeginning(line)
		if at < 0 {
			break
		}
		line = line[at:]
		var w wireRecord
		dec := json.NewDecoder(bytes.NewReader(line))
		if !readable(dec.Decode(&w)) {
			stubs++
			line = line[1:] // a record joined to the incomplete one may be whole
			continue
		}
		records = append(records, w.record())
		line = line[dec.InputOffset():]
	}
	return records
}

// nextBeginning finds where the next record may begin, or returns -1. Quotes inside of JSON strings are
// escaped, so that it finds nothing there.
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

// record returns a record with the fields of its type.
func (w *wireRecord) record() Record {
	head := Header{Type: w.Type, Session: w.Session, UUID: w.UUID, Parent: w.Parent, Logical: w.Logical,
		Timestamp: w.Timestamp, Sidechain: w.Sidechain}
	message := Message{Content: w.Message.Content}
	switch w.Type {
	case "user":
		return &User{Header: head, Meta: w.Meta, CompactSummary: w.CompactSummary, PromptSource: w.PromptSource,
			Merged: w.Merged, Message: message}
	case "assistant":
		message.ID, message.Model, message.StopReason = w.Message.ID, w.Message.Model, w.Message.StopReason
		message.Usage = w.Message.Usage
		return &Assistant{Header: head, APIError: w.APIError, Message: message}
	case "attachment":
		a := w.Attachment
		return &Attachment{Header: head, Kind: a.Type, SourceUUID: a.SourceUUID, ToolUseID: a.ToolUseID, Data: a.Data}
	case "system":
		return &System{Header: head, Subtype: w.Subtype}
	}
	return &Other{Header: head}
}
