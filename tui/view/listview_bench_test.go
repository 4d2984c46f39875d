package view

import (
	"fmt"
	"testing"
)

func BenchmarkDraw(b *testing.B) {
	for _, n := range []int{1000, 1_000_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			benchmark(b, &endless{n: n, rows: 3, head: true}, func(*ListView, int) {})
		})
	}
}

func BenchmarkPageUp(b *testing.B) {
	for _, n := range []int{1000, 1_000_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			benchmark(b, &endless{n: n, rows: 3, head: true}, func(v *ListView, i int) {
				if v.PageUp(); v.top == (pos{}) {
					v.Bottom()
				}
			})
		})
	}
}
