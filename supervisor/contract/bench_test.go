package contract

import (
	"strings"
	"testing"
)

func BenchmarkEncodeLine(b *testing.B) {
	e := Event{"orch-1", Assistant{Text: strings.Repeat("The weaving begins. ", 20), ContextPct: 12.5}}
	var buf []byte
	b.ReportAllocs()
	for b.Loop() {
		var err error
		if buf, err = EncodeLine(buf[:0], 1, someTime, e); err != nil {
			b.Fatal(err)
		}
	}
}
