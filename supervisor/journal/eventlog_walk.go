package journal

// This part of the package is the format and reader of events.ndjson, the file in a run's directory that
// contains all events that the frontends received. The file is only ever appended to. Replay, audit,
// explanations of decisions, search and scroll-back read this file; they need neither the journal nor the
// core.
//
// # Lines
//
// A line is one JSON object in exactly this form, without spaces:
//
//	{"sum":"1a2b3c4d","n":17,"input":42,"at":1772366400000000000,"line":{…}}
//	{"sum":"5e6f7a8b","n":18,"input":42,"at":1772366400000000000,"record":{"kind":"audit",…}}
//
// `line` is an event as `arbiter --json` prints it (contract.EncodeLine, without the line feed). Its `seq`
// counts the events of the file since the last `session` event, which has number 1: each process that runs a
// run counts its own. `record` is what no frontend receives, see below. `n` counts lines from 1. `input` is the
// number of the journal's input that the line follows from; 0: the loop wrote the line without an input. `at`
// is the time of that input, or of the line, as Unix time in nanoseconds.
//
// # Records
//
// `kind` is the type of a record. Records and events are in order of time: an input comes before its effects.
//
//   - origin: `by` (an agent's id, human, supervisor, unknown), and where there is one,
//     `session`, `generation` and `channel`: whom the input is from. It precedes the
//     first line of an input that an audit reports, and applies to all its lines.
//   - audit: `what` happened or was done, `about` which agent, and `detail`: strings, whole
//     numbers, booleans, lists of strings, and objects {"text":"…"} for text that a person
//     or an agent wrote. What an event reports (a message, a permission, a result) is not repeated.
//   - decision: `decided` is a complete input.Decided: point, input, prompt, answer.
//     `unused` marks one that came too late.
//   - shelved: `message_ids` of messages that became part of a decision before the Arbiter read them.
//
// A reader skips unknown kinds.
//
// # Purpose of the checksum
//
// `sum` is the CRC-32C of the line's bytes after it up to the closing brace, seeded with the sum in the line
// before (the first: with 0). It detects damage by the disk, lines that are missing, repeated or out of order,
// and an end that a crash tore. It does not protect against people: anyone who can write to the file can
// compute it again.
//
// A line that does not fit is skipped, and reported as damage if good ones follow. If its sum or its line feed
// is damaged, the line after it cannot be verified, either. What follows the last good line is the torn end: a
// crash leaves one, and so does reading while the last line is being written. It is not damage, and the next
// writer cuts it off: it contains nothing that was made durable, or it can be made again from the journal.

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
)

// Each passes the entries from a position on to each, oldest first. It skips damage and reports it in Health.
// It reads as far as the file reached when it began, and stops early with the error of each, or of ctx; Health
// is then about what was read. An entry's content is valid only during the call that receives it.
func (l *EventLog) Each(ctx context.Context, from LogPosition, each func(LogEntry) error) (LogHealth, error) {
	h := LogHealth{Next: from}
	size, err := l.source.Size()
	if err == nil && size < from.Offset {
		err = fmt.Errorf("it has %d bytes and is shorter than it was", size)
	}
	if err != nil {
		return h, failed(from.Offset, err)
	}
	room := min(size-from.Offset, 256<<10) // small, for following a log as it grows
	in := bufio.NewReaderSize(io.NewSectionReader(l.source, from.Offset, size-from.Offset), int(room))
	var (
		buf    []byte
		at     = from
		faulty []LogDamage // after the last good line
	)
	for ctx.Err() == nil {
		var line []byte
		var length int64
		line, length, buf, err = nextLine(in, buf[:0])
		if errors.Is(err, io.EOF) {
			h.Torn = size - h.Next.Offset
			return h, nil
		}
		if err != nil && !errors.Is(err, errLong) {
			return h, failed(at.Offset, err)
		}
		next := at
		next.Offset += length
		next.Prev.Sum, _ = statedSum(line) // right or not: the next line was chained to this one
		var e LogEntry
		if err == nil {
			e, err = ParseLine(line, at.Prev.Sum)
		}
		if err == nil && e.N <= at.Prev.N {
			err = errCount
		}
		if err != nil {
			if len(faulty)+len(h.Damage) < MaxDamage {
				faulty = append(faulty, LogDamage{at.Offset, err.Error()})
			}
			at = next
			continue
		}
		e.Position = LogPosition{Offset: at.Offset, Prev: LogChain{N: e.N - 1, Sum: at.Prev.Sum}}
		next.Prev.N = e.N
		h.Damage, faulty = append(h.Damage, faulty...), faulty[:0]
		at, h.Next = next, next
		if err := each(e); err != nil {
			return h, err
		}
	}
	return h, ctx.Err()
}

