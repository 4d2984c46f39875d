package view

import (
	"testing"
)

func BenchmarkFolded256KiB(b *testing.B) {
	e, o := flood(), options(100)
	b.ReportAllocs()
	for b.Loop() {
		EventStream(e, o)
	}
}

func BenchmarkUnfolded256KiB(b *testing.B) {
	e, o := flood(), options(100)
	o.Open = true
	b.SetBytes(256 << 10)
	b.ReportAllocs()
	for b.Loop() {
		EventStream(e, o)
	}
}
