package bridge

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
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

// stream is the pipe of both ends: one JSON object per line. It counts and skips lines that are not messages, queues
// writes under a deadline, and passes messages to its peer. The reading goroutine passes on events, and so before any
// message that was read later.
type stream struct {
	rwc     io.ReadWriteCloser
	lines   *jsonl.LineReader
	out     *writer
	log     *slog.Logger
	stray   atomic.Int64        // lines that were not messages
	strict  atomic.Bool         // on another host: endless lines and unnumbered events are refused
	onEvent func(params []byte) // nil: there are none in this direction
	p       *peer
	// halfOpen leaves the connection open for writing when reading has ended.
	halfOpen bool

	reading  context.Context // ends when nothing more will be read; readErr says why
	endRead  context.CancelFunc
	readErr  error
	readDone chan struct{}
	open     context.Context // ended by fail; its cause says why
	end      context.CancelCauseFunc
	closed   chan struct{} // closed when rwc is
}

func newStream(rwc io.ReadWriteCloser, log *slog.Logger, o peerOptions, p *peer) *stream {
	s := &stream{rwc: rwc, log: log, onEvent: o.onEvent, p: p, halfOpen: o.halfOpen, readDone: make(chan struct{}),
		closed: make(chan struct{})}
	s.lines = jsonl.NewLineReader(&lineGuard{r: rwc, strict: &s.strict}, maxLine)
	s.reading, s.endRead = context.WithCancel(context.Background())
	s.open, s.end = context.WithCancelCause(context.Background())
	s.out = newWriter(rwc, o.writeTimeout, maxBacklog, s.fail)
	return s
}

// start starts reading and writing. wait waits for both to end.
func (s *stream) start() {
	go s.read()
	go s.out.run()
	go func() {
		<-s.open.Done()
		_ = s.rwc.Close() // which may take as long as ending a process
		close(s.closed)
	}()
}

// fail ends the connection. It never blocks, and only its first call has an effect.
func (s *stream) fail(cause error) {
	s.end(cause)
	s.out.close()
}

// cause returns why the connection ended; nil while it has not.
func (s *stream) cause() error { return context.Cause(s.open) }

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
	noID := jsonl.IsNull(env.ID)
	method, _ := jsonl.String(env.Method)
	switch {
	case err != nil && env.Method != nil && !noID:
		s.refuse(env.ID, line, err.Error())
	case err != nil:
		s.skip(line, err.Error())
	case env.answer() && env.Method == nil:
		id, err := jsonl.String(env.ID)
		if err != nil {
			s.skip(line, "an answer without a string id belongs to no request")
			return
		}
		s.p.answered(id, env)
	case noID && method == "":
		s.skip(line, "it is no message")
	case noID && method == MethodEvent && s.onEvent != nil:
		s.onEvent(env.Params)
	case noID:
		s.p.notified(method, env.Params)
	case !validID(env.ID) || method == "" || env.answer():
		s.refuse(env.ID, line, "method must be a string, id a string or a natural number")
	default:
		s.p.handle(method, env)
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
	quoted, _ := json.Marshal("invalid request: " + why) // a string always encodes
	s.out.push(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%s}}`+"\n", id,
		jsonrpc2.CodeInvalidRequest, quoted))
}

// send queues a message. It never waits for the peer.
func (s *stream) send(m outgoing) error {
	m.Version = "2.0"
	line, err := jsonl.Marshal(m)
	if err != nil {
		return fmt.Errorf("write message: %w", err)
	}
	if !s.out.push(append(line, '\n')) {
		return s.p.closedError()
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
