package fakecli

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestLineWriterNeverBlocksItsCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, w := io.Pipe()
		l := newLineWriter(w)
		for range 1000 {
			l.write([]byte("line"))
		}
		begun := time.Now()
		l.close(5 * time.Second)
		if waited := time.Since(begun); waited != 5*time.Second {
			t.Errorf("close waited %s for a reader that does not read, want 5s", waited)
		}
		if got, err := io.ReadAll(io.LimitReader(r, 5000)); err != nil || strings.Count(string(got), "line\n") != 1000 {
			t.Errorf("read %d bytes, %v; nothing may be lost", len(got), err)
		}
	})
}

func TestLineWriterWritesInOrder(t *testing.T) {
	var out bytes.Buffer
	l := newLineWriter(&out)
	l.write([]byte("a"))
	l.write([]byte("b"))
	<-l.written()
	if out.String() != "a\nb\n" {
		t.Errorf("written: %q", out.String())
	}
	l.close(time.Minute)
	l.write([]byte("late"))
	if out.String() != "a\nb\n" {
		t.Errorf("after close: %q", out.String())
	}
}
