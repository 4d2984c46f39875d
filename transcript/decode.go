package transcript

import (
	"bytes"
	"encoding/json"
	"errors"
)

// Decode decodes one line, given without its end, to records. A line that is one object gives one record; a
// field of the wrong type is left empty. In a damaged line, Decode finds every whole object that begins like a
// record, and leaves out incomplete records before it, NULs, and text that was joined to it without a line end.
// whole reports that the line was undamaged JSON.
func Decode(line []byte) (records []*Record, whole bool) {
	line = bytes.Trim(line, " \t\r\n")
	if len(line) == 0 {
		return nil, true
	}
	r := new(Record)
	switch err := json.Unmarshal(line, r); {
	case !readable(err):
		return recoverRecords(line), false
	case line[0] != '{':
		return nil, true // no object
	}
	return []*Record{r}, true
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
func recoverRecords(line []byte) (records []*Record) {
	for stubs := 0; stubs < maxStubs; {
		at := nextBeginning(line)
		if at < 0 {
			break
		}
		line = line[at:]
		r := new(Record)
		dec := json.NewDecoder(bytes.NewReader(line))
		if !readable(dec.Decode(r)) {
			stubs++
			line = line[1:] // a record joined to the incomplete one may be whole
			continue
		}
		records = append(records, r)
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
