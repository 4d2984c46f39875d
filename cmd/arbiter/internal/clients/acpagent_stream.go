package clients

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"sync"

	"github.com/sourcegraph/jsonrpc2"

	"github.com/arbiter-cli/arbiter/transcript/jsonl"
)

// acpMaxLine bounds a line from the client, in bytes.
const acpMaxLine = 16 << 20

// stream is the connection to the client: one JSON object per line. It implements jsonrpc2.ObjectStream.
type stream struct {
	in  *jsonl.LineReader
	raw io.Reader

	mu  sync.Mutex
	out io.Writer
}

func newStream(in io.Reader, out io.Writer) *stream {
	return &stream{in: jsonl.NewLineReader(in, acpMaxLine), raw: in, out: out}
}

// ReadObject implements jsonrpc2.ObjectStream. It skips empty lines and refuses lines that are not JSON objects;
// the connection continues.
func (s *stream) ReadObject(v any) error {
	for {
		next, err := s.in.NextOrLast()
		line := bytes.TrimSpace(next.Data)
		switch {
		case err != nil:
			return err
		case next.Oversize:
			return fmt.Errorf("a line of the client is longer than %d bytes", acpMaxLine)
		case len(line) == 0:
			continue
		}
		refusal := jsonrpc2.Error{Code: jsonrpc2.CodeParseError, Message: "a line is not JSON"}
		if json.Valid(line) {
			if err = json.Unmarshal(line, v); err == nil {
				return nil
			}
			refusal = jsonrpc2.Error{Code: jsonrpc2.CodeInvalidRequest, Message: "a line is not a message: " + err.Error()}
		}
		if err := s.WriteObject(refused{JSONRPC: "2.0", Error: refusal}); err != nil {
			return err
		}
	}
}

// refused is the answer to a line without a readable id.
type refused struct {
	JSONRPC string         `json:"jsonrpc"`
	ID      *int           `json:"id"`
	Error   jsonrpc2.Error `json:"error"`
}

// WriteObject implements jsonrpc2.ObjectStream.
func (s *stream) WriteObject(v any) error {
	line, err := json.Marshal(v)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	_, err = s.out.Write(append(line, '\n'))
	return err
}

// Close implements io.Closer. It ends a running read only if the input can be closed.
func (s *stream) Close() error {
	if c, ok := s.raw.(io.Closer); ok {
		return c.Close()
	}
	return nil
}
