package journal

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
)

// A small file beside the journal is one JSON object: version, checksum of version and body, body. People may
// read it, too.
type smallFile struct {
	Version int             `json:"v"`
	Sum     string          `json:"crc"`
	Body    json.RawMessage `json:"body"`
}

const maxSmall = 1 << 20

var errSmallSum = errors.New("its checksum does not match")

func smallSum(version int, body []byte) string {
	return fmt.Sprintf("%08x", crc32.Update(crc32.Checksum(fmt.Appendf(nil, "%d ", version), castagnoli()), castagnoli(),
		body))
}

func encodeSmall(version int, body any) ([]byte, error) {
	b, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	b, err = json.Marshal(smallFile{Version: version, Sum: smallSum(version, b), Body: b})
	return append(b, '\n'), err
}

// decodeSmall reads what encodeSmall wrote. An error says what is wrong; a *VersionError says that the file is
// undamaged and of another format.
func decodeSmall(b []byte, file string, version int, body any) error {
	var s smallFile
	dec := json.NewDecoder(bytes.NewReader(b))
	if err := dec.Decode(&s); err != nil {
		return fmt.Errorf("read %s: %w", file, err)
	}
	if s.Sum != smallSum(s.Version, s.Body) {
		return fmt.Errorf("read %s: %w", file, errSmallSum)
	}
	if s.Version != version {
		return &VersionError{File: file, Found: s.Version, Known: version}
	}
	if err := json.Unmarshal(s.Body, body); err != nil {
		return fmt.Errorf("read %s: %w", file, err)
	}
	return nil
}

// readSmall reads a whole small file.
func readSmall(dir directory, name string) ([]byte, error) {
	f, err := dir.Open(name, openRead)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readSmallFile(f)
}

func readSmallFile(f file) ([]byte, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	b := make([]byte, min(info.Size, maxSmall))
	n, err := f.ReadAt(b, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return b[:n], nil
}
