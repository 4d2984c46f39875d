package plain

import (
	"bufio"
	"bytes"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/verdict"
)

// FuzzLines: any input, in any pieces, becomes its lines, and only a line that contains nothing else gives
// permission.
func FuzzLines(f *testing.F) {
	for _, s := range []string{"", "a", "a\nb", "a\r\n\r\n", "1 y\n1 run\n1 n why\nrun 1 2\ny", "\xff\x00\n\ufeffx",
		strings.Repeat("z", 70_000) + "\nq"} {
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
		v := &narrator{open: []request{{number: 1, id: "r"}}}
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

// TestDocumentIsReadOnce: the document is shown with its author's message; its hand-off to a reader is one
// sentence.
func TestDocumentIsReadOnce(t *testing.T) {
	v := newNarrator(&Frontend{})
	d := &verdict.Document{Accomplished: []string{"one", "two"}, KeyContext: "port 8080"}
	printed := ""
	for _, e := range []contract.Event{
		{ID: "orch-1", Body: contract.Message{From: "orch-1", To: "arbiter", Kind: "handoff",
			Text: "Enough.\n\n" + d.Markdown()}},
		{ID: "orch-1", Body: contract.Handoff{From: "orch-1", To: "orch-2", Document: d}},
		{ID: "arbiter", Body: contract.Message{From: "arbiter", To: "orch-2", Kind: "brief",
			Text: "Go on.\n\n## Handed over by Orchestrator I (orch-1)\n\n" + d.Markdown()}},
	} {
		text, _ := v.describe(time.Now(), e)
		printed += text + "\n"
	}
	if n := strings.Count(printed, "port 8080"); n != 1 {
		t.Errorf("it is read %d times:\n%s", n, printed)
	}
	for _, want := range []string{"Orchestrator I hands off to Orchestrator II: 2 accomplished.", "Go on.",
		"goes with it"} {
		if !strings.Contains(printed, want) {
			t.Errorf("there is no %q:\n%s", want, printed)
		}
	}
}
