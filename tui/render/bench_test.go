package render

import (
	"strings"
	"testing"
)

func BenchmarkWrap(b *testing.B) {
	line := Of(Base, strings.Repeat("It is done, and what was done was seen. ", 250))
	b.SetBytes(int64(line.Width()))
	for b.Loop() {
		Wrap(line, 100)
	}
}
