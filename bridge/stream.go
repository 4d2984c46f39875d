package bridge

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"reflect"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sourcegraph/jsonrpc2"

	"github.com/arbiter-cli/arbiter/transcript/jsonl"
)

// ErrClosed is the error of calls after the connection has ended. The returned error
// wraps it together with the reason.
var ErrClosed = errors.New("bridge: connection closed")

var byteOrderMark = []byte("\xef\xbb\xbf")

// maxLine bounds one message. A base64 screenshot or a whole file in a tool's input takes megabytes; a
// longer line is a fault of the peer.
const maxLine = 64 << 20

// maxStray bounds the lines from another host that are not messages, such as the output of a login shell.
const maxStray = 1000

// closeWait bounds the wait for a goroutine that is blocked in a read or write of a closed pipe. Go
// unblocks it for every pollable file; only a file in blocking mode (see [Stdio]) can keep it blocked, and
// then the process is about to end.
const closeWait = 150 * time.Millisecond

// stream is the jsonrpc2.ObjectStream of both ends: one JSON object per line.
//
// jsonrpc2's own streams close the connection at the first line that is not JSON, block the caller of a
// write while the peer does not read, and complete call 0 with `"id":null` (observed with v0.2.3). This one
// counts and skips lines that are not messages, queues writes under a deadline, and passes on only
// responses with string ids, because our calls have only those.
//
// `event` notifications bypass jsonrpc2: it would parse each three times and reorder the members of its
// params. The reading goroutine passes them to onEvent, and so before any message that was read later.
type stream struct {
	rwc     io.ReadWriteCloser
	lines   *jsonl.LineReader
	out     *writer
	log     *slog.Logger
	stray   atomic.Int64        // lines that were not messages
	strict  atomic.Bool         // on another host: endless lines and unnumbered events are refused
	onEvent func(params []byte) // nil: there are none in this direction

	in     chan message // requests, responses, other notifications; unbuffered
	inject chan []byte  // responses made by peer.abandon; unbuffered
	// params are those of the request that ReadObject has returned last. They belong to the goroutine that
	// calls ReadObject, on which jsonrpc2 also handles requests.
	params json.RawMessage
	// halfOpen leaves the connection open for writing when reading has ended.
	halfOpen bool

	reading   context.Context // ends when nothing more will be read; readErr says why
	endRead   context.CancelFunc
	readErr   error
	readDone  chan struct{}
	failed    chan struct{} // closed by fail; cause says why
	cause     error
	failOnce  sync.Once
	closeOnce sync.Once
	closed    chan struct{} // closed when rwc is
}

func newStream(rwc io.ReadWriteCloser, log *slog.Logger, o peerOptions) *stream {
	s := &stream{
		rwc: rwc, log: log, onEvent: o.onEvent, halfOpen: o.halfOpen,
		in: make(chan message), inject: make(chan []byte),
		readDone: make(chan struct{}), failed: make(chan struct{}), closed: make(chan struct{}),
	}
	s.lines = jsonl.NewLineReader(&lineGuard{r: rwc, strict: &s.strict}, maxLine)
	s.reading, s.endRead = context.WithCancel(context.Background())
	s.out = newWriter(rwc, o.writeTimeout, maxBacklog, s.fail)
	return s
}

// start starts reading and writing. wait waits for both to end.
func (s *stream) start() {
	go s.read()
	go s.out.run()
}

// fail makes the next ReadObject return cause, whereupon jsonrpc2 closes the stream. It never blocks, and
// only its first call has an effect.
func (s *stream) fail(cause error) {
	s.failOnce.Do(func() {
		s.cause = cause
		close(s.failed)
		s.out.close()
	})
}

// Close closes the pipe, which may take as long as ending a process.
func (s *stream) Close() error {
	s.fail(ErrClosed)
	var err error
	s.closeOnce.Do(func() {
		err = s.rwc.Close()
		close(s.closed)
	})
	return err
}

// wait returns when the pipe is closed and both goroutines have ended.
func (s *stream) wait() {
	<-s.closed
	late := time.NewTimer(closeWait)
	defer late.Stop()
	for _, done := range []chan struct{}{s.readDone, s.out.done} {
		select {
		case <-done:
		case <-late.C:
			s.log.Warn("the pipe's goroutine is stuck in a blocking file and left behind")
			return
		}
	}
}

// read sorts lines until the pipe ends.
func (s *stream) read() {
	defer close(s.readDone)
	for {
		line, err := s.lines.NextOrLast()
		if err != nil {
			s.readErr = err
			if !s.halfOpen {
				s.fail(err)
			}
			s.endRead()
			return
		}
		if line.Oversize {
			s.skip(line.Data, fmt.Sprintf("longer than %d bytes", maxLine))
			continue
		}
		if message := bytes.TrimSpace(bytes.TrimPrefix(line.Data, byteOrderMark)); len(message) > 0 {
			s.sort(bytes.Clone(message)) // it is used longer than the reader's buffer
		}
	}
}

