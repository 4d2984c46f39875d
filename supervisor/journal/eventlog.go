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
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"strconv"
	"time"
)

// MaxLine bounds a line, in bytes: an input of the journal, with every byte escaped, and the members around it.
// A longer line is damage.
const MaxLine = 6*16<<20 + 1<<10

// MaxHead bounds the bytes of a line besides its event or record.
const MaxHead = 128

// LogChain is what the next line is chained to: the number and sum of the line before it. The zero Chain is that
// of an empty file.
type LogChain struct {
	N   uint64
	Sum uint32
}

// LogContent is what a line holds. One of Line and Record is a JSON object, the other nil.
type LogContent struct {
	Input  uint64 // the number of the journal's input it follows from; 0: none
	At     time.Time
	Line   json.RawMessage // an event, as contract.EncodeLine returns it; a line feed at its end is left out
	Record json.RawMessage
}

// LogEntry is a line of the log.
type LogEntry struct {
	N uint64
	LogContent
	Position LogPosition // where it begins
	Size     int         // of the line, in bytes, without its line feed
	Sum      uint32      // of the line
}

// Next is where the next line begins.
func (e LogEntry) Next() LogPosition {
	return LogPosition{Offset: e.Position.Offset + int64(e.Size) + 1, Prev: LogChain{N: e.N, Sum: e.Sum}}
}

const (
	sumPrefix = `{"sum":"`
	sumEnd    = len(sumPrefix) + 8 + len(`"`) // the checksummed bytes begin here
)

// Append adds a line to dst and advances the chain. An error is a fault of the caller; dst and the chain are
// then unchanged.
func (c *LogChain) Append(dst []byte, x LogContent) ([]byte, error) {
	name, object := "line", bytes.TrimSuffix(x.Line, []byte("\n"))
	if x.Line == nil {
		name, object = "record", x.Record
	} else if x.Record != nil {
		return dst, errors.New("append to the event log: a line and a record at once")
	}
	if len(object) < 2 || object[0] != '{' || object[len(object)-1] != '}' || bytes.IndexByte(object, '\n') >= 0 {
		return dst, fmt.Errorf("append to the event log: the %s is not a JSON object on one line", name)
	}
	if y := x.At.Year(); y < 1678 || y > 2261 {
		return dst, fmt.Errorf("append to the event log: the year %d has no Unix time in nanoseconds", y)
	}
	start := len(dst)
	dst = append(dst, sumPrefix+`00000000"`...)
	dst = strconv.AppendUint(append(dst, `,"n":`...), c.N+1, 10)
	dst = strconv.AppendUint(append(dst, `,"input":`...), x.Input, 10)
	dst = strconv.AppendInt(append(dst, `,"at":`...), x.At.UnixNano(), 10)
	dst = append(append(append(dst, `,"`...), name...), `":`...)
	dst = append(append(dst, object...), '}')
	if len(dst)-start > MaxLine {
		return dst[:start], fmt.Errorf("append to the event log: a line of %d bytes is too long", len(dst)-start)
	}
	sum := crc32.Update(c.Sum, castagnoli(), dst[start+sumEnd:])
	var bytesOfSum [4]byte
	binary.BigEndian.PutUint32(bytesOfSum[:], sum)
	hex.Encode(dst[start+len(sumPrefix):], bytesOfSum[:])
	*c = LogChain{N: c.N + 1, Sum: sum}
	return append(dst, '\n'), nil
}

var (
	errForm  = errors.New("it is not in the form of a line")
	errSum   = errors.New("its checksum does not match")
	errCount = errors.New("lines before it are missing, repeated or out of order")
	errLong  = errors.New("it is too long")
)

// statedSum is the sum that a line states, whether or not it is right.
func statedSum(line []byte) (uint32, bool) {
	if len(line) < sumEnd || string(line[:len(sumPrefix)]) != sumPrefix || line[sumEnd-1] != '"' {
		return 0, false
	}
	var sum [4]byte
	digits := line[len(sumPrefix) : sumEnd-1]
	if _, err := hex.Decode(sum[:], digits); err != nil || bytes.ContainsAny(digits, "ABCDEF") {
		return 0, false
	}
	return binary.BigEndian.Uint32(sum[:]), true
}