// nextLine reads a line, without its line feed, and returns its length with the line feed. A part of a line at
// the end is io.EOF. Of a line that is too long only the beginning is read.
func nextLine(in *bufio.Reader, buf []byte) (line []byte, length int64, grown []byte, err error) {
	for {
		part, err := in.ReadSlice('\n')
		length += int64(len(part))
		whole := err == nil
		if whole && length == int64(len(part)) {
			return part[:len(part)-1], length, buf, nil // the common case: nothing is copied
		}
		if len(buf) <= MaxLine {
			buf = append(buf, part...)
		}
		switch {
		case whole && length-1 > MaxLine:
			return buf, length, buf, errLong
		case whole:
			return buf[:length-1], length, buf, nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, length, buf, err
		}
	}
}

// backChunk is how much is read at once going backward.
const backChunk = 64 << 10

// Backward passes the entries before a position to each, newest first, until it returns false; the zero
// Position is the end of the file. It skips damage and a torn end. An entry's content is valid only during the
// call that receives it.
func (l *EventLog) Backward(ctx context.Context, before LogPosition, each func(LogEntry) bool) error {
	in := backReader{source: l.source, start: before.Offset}
	if before.Offset == 0 {
		if err := in.begin(l.source.Size); err != nil {
			return err
		}
	}
	lowest := ^uint64(0)
	line, at, err := in.line()
	for err == nil && ctx.Err() == nil {
		var prev uint32
		older, olderAt, olderErr := in.line()
		if olderErr == nil {
			prev, _ = statedSum(older)
		}
		if e, err := ParseLine(line, prev); err == nil && e.N < lowest {
			lowest = e.N
			e.Position = LogPosition{Offset: at, Prev: LogChain{N: e.N - 1, Sum: prev}}
			if !each(e) {
				return nil
			}
		}
		line, at, err = older, olderAt, olderErr
	}
	if err == nil || errors.Is(err, io.EOF) {
		return ctx.Err()
	}
	return err
}

// backReader reads lines from the end to the beginning.
type backReader struct {
	source io.ReaderAt
	start  int64  // where buf begins in the file
	buf    []byte // read and not returned yet; it ends with a line
}

// begin moves to the end of the last whole line.
func (b *backReader) begin(size func() (int64, error)) (err error) {
	if b.start, err = size(); err != nil {
		return failed(0, err)
	}
	for {
		if i := bytes.LastIndexByte(b.buf, '\n'); i >= 0 || b.start == 0 {
			b.buf = b.buf[:i+1]
			return nil
		}
		if err := b.more(); err != nil {
			return err
		}
	}
}

// line returns the last line, without its line feed; its bytes stay valid.
func (b *backReader) line() (line []byte, at int64, err error) {
	for {
		if n := len(b.buf); n > 0 {
			if i := bytes.LastIndexByte(b.buf[:n-1], '\n'); i >= 0 || b.start == 0 {
				line, b.buf = b.buf[i+1:n-1:n-1], b.buf[:i+1]
				return line, b.start + int64(i) + 1, nil
			}
		}
		if b.start == 0 {
			return nil, 0, io.EOF
		}
		if err := b.more(); err != nil {
			return nil, 0, err
		}
	}
}

// more reads what is before buf: as much as buf holds, so that a long line is not copied often.
func (b *backReader) more() error {
	if len(b.buf) > MaxLine {
		return failed(b.start, errLong)
	}
	n := min(b.start, int64(max(backChunk, len(b.buf))))
	buf := make([]byte, n, n+int64(len(b.buf)))
	if _, err := b.source.ReadAt(buf, b.start-n); err != nil {
		return failed(b.start-n, err)
	}
	b.buf, b.start = append(buf, b.buf...), b.start-n
	return nil
}
