package transcript

import (
	"bufio"
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/transcript/jsonl"
)

// benchFile writes lines of the given lengths, in turn, until size is reached.
func benchFile(b *testing.B, size int, lengths ...int) (path string, lines int) {
	b.Helper()
	path = filepath.Join(b.TempDir(), "s.jsonl")
	f, err := os.Create(path)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	w := bufio.NewWriterSize(f, 1<<20)
	for written := 0; written < size; lines++ {
		n := lengths[lines%len(lengths)]
		w.WriteString(`{"type":"`)
		w.Write(bytes.Repeat([]byte("x"), n-12))
		w.WriteString("\"}\n")
		written += n
	}
	if err := w.Flush(); err != nil {
		b.Fatal(err)
	}
	return path, lines
}

// mixed is about what lines of transcripts are: mostly short, some very long.
var mixed = []int{250, 700, 400, 1800, 300, 900, 250, 14_000, 600, 450, 1200, 180_000, 350, 800, 500, 2500}

// BenchmarkLines splits a file of 128 MB into lines, and has `wc -l` count them, by
// turns. The aim is at most 3 times wc's time.
func BenchmarkLines(b *testing.B) {
	for name, lengths := range map[string][]int{"mixed": mixed, "short": {120}} {
		path, want := benchFile(b, 128<<20, lengths...)
		info, _ := os.Stat(path)
		for _, way := range []struct {
			name  string
			count func(io.Reader) int
		}{{"splitter", countSplit}, {"ReadBytes", countReadBytes}} {
			b.Run(name+"/"+way.name, func(b *testing.B) {
				b.SetBytes(info.Size())
				var ours, wcs time.Duration
				for b.Loop() {
					begin := time.Now()
					f, err := os.Open(path)
					if err != nil {
						b.Fatal(err)
					}
					if n := way.count(f); n != want {
						b.Fatalf("%d lines of %d", n, want)
					}
					f.Close()
					ours += time.Since(begin)

					b.StopTimer()
					begin = time.Now()
					out, err := exec.Command("wc", "-l", path).Output()
					wcs += time.Since(begin)
					if n, _, _ := bytes.Cut(out, []byte(" ")); err != nil || string(n) != strconv.Itoa(want) {
						b.Fatalf("wc: %q, %v", out, err)
					}
					b.StartTimer()
				}
				b.ReportMetric(float64(info.Size())*float64(b.N)/wcs.Seconds()/1e6, "wc-MB/s")
				b.ReportMetric(float64(ours)/float64(wcs), "x_wc")
			})
		}
	}
}

func countSplit(r io.Reader) (n int) {
	for l := jsonl.NewLineReader(r, 0); ; n++ {
		if _, err := l.Next(); err != nil {
			return n
		}
	}
}

func countReadBytes(r io.Reader) (n int) {
	for br := bufio.NewReaderSize(r, 64<<10); ; n++ {
		if _, err := br.ReadBytes('\n'); err != nil {
			return n
		}
	}
}
