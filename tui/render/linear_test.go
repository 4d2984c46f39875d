package render

import (
	"runtime"
	"strings"
	"testing"
)

// A model that writes long lines without a space must not block the screen: text is not copied again and
// again as it grows.
func TestLongLinesAreCopiedOnce(t *testing.T) {
	const size = 1 << 16
	for _, unit := range []string{"x", "世", "a ", "a\t", "e\u0301", "\u0301", "\x00", "🇩🇪", "a-", "👩‍👩‍👧 "} {
		line := Of(Base, strings.Repeat(unit, size/len(unit)))
		for _, columns := range []int{20, 1 << 30} {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			Wrap(line, columns)
			Cut(line, columns)
			line.Shorten(columns, "…")
			runtime.ReadMemStats(&after)
			if copied := after.TotalAlloc - before.TotalAlloc; copied > 400*size {
				t.Errorf("%d bytes of %q in %d columns: %d bytes were allocated", size, unit, columns, copied)
			}
		}
	}
}