func (s *stream) sort(line []byte) {
	if params, ok := eventParams(line); ok && s.onEvent != nil {
		s.onEvent(params)
		return
	}
	env, err := readEnvelope(line)
	noID := len(env.ID) == 0 || string(env.ID) == "null"
	method, _ := jsonl.String(env.Method)
	switch {
	case err != nil && env.Method != nil && !noID:
		s.refuse(env.ID, line, err.Error())
	case err != nil:
		s.skip(line, err.Error())
	case env.answer() && env.Method == nil:
		if _, err := jsonl.String(env.ID); err != nil {
			s.skip(line, "an answer without a string id belongs to no request")
			return
		}
		s.deliver(message{line: line})
	case env.Method != nil && noID:
		if method == MethodEvent && s.onEvent != nil {
			s.onEvent(env.Params)
			return
		}
		s.deliver(env.request())
	default:
		if !validID(env.ID) || method == "" || env.answer() {
			s.refuse(env.ID, line, "method must be a string, id a string or a natural number")
			return
		}
		s.deliver(env.request())
	}
}

func (s *stream) deliver(m message) {
	select {
	case s.in <- m:
	case <-s.failed:
	}
}

// skip counts a line that is not a message. It logs the first ten, and later ones at growing intervals: a
// program that prints to this pipe often prints repeatedly.
func (s *stream) skip(line []byte, why string) {
	n, text := s.stray.Add(1), jsonl.Cut(string(line[:min(len(line), jsonl.ExcerptLen)]), 200)
	if n > maxStray && s.strict.Load() {
		s.fail(violation("it sent %d lines that are not messages, the last one: %q", n, text))
	}
	if n <= 10 || n&(n-1) == 0 {
		s.log.Warn("skipped a stray line", "count", n, "why", why, "line", text)
	}
}

// refuse skips a line that was meant as a request, and answers with an error: its sender would otherwise
// wait forever.
func (s *stream) refuse(id, line []byte, why string) {
	s.skip(line, why)
	if !json.Valid(id) || string(id) == "null" {
		return
	}
	s.out.push(append(madeUpAnswer(id, jsonrpc2.CodeInvalidRequest, "invalid request: "+why), '\n'))
}

// ReadObject passes the next message to jsonrpc2. A message that jsonrpc2 cannot decode is skipped like any
// other stray line, but its sender, or the caller that waits for it, gets an error.
func (s *stream) ReadObject(v any) error {
	decoded, ok := v.(json.Unmarshaler)
	if !ok {
		return fmt.Errorf("read message: cannot decode into %T", v)
	}
	for {
		m, err := s.nextMessage()
		if err != nil {
			return err
		}
		line := m.line
		err = decoded.UnmarshalJSON(line)
		if err == nil {
			s.params = m.params
			return nil
		}
		// What was decoded before the failure must not be mixed into the next message.
		reflect.ValueOf(v).Elem().SetZero()
		switch env, _ := readEnvelope(line); {
		case env.Method != nil:
			s.refuse(env.ID, line, err.Error())
		case json.Valid(line):
			s.skip(line, err.Error())
			s.params = nil
			return decoded.UnmarshalJSON(madeUpAnswer(env.ID, jsonrpc2.CodeInternalError,
				"the answer is not a JSON-RPC response"))
		default:
			s.skip(line, err.Error())
		}
	}
}

func (s *stream) nextMessage() (message, error) {
	select {
	case m := <-s.in:
		return m, nil
	case line := <-s.inject:
		return message{line: line}, nil
	case <-s.failed:
		return message{}, s.cause
	}
}

// WriteObject queues a message. It never waits for the peer.
func (s *stream) WriteObject(obj any) error {
	message, ok := obj.(json.Marshaler)
	if !ok {
		return fmt.Errorf("write message: cannot encode %T", obj)
	}
	line, err := message.MarshalJSON()
	if err != nil {
		return fmt.Errorf("write message: %w", err)
	}
	if bytes.IndexByte(line, '\n') >= 0 {
		var flat bytes.Buffer
		if err := json.Compact(&flat, line); err != nil {
			return fmt.Errorf("write message: %w", err)
		}
		line = flat.Bytes()
	}
	if !s.out.push(append(line, '\n')) {
		return s.cause
	}
	return nil
}

// lineGuard fails a reader whose lines have no end, if strict is set: otherwise the line reader would wait
// forever.
type lineGuard struct {
	r      io.Reader
	strict *atomic.Bool
	length int // of the current line
}

func (g *lineGuard) Read(b []byte) (int, error) {
	n, err := g.r.Read(b)
	if end := bytes.LastIndexByte(b[:n], '\n'); end >= 0 {
		g.length = n - end - 1
	} else {
		g.length += n
	}
	if err == nil && g.length > maxLine && g.strict.Load() {
		err = violation("it sent a line of more than %d bytes", maxLine)
	}
	return n, err
}
