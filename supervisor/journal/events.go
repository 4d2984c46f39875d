package journal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"time"

	"github.com/arbiter-cli/arbiter/supervisor/journal/eventlog"
)

const (
	// eventSync is how long the disk may take its time with lines of the event log, and
	// eventBuffer how many bytes of them are kept until they are durable.
	eventSync   = time.Second
	eventBuffer = 4 << 20
)

// eventFile is the event log of a run, open for adding to. All that is not durable yet stays
// in memory: the pages that a failed fsync did not write look clean from then on, so that
// all of it is written anew.
type eventFile struct {
	dir     directory
	f       file
	durable eventlog.Position // where the file ends for certain
	chain   eventlog.Chain    // of the last line in lines
	lines   []byte            // behind durable
	written int               // of lines, bytes that were written
	failed  bool              // the last fsync
	torn    int64             // bytes behind written that do not count, until again
}

// add takes lines in that are to be written by again.
func (e *eventFile) add(lines []byte, chain eventlog.Chain) {
	e.lines, e.chain = append(e.lines, lines...), chain
}

func (e *eventFile) end() int64 { return e.durable.Offset + int64(e.written) }

// write adds lines to the file; without any, those that an earlier call could not.
func (e *eventFile) write(lines []byte, chain eventlog.Chain) error {
	if len(lines) > 0 {
		e.lines, e.chain = append(e.lines, lines...), chain
	}
	if e.written == len(e.lines) {
		return nil
	}
	if err := e.alone(); err != nil {
		return err
	}
	crash("journal.events.write.before")
	n, err := e.f.WriteAt(e.lines[e.written:], e.end())
	if err != nil {
		// What got through is overwritten by the next try; to cut it off gives room back.
		_ = e.f.Truncate(e.end())
		return err
	}
	e.written += n
	return nil
}

// sync makes all lines durable.
func (e *eventFile) sync() error {
	if err := e.write(nil, eventlog.Chain{}); err != nil || len(e.lines) == 0 {
		return err
	}
	if err := e.dir.Holds(eventlog.Name, e.f); err != nil {
		return err
	}
	crash("journal.events.sync.before")
	if err := e.f.Sync(); err != nil {
		e.written, e.failed = 0, true
		return err
	}
	e.failed = false
	crash("journal.events.sync.after")
	e.durable = eventlog.Position{Offset: e.end(), Prev: e.chain}
	e.lines, e.written = e.lines[:0], 0
	if cap(e.lines) > 2*eventBuffer {
		e.lines = nil
	}
	return nil
}

// alone fails once if the file has another length than this process wrote. It cuts off text of other processes
// behind the end. If another process has cut off durable lines, they are gone, and
// the log continues behind the rest.
func (e *eventFile) alone() error {
	info, err := e.f.Stat()
	if err != nil {
		return err
	}
	switch n := info.Size - e.end(); {
	case n > 0:
		err := fmt.Errorf("%w: %d bytes were added to %s", ErrForeignWrite, n, eventlog.Name)
		return errors.Join(err, e.f.Truncate(e.end()))
	case n < 0:
		e.durable.Offset, e.written = min(e.durable.Offset, info.Size), 0
		return errors.Join(fmt.Errorf("%w: %d bytes were cut off %s", ErrForeignWrite, -n, eventlog.Name),
			e.f.Truncate(e.durable.Offset))
	}
	return nil
}

// unknownEnd is in the place of where the log was durable once.
var unknownEnd = eventlog.Position{Offset: -1}

// openEvents opens the event log of a run, or makes it where it is missing. From is a place up
// to which it was durable once, and upTo the last input that is left. Good lines behind that
// place are handed to each, and written anew with the next ones. What follows them is cut off:
// a crash left it, and it can be made again from the inputs; or the input that it follows
// from is lost.
func openEvents(dir directory, from eventlog.Position, upTo uint64,
	each func(eventlog.Entry)) (*eventFile, []Damage, error) {
	f, err := dir.Open(eventlog.Name, openLock)
	if err != nil {
		return nil, nil, err
	}
	e := &eventFile{dir: dir, f: f}
	damage, err := e.recover(from, upTo, each)
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return e, damage, nil
}

var errLastLine = errors.New("the lines behind it do not count")

func (e *eventFile) recover(from eventlog.Position, upTo uint64,
	each func(eventlog.Entry)) (damage []Damage, err error) {
	info, err := e.f.Stat()
	if err != nil {
		return nil, err
	}
	if info.Size < from.Offset {
		damage = append(damage, Damage{
			Segment: eventlog.Name, Offset: info.Size,
			Reason: fmt.Sprintf("it has %d bytes, and had %d", info.Size, from.Offset),
		})
		from = unknownEnd
	}
	// Behind from only good lines in one piece count. Where from is not known damage is passed
	// over, which may be an old one, and all lines are taken as durable.
	known := from != unknownEnd
	from.Offset = max(from.Offset, 0)
	e.durable, e.chain = from, from.Prev
	next := from
	_, err = eventlog.New(sizedFile{e.f}).Each(context.Background(), from, func(x eventlog.Entry) error {
		if known && x.Position != next || x.Input > upTo {
			return errLastLine
		}
		next = x.Next()
		e.chain = next.Prev
		if known {
			line := make([]byte, next.Offset-x.Position.Offset)
			if _, err := e.f.ReadAt(line, x.Position.Offset); err != nil {
				return err
			}
			e.lines = append(e.lines, line...)
		} else {
			e.durable = next
		}
		each(x)
		return nil
	})
	if err != nil && !errors.Is(err, errLastLine) {
		return damage, err
	}
	e.written, e.torn = len(e.lines), info.Size-next.Offset
	return damage, nil
}

// again cuts off what does not count, writes what was found behind the place that was durable
// anew, with what was added since, and makes all durable: the last fsync may have failed before
// the process could tell.
func (e *eventFile) again() (damage []Damage, err error) {
	if e.torn > 0 {
		if damage, err = e.cut(); err != nil {
			return damage, err
		}
	}
	if len(e.lines) == 0 {
		return damage, e.f.Sync()
	}
	crash("journal.events.again.before")
	if _, err := e.f.WriteAt(e.lines, e.durable.Offset); err != nil {
		return damage, err
	}
	e.written = len(e.lines)
	return damage, e.sync()
}

// cut takes off what is behind the last good line. Where it holds more than a torn line, a
// copy is put aside.
func (e *eventFile) cut() (damage []Damage, err error) {
	d := Damage{Segment: eventlog.Name, Offset: e.end(), Bytes: e.torn, Reason: "the lines at its end are damaged",
		Torn: true}
	tail := make([]byte, min(d.Bytes, maxAside))
	n, err := e.f.ReadAt(tail, d.Offset)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if bytes.IndexByte(tail[:n], '\n') >= 0 {
		if name, err := copyAside(e.dir, &d); err == nil {
			d.SetAside = name
		}
		damage = append(damage, d)
	}
	crash("journal.events.cut.before")
	return damage, e.f.Truncate(e.end())
}

type sizedFile struct{ file }

func (s sizedFile) Size() (int64, error) {
	info, err := s.Stat()
	return info.Size, err
}

// makeEvents makes the event log of a new run.
func makeEvents(dir directory) (*eventFile, error) {
	f, err := dir.Open(eventlog.Name, openCreate)
	if errors.Is(err, fs.ErrExist) {
		f, err = dir.Open(eventlog.Name, openWrite)
	}
	if err != nil {
		return nil, err
	}
	return &eventFile{dir: dir, f: f}, nil
}
