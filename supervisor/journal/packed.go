package journal

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"sync"
)

// PackedName is the name of the file, in the directory of a run, that holds the compressed beginning of a long event
// log.
const PackedName = "events.packed"

// packBlock is how many bytes of the log a block holds: a multiple of what a file system allocates at once. Tests use
// smaller ones.
var packBlock int64 = 256 << 10

// packMost bounds the blocks that are packed at once, since inputs wait meanwhile.
const packMost = 4

// packedHead is the size of a block's head: the size of its data.
const packedHead = 4

// packedFile holds the beginning of an event log in blocks: a head and packBlock bytes, compressed with DEFLATE. It has
// no checksums: each line has one.
type packedFile struct {
	f      file
	blocks []packedBlock
	end    int64 // of the last whole block
}

type packedBlock struct {
	at   int64 // of its data
	size uint32
}

// scan finds the blocks that were added since the last call.
func (p *packedFile) scan() error {
	info, err := p.f.Stat()
	if err != nil {
		return err
	}
	for p.end+packedHead < info.Size {
		var head [packedHead]byte
		if _, err := p.f.ReadAt(head[:], p.end); err != nil {
			return err
		}
		b := packedBlock{p.end + packedHead, binary.LittleEndian.Uint32(head[:])}
		if b.size == 0 || b.at+int64(b.size) > info.Size {
			return nil // it is being written, or a crash tore it
		}
		p.blocks, p.end = append(p.blocks, b), b.at+int64(b.size)
	}
	return nil
}

func (p *packedFile) read(n int) ([]byte, error) {
	b := p.blocks[n]
	data := make([]byte, b.size)
	if _, err := p.f.ReadAt(data, b.at); err != nil {
		return nil, err
	}
	block := make([]byte, packBlock)
	_, err := io.ReadFull(flate.NewReader(bytes.NewReader(data)), block)
	return block, err
}

// pack moves durable lines to the packed file, and gives their space in the log back to the file system. The log
// keeps its length: what is read there is zero, which no line contains, and [logFile] reads it from the packed file. At
// least a block stays as it is. After an error, or if the file system has no holes in files, the log stays unpacked
// until the run is opened again: only space is lost.
func (e *eventFile) pack() {
	for range packMost {
		if e.unpacked || e.durable.Offset < 2*packBlock {
			return
		}
		more, err := e.packOne()
		if e.unpacked = err != nil; !more {
			return
		}
	}
}

func (e *eventFile) packOne() (more bool, err error) {
	if e.packed == nil {
		if err := e.f.Free(e.durable.Offset+packBlock, packBlock); err != nil { // nothing is there: can it?
			return false, err
		}
		f, err := e.dir.Open(PackedName, openLock)
		if err != nil {
			return false, err
		}
		e.packed = &packedFile{f: f}
		if err := errors.Join(e.packed.scan(), e.dir.Sync()); err != nil {
			return false, err
		}
	}
	p := e.packed
	from := int64(len(p.blocks)) * packBlock
	if e.durable.Offset-from < 2*packBlock {
		return false, nil
	}
	block := make([]byte, packBlock)
	if _, err := e.f.ReadAt(block, from); err != nil {
		return false, err
	}
	out := bytes.NewBuffer(make([]byte, packedHead, packBlock/4))
	to, err := flate.NewWriter(out, flate.DefaultCompression)
	if err != nil {
		return false, err
	}
	if _, err := to.Write(block); err != nil {
		return false, err
	}
	if err := to.Close(); err != nil {
		return false, err
	}
	data := out.Bytes()
	b := packedBlock{p.end + packedHead, uint32(len(data) - packedHead)}
	binary.LittleEndian.PutUint32(data, b.size)
	crash("journal.events.pack.before")
	if _, err := p.f.WriteAt(data, p.end); err != nil {
		return false, errors.Join(err, p.f.Truncate(p.end))
	}
	if err := p.f.Sync(); err != nil {
		return false, err
	}
	p.blocks, p.end = append(p.blocks, b), b.at+int64(b.size)
	crash("journal.events.free.before")
	return true, e.f.Free(from, packBlock)
}

// logFile reads an event log: its file, and where that holds zeros, what was packed.
type logFile struct {
	file           // of the lines
	dir  directory // of the run

	mu     sync.Mutex
	packed *packedFile // nil until it is needed
	number int         // of block
	block  []byte      // the last one that was read
}

func (l *logFile) Size() (int64, error) {
	info, err := l.Stat()
	return info.Size, err
}

func (l *logFile) ReadAt(b []byte, at int64) (int, error) {
	n, err := l.file.ReadAt(b, at)
	if bytes.IndexByte(b[:n], 0) >= 0 {
		if err := l.fill(b[:n], at); err != nil {
			return 0, fmt.Errorf("read %s: %w", PackedName, err)
		}
	}
	return n, err
}

// wholeLog owns the directory, too.
type wholeLog struct{ *logFile }

func (l wholeLog) Close() error { return errors.Join(l.logFile.Close(), l.dir.Close()) }

// fill replaces zeros. Those that are in no good block stay: readers report such lines as damage.
func (l *logFile) fill(b []byte, at int64) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.packed == nil {
		f, err := l.dir.Open(PackedName, openRead)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		l.packed = &packedFile{f: f}
	}
	if at+int64(len(b)) > int64(len(l.packed.blocks))*packBlock {
		if err := l.packed.scan(); err != nil {
			return err
		}
	}
	for len(b) > 0 {
		n, off := int(at/packBlock), at%packBlock
		if n >= len(l.packed.blocks) {
			return nil
		}
		part := b[:min(int64(len(b)), packBlock-off)]
		b, at = b[len(part):], at+int64(len(part))
		if bytes.IndexByte(part, 0) < 0 {
			continue
		}
		if l.block == nil || l.number != n {
			block, err := l.packed.read(n)
			if err != nil {
				block = make([]byte, packBlock)
			}
			l.number, l.block = n, block
		}
		for i, c := range l.block[off : off+int64(len(part))] {
			if part[i] == 0 {
				part[i] = c
			}
		}
	}
	return nil
}

func (l *logFile) Close() error { return errors.Join(l.forget(), l.file.Close()) }

// forget closes the packed file alone.
func (l *logFile) forget() error {
	if l.packed == nil {
		return nil
	}
	return l.packed.f.Close()
}
