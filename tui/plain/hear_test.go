package plain

import (
	"bufio"
	"bytes"
	"strings"
	"testing"
	"testing/iotest"
)

// FuzzLines: whatever comes in, and in whatever pieces, becomes its lines, and no line
// gives leave but one that says no more than that.
func FuzzLines(f *testing.F) {
	for _, s := range []string{"", "a", "a\nb", "a\r\n\r\n", "1 y\n1 run\n1 n why\nrun 1 2\ny", "\xff\x00\n\ufeffx", strings.Repeat("z", 70_000) + "\nq"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var got []string
		r := bufio.NewReaderSize(iotest.HalfReader(bytes.NewReader(data)), 16)
		for {
			h, ended := line(r)
			if ended {
				if h.text != "" {
					got = append(got, h.text)
				}
				break
			}
			got = append(got, h.text)
		}
		want := strings.Split(string(data), "\n")
		if last := len(want) - 1; strings.TrimRight(want[last], "\r") == "" {
			want = want[:last]
		}
		if len(got) != len(want) {
			t.Fatalf("%d lines, want %d", len(got), len(want))
		}
		v := &voice{open: []request{{1, "r"}}}
		for i := range want {
			if w := strings.ToValidUTF8(strings.TrimRight(want[i], "\r"), "\uFFFD"); got[i] != w {
				t.Errorf("line %d: %q, want %q", i, got[i], w)
			}
			if a := v.answer(got[i]); a.behavior == "allow" && len(strings.Fields(got[i])) != 2 {
				t.Errorf("%q gave leave", got[i])
			}
		}
	})
}
