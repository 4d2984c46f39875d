package fakecli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
)

// pipes are those to the host, where a fault closes them.
type pipes struct{ stdin, stdout io.Closer }

// closePipe closes one; nil is left alone.
func closePipe(c io.Closer) {
	if c != nil {
		c.Close()
	}
}

// output wraps stdout with the faults that disturb it; each Write is one line.
func (f *faults) output(w io.Writer) io.Writer {
	if len(f.list) == 0 {
		return w
	}
	f.pipes.stdout, _ = w.(io.Closer)
	return &disturbed{w: w, f: f}
}

// input makes stdin such that a fault can close it under its reader.
func (f *faults) input(r io.Reader) io.Reader {
	file, ok := r.(*os.File)
	if !ok || !slices.ContainsFunc(f.list, func(x fault) bool { return x.name == "close-stdin" }) {
		return r
	}
	file = pollable(file)
	f.pipes.stdin = file
	return file
}

// deafReader is what a session reads from. Once the session is deaf, no line is read to its
// end that had not come whole: the host finds its pipe full, however few lines it sends.
type deafReader struct {
	r io.Reader
	f *faults
}

var errDeaf = errors.New("nothing more is read")

func (d deafReader) Read(p []byte) (int, error) {
	if d.f.deafened.Load() || d.f.deaf() {
		return 0, errDeaf
	}
	return d.r.Read(p)
}

// disturbed is stdout with faults.
type disturbed struct {
	w io.Writer
	f *faults
	n int
}

func (d *disturbed) Write(line []byte) (int, error) {
	if d.f.frozen.Load() {
		hang()
	}
	d.n++
	if d.f.lasting("garbage") {
		fmt.Fprintf(d.w, "stray output %d, no JSON\n\x00\x00\x00\n{\"type\":\n[1,2]\n", d.n)
	}
	if d.f.lasting("unknown-frames") {
		fmt.Fprintf(d.w, `{"type":"grease_%d","x":[null,{"y":1}]}`+"\n", d.n)
		fmt.Fprintf(d.w, `{"type":"system","subtype":"grease_%d"}`+"\n", d.n)
		if inner, ok := bytes.CutPrefix(line, []byte("{")); ok {
			line = append([]byte(`{"grease":{"depth":[1,"two",null]},`), inner...)
		}
	}
	piece := len(line)
	if d.f.lasting("split") {
		piece = 7
	}
	for part := range slices.Chunk(line, piece) {
		if _, err := d.w.Write(part); err != nil {
			return 0, err
		}
	}
	return len(line), nil
}