// ParseLine reads a line, without its line feed, that follows one with the sum prev. The entry's content is part of
// the line. ParseLine does not set the entry's position.
func ParseLine(line []byte, prev uint32) (LogEntry, error) {
	sum, ok := statedSum(line)
	if !ok {
		return LogEntry{}, errForm
	}
	if crc32.Update(prev, castagnoli(), line[sumEnd:]) != sum {
		return LogEntry{}, errSum
	}
	// The sum proves that Append has written it: it has the form that Append gives it, and holds a JSON object.
	n, rest, numbered := cutNumber(line[sumEnd:], `,"n":`)
	input, rest, caused := cutNumber(rest, `,"input":`)
	at, rest, dated := cutNumber(rest, `,"at":`)
	object, event := bytes.CutPrefix(rest, []byte(`,"line":`))
	object, record := bytes.CutPrefix(object, []byte(`,"record":`))
	last := len(object) - 1
	if !numbered || !caused || !dated || event == record || last < 2 || object[0] != '{' || object[last-1] != '}' ||
		object[last] != '}' {
		return LogEntry{}, errForm
	}
	e := LogEntry{N: uint64(n), Size: len(line), Sum: sum}
	e.Input, e.At = uint64(input), time.Unix(0, at)
	if object = object[:last:last]; event {
		e.Line = object
	} else {
		e.Record = object
	}
	return e, nil
}

// cutNumber cuts a member off the front of a line.
func cutNumber(b []byte, member string) (n int64, rest []byte, ok bool) {
	b, ok = bytes.CutPrefix(b, []byte(member))
	end := max(bytes.IndexByte(b, ','), 0)
	n, err := strconv.ParseInt(string(b[:end]), 10, 64)
	return n, b[end:], ok && err == nil
}

// LogName is the name of the file in the directory of a run.
const LogName = "events.ndjson"

// LogSource is a log's file, for example an *os.File through [OpenLog]; it may grow while it is read.
type LogSource interface {
	io.ReaderAt
	io.Closer
	Size() (int64, error)
}

// EventLog reads a log, even while it is being written. It takes no lock and starts no goroutine; any number of
// goroutines may use one.
type EventLog struct{ source LogSource }

// NewLog reads a source, which Close closes.
func NewLog(s LogSource) *EventLog { return &EventLog{s} }

// OpenLog opens the log at a path. The caller must ensure that no other user created it.
func OpenLog(path string) (*EventLog, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	return NewLog(sized{f}), nil
}

type sized struct{ *os.File }

func (s sized) Size() (int64, error) {
	info, err := s.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// ReadAt reads raw bytes of the file, for callers that search many lines; [ParseLine] verifies what they find.
func (l *EventLog) ReadAt(p []byte, off int64) (int, error) { return l.source.ReadAt(p, off) }

// Size is the present size of the file.
func (l *EventLog) Size() (int64, error) { return l.source.Size() }

// Close closes the file.
func (l *EventLog) Close() error { return l.source.Close() }

// LogPosition is where a line begins, with what is needed to verify it. The zero Position is the beginning of the
// log.
type LogPosition struct {
	Offset int64
	Prev   LogChain // of the line before it
}

// LogHealth is what reading a log has found.
type LogHealth struct {
	Next   LogPosition // after the last good line: where to continue, and where the next line is written
	Damage []LogDamage // what cannot be read, and has good lines after it
	Torn   int64       // bytes after Next: a torn end, or a line that is being written
}

// LogDamage is a place in a log where something is wrong.
type LogDamage struct {
	Offset int64
	Reason string
}

func (d LogDamage) String() string { return fmt.Sprintf("%s at %d: %s", LogName, d.Offset, d.Reason) }

// MaxDamage bounds the list of damage.
const MaxDamage = 100

// At reads the entry at a position. The caller owns its content.
func (l *EventLog) At(p LogPosition) (LogEntry, error) {
	for n := 4 << 10; ; n *= 4 {
		b := make([]byte, min(n, MaxLine+1))
		got, err := l.source.ReadAt(b, p.Offset)
		if end := bytes.IndexByte(b[:got], '\n'); end >= 0 {
			e, err := ParseLine(b[:end:end], p.Prev.Sum)
			if err != nil {
				return e, failed(p.Offset, err)
			}
			e.Position = p
			return e, nil
		}
		if err == nil && len(b) > MaxLine {
			err = errLong
		}
		if err != nil {
			return LogEntry{}, failed(p.Offset, err)
		}
	}
}

func failed(offset int64, err error) error {
	return fmt.Errorf("read %s at %d: %w", LogName, offset, err)
}

// ErrEnough ends [EventLog.Each] before the current entry.
var ErrEnough = errors.New("enough of the log was read")

// Each passes the entries from a position on to each, oldest first. It skips damage and reports it in Health.
// It reads as far as the file reached when it began, and stops early with the error of each, or of ctx, or without
// one before the entry for which each returns [ErrEnough]; Health is then about what was read. An entry's content
// is valid only during the call that receives it.
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
		if err := each(e); errors.Is(err, ErrEnough) {
			h.Next = e.Position
			return h, nil
		} else if err != nil {
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

// Recent returns where the last lines begin that are together longer than most bytes, or the beginning of a log that is
// not longer.
func (l *EventLog) Recent(ctx context.Context, most int64) (from LogPosition, err error) {
	size, err := l.source.Size()
	if err != nil || size <= most {
		return from, err
	}
	err = l.Backward(ctx, from, func(e LogEntry) bool {
		from = e.Position
		return size-from.Offset <= most
	})
	return from, err
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
