package control

import (
	"bufio"
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
	// maxLine bounds a line, either way. A command may hold a long text.
	maxLine = 4 << 20
	// writePatience is how long a peer may take nothing at all.
	writePatience = 30 * time.Second
)

// stream is the jsonrpc2.ObjectStream of both ends: one JSON object a line. What is no
// JSON object ends the connection.
type stream struct {
	conn net.Conn
	in   *bufio.Reader

	mu  sync.Mutex
	out []byte
}

func newStream(conn net.Conn) *stream {
	return &stream{conn: conn, in: bufio.NewReaderSize(conn, 64<<10)}
}

// ReadObject implements jsonrpc2.ObjectStream.
func (s *stream) ReadObject(v any) error {
	var line []byte
	for {
		part, err := s.in.ReadSlice('\n')
		line = append(line, part...)
		if len(line) > maxLine {
			return fmt.Errorf("a line is longer than %d bytes", maxLine)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if err != nil {
			return err
		}
		break
	}
	return json.Unmarshal(line, v)
}

// WriteObject implements jsonrpc2.ObjectStream.
func (s *stream) WriteObject(v any) error {
	line, err := json.Marshal(v)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.conn.SetWriteDeadline(time.Now().Add(writePatience)); err != nil {
		return err
	}
	s.out = append(append(s.out[:0], line...), '\n')
	_, err = s.conn.Write(s.out)
	return err
}

// Close implements io.Closer.
func (s *stream) Close() error { return s.conn.Close() }

// quiet takes jsonrpc2's own remarks, which are on answers nobody waits for.
type quiet struct{}

func (quiet) Printf(string, ...any) {}

// dial makes a connection of jsonrpc2's.
func dial(conn net.Conn, h jsonrpc2.Handler) *jsonrpc2.Conn {
	return jsonrpc2.NewConn(context.Background(), newStream(conn), h, jsonrpc2.SetLogger(quiet{}))
}
