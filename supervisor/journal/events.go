package journal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"time"
)

const (
	// eventSync is how long lines of the event log may wait for their fsync, and eventBuffer how many bytes of
	// them are kept until they are durable.
	eventSync   = time.Second
	eventBuffer = 4 << 20
)

// eventFile is the event log of a run, open for appending. Everything that is not durable yet stays in memory:
// the pages that a failed fsync did not write look clean afterwards, so everything since the last good fsync is
// written again.
type eventFile struct {
	dir     directory
	f       file
	durable LogPosition // up to here the file is certainly on disk
	chain   LogChain    // at the last line in lines
	lines   []byte      // after durable
	written int         // how many bytes of lines were written
	failed  bool        // the last fsync
	left    bool        // bytes after written may be what a failed write or fsync left
	torn    int64       // bytes after written that do not count, until again is called

	packed   *packedFile // nil before there is something to pack
	unpacked bool        // packing failed: see pack
}

func (e *eventFile) end() int64 { return e.durable.Offset + int64(e.written) }

// write appends lines to the file; without any, it writes those that an earlier call could not write.
func (e *eventFile) write(lines []byte, chain LogChain) error {
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
		// The next try overwrites what was written; cutting it off frees the space.
		e.left = e.f.Truncate(e.end()) != nil
		return err
	}
	e.written += n
	return nil
}

// sync makes all lines durable.
func (e *eventFile) sync() error {
	if err := e.write(nil, LogChain{}); err != nil || len(e.lines) == 0 {
		return err
	}
	if err := e.dir.Holds(LogName, e.f); err != nil {
		return err
	}
	crash("journal.events.sync.before")
	if err := e.f.Sync(); err != nil {
		e.written, e.failed, e.left = 0, true, true
		return err
	}
	e.failed = false
	crash("journal.events.sync.after")
	e.durable = LogPosition{Offset: e.end(), Prev: e.chain}
	e.lines, e.written = e.lines[:0], 0
	if cap(e.lines) > 2*eventBuffer {
		e.lines = nil
	}
	return nil
}

// alone fails once if the file has another length than this process wrote. It cuts off bytes that other
// processes added at the end. If another process has cut off durable lines, they are lost, and the log
// continues after the rest.
func (e *eventFile) alone() error {
	info, err := e.f.Stat()
	if err != nil {
		return err
	}
	switch n := info.Size - e.end(); {
	case n > 0 && e.left:
		if err := e.f.Truncate(e.end()); err != nil {
			return err
		}
	case n > 0:
		err := fmt.Errorf("%w: %d bytes were added to %s", ErrForeignWrite, n, LogName)
		return errors.Join(err, e.f.Truncate(e.end()))
	case n < 0:
		e.durable.Offset, e.written = min(e.durable.Offset, info.Size), 0
		return errors.Join(fmt.Errorf("%w: %d bytes were cut off %s", ErrForeignWrite, -n, LogName),
			e.f.Truncate(e.durable.Offset))
	}
	e.left = false
	return nil
}

// unknownEnd means that it is not known up to where the log was durable.
var unknownEnd = LogPosition{Offset: -1}

// openEvents opens the event log of a run, or creates it if it is missing. from is a place up to which the log
// was durable, and upTo the last input that exists. Good lines after from are passed to each, and written again
// with the next lines. What follows them is cut off: either a crash left it, and it can be made again from the
// inputs, or its input is lost.
func openEvents(dir directory, from LogPosition, upTo uint64,
	each func(LogEntry)) (*eventFile, []Damage, error) {
	f, err := dir.Open(LogName, openLock)
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

func (e *eventFile) recover(from LogPosition, upTo uint64,
	each func(LogEntry)) (damage []Damage, err error) {
	info, err := e.f.Stat()
	if err != nil {
		return nil, err
	}
	if info.Size < from.Offset {
		damage = append(damage, Damage{
			Segment: LogName, Offset: info.Size,
			Reason: fmt.Sprintf("it has %d bytes, and had %d", info.Size, from.Offset),
		})
		from = unknownEnd
	}
	// After from, only an unbroken sequence of good lines counts. If from is not known, damage is skipped,
	// since it may be old, and all lines are taken as durable.
	known := from != unknownEnd
	from.Offset = max(from.Offset, 0)
	e.durable, e.chain = from, from.Prev
	next := from
	source := &logFile{file: e.f, dir: e.dir}
	defer source.forget()
	_, err = NewLog(source).Each(context.Background(), from, func(x LogEntry) error {
		if known && x.Position != next || x.Input > upTo {
			return errLastLine
		}
		next = x.Next()
		e.chain = next.Prev
		if known {
			line := make([]byte, next.Offset-x.Position.Offset)
			if _, err := source.ReadAt(line, x.Position.Offset); err != nil {
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

// again cuts off what does not count, writes the lines that were found after the durable place again, together
// with those added since, and makes everything durable: the last fsync may have failed before the process could
// report it.
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

// cut cuts off what is after the last good line. If that is more than a torn line, it saves a copy.
func (e *eventFile) cut() (damage []Damage, err error) {
	d := Damage{Segment: LogName, Offset: e.end(), Bytes: e.torn, Reason: "the lines at its end are damaged",
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

// close closes the files of the log.
func (e *eventFile) close() error {
	err := e.f.Close()
	if e.packed != nil {
		err = errors.Join(err, e.packed.f.Close())
	}
	return err
}
