package render

import (
	"testing"

	"github.com/gdamore/tcell/v2"
)

// mouth is a terminal that sends one piece after the other.
type mouth struct {
	tcell.Tty
	pieces []string
	asked  string
}

func (m *mouth) Write(p []byte) (int, error) { m.asked += string(p); return len(p), nil }

func (m *mouth) Read(p []byte) (int, error) {
	if len(m.pieces) == 0 {
		return 0, nil
	}
	n := copy(p, m.pieces[0])
	m.pieces = m.pieces[1:]
	return n, nil
}

// TestBackgroundIsRead: the answer is removed from the input, in whatever pieces it arrives, and
// everything else passes; after the answer nothing is held back any more.
func TestBackgroundIsRead(t *testing.T) {
	white := RGB{R: 255, G: 255, B: 255}
	for _, tt := range []struct {
		pieces  []string
		passes  string
		onColor bool
	}{
		{[]string{"a\x1b]11;rgb:ffff/ffff/ffff\x1b\\b"}, "ab", true},
		{[]string{"\x1b]11;rgb:ff/ff/ff\a"}, "", true},
		{[]string{"x\x1b]1", "1;rgb:ffff/ff", "ff/ffff\x1b", "\\y"}, "xy", true},
		{[]string{"\x1b", "[A"}, "\x1b[A", false},
		{[]string{"\x1b]52;c;aGk=\a"}, "\x1b]52;c;aGk=\a", false},
		{[]string{"\x1b]11;nonsense\x1b\\k"}, "k", false},
		{[]string{"\x1b]11;" + string(make([]byte, 100))}, "\x1b]11;" + string(make([]byte, 100)), false},
		{[]string{"plain"}, "plain", false},
		{[]string{"\x1b]11;rgb:ffff/ffff/ffff\x1b\\", "\x1b]11;x"}, "\x1b]11;x", true},
	} {
		m := &mouth{pieces: append([]string(nil), tt.pieces...)}
		var got []RGB
		e := &backgroundReader{Tty: m, onColor: func(c RGB) { got = append(got, c) }}
		e.ask()
		if m.asked != askBackground {
			t.Errorf("asked %q", m.asked)
		}
		passes, buf := "", make([]byte, 256)
		for range len(tt.pieces) + 1 {
			n, err := e.Read(buf)
			if err != nil {
				t.Fatal(err)
			}
			passes += string(buf[:n])
		}
		if passes != tt.passes {
			t.Errorf("%q: %q passes, want %q", tt.pieces, passes, tt.passes)
		}
		if tt.onColor != (len(got) == 1) || tt.onColor && got[0] != white {
			t.Errorf("%q: heard %v", tt.pieces, got)
		}
	}
	for term, want := range map[string]bool{"xterm-256color": true, "linux": false, "": false, "vt220": false,
		"screen-256color": false, "tmux-256color": true} {
		if asksBackground(term, false) != want {
			t.Errorf("%s is asked: %v", term, !want)
		}
	}
	if !asksBackground("screen-256color", true) {
		t.Error("tmux is not asked")
	}
}
