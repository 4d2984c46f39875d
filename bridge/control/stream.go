package control

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/sourcegraph/jsonrpc2"
)

const (
	// maxRequest bounds a line of a client in bytes. A command may hold a long text.
	maxRequest = 4 << 20
	// maxAnswer bounds a line of the server in bytes. The state of a large run is one line.
	maxAnswer = 64 << 20
	// writeTimeout is how long a peer may fail to read anything.
	writeTimeout = 30 * time.Second
)

// stream is the jsonrpc2.ObjectStream of both ends: one JSON object per line. Anything else ends the
// connection.
type stream struct {
	conn    net.Conn
	in      *bufio.Reader
	maxLine int // that is read, in bytes
	// events takes notifications of events before jsonrpc2 sees them. May be nil.
	events func(line []byte) error

	mu sync.Mutex // of writing
}

func newStream(conn net.Conn, maxLine int) *stream {
	return &stream{conn: conn, in: bufio.NewReaderSize(conn, 64<<10), maxLine: maxLine}
}

// notification is what a subscriber receives. It replaces the type of jsonrpc2, whose encoding parses the
// params three more times, which is noticeable in a run with many clients.
type notification[T any] struct {
	JSONRPC string `json:"jsonrpc"`
	Method  string `json:"method"`
	Params  T      `json:"params"`
}

// eventsPrefix is how a notification of events begins.
var eventsPrefix = []byte(`{"jsonrpc":"2.0","method":"` + NotifyEvents + `",`)

// ReadObject implements jsonrpc2.ObjectStream.
func (s *stream) ReadObject(v any) error {
	var line []byte
	for {
		part, err := s.in.ReadSlice('\n')
		line = append(line, part...)
		if len(line) > s.maxLine {
			return fmt.Errorf("a line is longer than %d bytes", s.maxLine)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if err != nil {
			return err
		}
		if s.events == nil || !bytes.HasPrefix(line, eventsPrefix) {
			return json.Unmarshal(line, v)
		}
		if err := s.events(line); err != nil {
			return err
		}
		line = line[:0]
	}
}

// WriteObject implements jsonrpc2.ObjectStream.
func (s *stream) WriteObject(v any) error {
	line, err := json.Marshal(v)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.conn.SetWriteDeadline(time.Now().Add(writeTimeout)); err != nil {
		return err
	}
	_, err = s.conn.Write(append(line, '\n'))
	return err
}

func (s *stream) Close() error { return s.conn.Close() }

// quiet discards the log of jsonrpc2, which is about answers that nothing waits for.
type quiet struct{}

func (quiet) Printf(string, ...any) {}

// dial returns a connection of jsonrpc2.
func dial(s *stream, h jsonrpc2.Handler) *jsonrpc2.Conn {
	return jsonrpc2.NewConn(context.Background(), s, h, jsonrpc2.SetLogger(quiet{}))
}
