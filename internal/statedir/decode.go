package statedir

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
)

// ReadJSON reads a file of at most limit bytes that [Decode] decodes. found is false if there is no such
// file. problem is a clause that says why its content cannot be used; an error means that it could not be
// read.
func (d *Dir) ReadJSON(name string, limit int64, version int, into any) (found bool, problem string, err error) {
	b, err := d.Read(name, limit)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, "", nil
	case errors.Is(err, ErrTooLarge):
		return true, fmt.Sprintf("it is over %d KiB", limit>>10), nil
	case err != nil:
		return true, "", err
	}
	if err := Decode(b, version, into); err != nil {
		return true, err.Error(), nil
	}
	return true, "", nil
}

// Decode decodes the JSON object of a file whose member "v" is its version. The error is a clause that says
// what is wrong: another version, an unknown member, or data after the object.
func Decode(b []byte, version int, into any) error {
	var head struct{ V *int }
	if err := json.Unmarshal(b, &head); err != nil {
		return fmt.Errorf("it is not a JSON object (%w)", err)
	}
	if head.V == nil || *head.V != version {
		return fmt.Errorf("it does not have version %d, the one that this arbiter reads", version)
	}
	return DecodeStrict(b, into)
}

// DecodeStrict decodes one JSON value. An unknown member, or data after the value, is an error.
func DecodeStrict(b []byte, into any) error {
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.DisallowUnknownFields()
	if err := dec.Decode(into); err != nil {
		return err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return errors.New("there is more data after its end")
	}
	return nil
}
