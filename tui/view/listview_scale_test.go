package view

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/tui/render"
)

// endless is a source of any length that makes its blocks on request.
type endless struct {
	n    int
	laid int
	rows int // of a block
	head bool
}

func (e *endless) Len() int         { return e.n }
func (e *endless) Stamp(int) uint64 { return 0 }
func (e *endless) Tail(int) []Block { return nil }
func (e *endless) Block(i, width int, _ bool) Block {
	e.laid++
	b := Block{Gutter: render.SpeakerOrch1}
	if e.head {
		b.Head = speaker("Orchestrator I", "12:00")
	}
	for row := range e.rows {
		b.Lines = append(b.Lines,
			render.Of(render.Base, fmt.Sprintf("block %d, row %d, and some text that fills the row", i, row)))
	}
	return b
}

// TestMillion: the cost of a movement depends on the window, not on the length.
func TestMillion(t *testing.T) {
	const n = 1_000_000
	src := &endless{n: n, rows: 1}
	st := newStage(t, 60, 20, src)
	st.draw()
	v := st.view
	for _, c := range []struct {
		name string
		do   func()
		top  string
	}{
		{"page up", v.PageUp, fmt.Sprintf("block %d,", n-20-19)},
		{"go to the middle", func() { v.GoTo(500_000) }, "block 500000,"},
		{"page up there", v.PageUp, "block 499981,"},
		{"half down", v.HalfDown, "block 499991,"},
		{"top", v.Top, "block 0,"},
		{"page down", v.PageDown, "block 19,"},
		{"bottom", v.Bottom, fmt.Sprintf("block %d,", n-20)},
		{"far up", func() { v.Up(n) }, "block 0,"},
		{"far down", func() { v.Down(n) }, fmt.Sprintf("block %d,", n-20)},
		{"add thousands", func() { src.n += 5000 }, fmt.Sprintf("block %d,", n-20+5000)},
	} {
		src.laid = 0
		c.do()
		if got := st.draw()[0]; !strings.Contains(got, c.top) {
			t.Errorf("%s: the top is %q, want %s", c.name, got, c.top)
		}
		if src.laid > 4*20+10 {
			t.Errorf("%s: %d blocks were laid out for 20 rows", c.name, src.laid)
		}
	}
	src.laid = 0
	st.draw()
	if src.laid != 0 {
		t.Errorf("%d blocks were laid out again without a reason", src.laid)
	}
}

// TestEmptyBlocks: a long series of empty blocks is not traversed all at once, but is passed
// eventually.
func TestEmptyBlocks(t *testing.T) {
	l := many(10)
	l.blocks = append(l.blocks, make([]fakeBlock, 20_000)...)
	l.blocks = append(l.blocks, many(10).blocks...)
	st := newStage(t, 20, 5, l)
	st.draw()
	for i := 0; ; i++ {
		l.laid = 0
		st.view.PageUp()
		rows := st.draw()
		if l.laid > 6*maxEmpty {
			t.Fatalf("%d blocks were laid out", l.laid)
		}
		if strings.HasPrefix(rows[0], "▌ line 0 ") && st.view.top.block == 0 {
			break
		}
		if i > 100 {
			t.Fatal("the beginning is not reached")
		}
	}
	for i := 0; !st.view.Following(); i++ {
		st.view.PageDown()
		st.draw()
		if i > 100 {
			t.Fatal("the end is not reached")
		}
	}
	nothing := newStage(t, 20, 5, &fakeSource{blocks: make([]fakeBlock, 50_000)})
	nothing.draw()
	nothing.view.Up(3)
	nothing.view.NextBlock()
	nothing.view.PrevBlock()
	nothing.view.SelectStart()
	nothing.view.Extend(5)
	nothing.view.Copy()
	nothing.draw()
}

// TestMemoryIsFlat: passed blocks are forgotten.
func TestMemoryIsFlat(t *testing.T) {
	src := &endless{n: 200_000, rows: 20}
	st := newStage(t, 80, 40, src)
	v := st.view
	v.Top()
	for range 600 {
		v.Down(1000)
		v.draw(render.On(st.screen, 3, 2, 80, 40, v.look))
	}
	v.update()
	if kept := len(v.cache.blocks); kept > maxKept {
		t.Errorf("%d blocks kept", kept)
	}
	if v.cache.bytes > maxBytes {
		t.Errorf("%d bytes kept", v.cache.bytes)
	}
	sum := 0
	for _, l := range v.cache.blocks {
		sum += l.bytes
	}
	if sum != v.cache.bytes {
		t.Errorf("%d bytes counted, %d there", v.cache.bytes, sum)
	}
}

// TestHugeBlock: a block that is larger than the cache is laid out once while it is in the window.
func TestHugeBlock(t *testing.T) {
	src := &endless{n: 5, rows: 100_000}
	st := newStage(t, 80, 40, src)
	st.draw()
	st.view.GoTo(2)
	st.view.Down(50_000)
	st.draw()
	src.laid = 0
	for range 50 {
		st.view.Up(10)
		st.draw()
	}
	if src.laid != 0 {
		t.Errorf("it was laid out %d times more", src.laid)
	}
	if got := st.draw()[0]; !strings.Contains(got, "block 2, row 49500") {
		t.Errorf("the top is %q", got)
	}
}

// TestHugeBlockBesideNews: it is not laid out again if the block above it in the window changes with each
// frame.
func TestHugeBlockBesideNews(t *testing.T) {
	l := &fakeSource{blocks: []fakeBlock{{text: "news"},
		{text: "its beginning" + strings.Repeat("\n"+strings.Repeat("x", 60), 100_000)}}}
	st := newStage(t, 80, 10, l)
	st.view.Top()
	st.draw()
	if cached := st.view.cache.bytes; cached <= maxBytes {
		t.Fatalf("%d bytes are not more than is kept", cached)
	}
	l.laid = 0
	const frames = 10
	for range frames {
		l.blocks[0].stamp++
		if rows := st.draw(); !strings.Contains(rows[1], "its beginning") {
			t.Fatalf("below the news is %q", rows[1])
		}
	}
	if l.laid != frames {
		t.Errorf("%d blocks were laid out for %d changes", l.laid, frames)
	}
}

func benchmark(b *testing.B, src *endless, each func(v *ListView, i int)) {
	st := newStage(b, 120, 40, src)
	st.view.Draw(st.screen)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	b.ReportAllocs()
	b.ResetTimer()
	for i := range b.N {
		each(st.view, i)
		st.view.Draw(st.screen)
	}
	b.StopTimer()
	runtime.GC()
	runtime.ReadMemStats(&after)
	b.ReportMetric(float64(after.HeapAlloc)/(1<<20), "heap-MiB")
	b.ReportMetric(float64(src.laid)/float64(b.N), "laid/op")
	runtime.KeepAlive(st)
}
