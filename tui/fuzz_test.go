package tui

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gdamore/tcell/v2"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/tui/render"
	"github.com/arbiter-cli/arbiter/tui/tuitest"
)

var hostile = tuitest.Hostile()

// happen makes something happen in the run, chosen by a byte.
func happen(s *scene, r *rand.Rand, b byte) {
	p := s.host.begunRun()
	if p == nil || p.Snapshot().Ending != nil {
		return
	}
	agents := p.Snapshot().Agents
	id := agents[int(b)%len(agents)].ID
	text := hostile[r.IntN(len(hostile))]
	switch b % 17 {
	case 0:
		p.does(id, bridge.Assistant{Text: text})
	case 1:
		p.does(id, bridge.Delta{Text: text})
	case 2:
		p.does(id, bridge.Delta{Text: fmt.Sprintf(`{"message":%q`, text), Verdict: true})
	case 3:
		p.does(id, bridge.ToolUse{Tool: text, ToolUse: fmt.Sprint("u", b),
			Input: []byte(fmt.Sprintf(`{"command":%q,"file_path":%q}`, text, text))})
	case 4:
		p.does(id, bridge.ToolResult{ToolUse: fmt.Sprint("u", b-1), Text: text, IsError: b&1 == 0})
	case 5:
		p.asks(id, fmt.Sprint("perm", r.Int()), "Bash", fmt.Sprintf(`{"command":%q,"description":%q}`, text, text))
	case 6:
		p.call("arbiter", "spawn_orchestrator", fmt.Sprintf(`{"prompt":%q,"mode":"developer"}`, "x "+text))
	case 7:
		p.call("arbiter", "set_plan", fmt.Sprintf(`{"steps":[{"text":%q,"status":"active"},{"text":"and so on"}]}`,
			"s "+text))
	case 8:
		p.full(id, r.IntN(220_000))
	case 9:
		p.does(id, bridge.SubagentStart{Description: text, ToolUse: fmt.Sprint("s", b), Type: text})
	case 10:
		p.endTurn(id, reports("question", "q "+text, true))
	case 11:
		p.endTurn("arbiter", decides("CONTINUE", text))
	case 12:
		p.endTurn("arbiter", decides("ADDRESS_HUMAN", "h "+text))
	case 14:
		p.does(id, bridge.Tasks{Items: []bridge.Task{{Text: text, Status: "in_progress"},
			{Text: text, Status: "pending"}}})
	case 15:
		p.call("arbiter", "update_plan", `{"index":1,"status":"done"}`)
	case 16:
		s.trip("retry", "skip", text)
	case 13:
		p.does(id, bridge.Error{Category: "internal", Message: text})
	}
}

// effort selects how much a test does: raced with the race detector, some without it, and all if
// ARBITER_LONG is set, as in scripts/nightly.
func effort[T any](raced, some, all T) T {
	switch {
	case testkit.AtNight():
		return all
	case testkit.Race:
		return raced
	}
	return some
}

// openings open each page and list over the conversation; walk is pressed there.
var (
	openings = [][]string{{"F4"}, {"F5"}, {"F6"}, {"F7"}, {"F8"}, {"Ctrl+P"}, typed("/model"),
		typed("/explain"), typed("/changes"), typed("/permissions ask"), typed("/tour"), typed("!ls")}
	walk = []string{"Down", "j", "Enter", "Right", "Left", "PgDn", "/", "a", "Enter", "n", "N", "v", "Tab", "Enter", "x",
		"y", "Esc", "G", "g", "A", "1", "Esc", "Esc"}
)

// typed returns the keys of a line.
func typed(text string) []string {
	keys := strings.Split(text, "")
	for i := range keys {
		if keys[i] == " " {
			keys[i] = "Space"
		}
	}
	return append(keys, "Enter")
}

// FuzzFrontend: with any keys, pastes, resizes and any events of agents, nothing panics, and the screen
// contains nothing that a terminal would act on. When the user leaves, the screen
// ends and leaves no goroutine behind: the synctest bubble would report it.
func FuzzFrontend(f *testing.F) {
	f.Add(uint64(1), []byte("Weave\x00\x0d\x0d/su\x09\x01\x02\x03jkGgzf\x06\x15"))
	f.Add(uint64(2), []byte("a\x0d\x80\x81\x82\x90\x91\xa0\xb0\xc0\xd0\xe0\xf0q?/n\x1b\x1b"))
	for seed := range effort[uint64](2, 8, 12) {
		r := rand.New(rand.NewPCG(seed, 7))
		keys := make([]byte, 120)
		for i := range keys {
			keys[i] = byte(r.Uint32())
		}
		f.Add(seed, append([]byte("Weave\x0d"), keys...))
	}
	for i, open := range openings[:effort(2, len(openings), len(openings))] {
		keys := append([]byte("Weave\x0d"), Encode(append(slices.Clone(open), walk...)...)...)
		f.Add(uint64(20+i), append(keys, Encode(append(slices.Clone(open), walk...)...)...))
	}
	f.Fuzz(func(t *testing.T, seed uint64, keys []byte) {
		if len(keys) > 400 {
			t.Skip()
		}
		r := rand.New(rand.NewPCG(seed, 1))
		play(t, 20+r.IntN(200), 4+r.IntN(50), func(o *Options, h *fakeHost) {
			o.ASCII = seed%5 == 4
			h.found.CWD, h.found.Account = hostile[r.IntN(len(hostile))], hostile[r.IntN(len(hostile))]
			h.found.Runs = []RunInfo{{ID: "01234567-89", Title: hostile[r.IntN(len(hostile))], Status: "interrupted",
				LastActive: time.Now()}}
		}, func(s *scene) {
			for i, name := range Keys(keys) {
				if s.Ended() {
					return
				}
				switch b := r.IntN(30); {
				case b < 8:
					happen(s, r, keys[i])
				case b == 8:
					s.Stage.Resize(r.IntN(240), r.IntN(60))
				case b == 9:
					s.Stage.Paste(hostile[r.IntN(len(hostile))])
				case b == 10:
					s.Advance(time.Duration(r.IntN(2000)) * time.Millisecond)
				case b == 11:
					w, h := s.Screen.Size()
					s.Stage.Click(r.IntN(w+1), r.IntN(h+1))
				}
				if s.Ended() {
					return
				}
				s.Stage.Press(name)
				s.ExpectSound()
			}
		})
	})
}

// halts are how terminals report Ctrl+\, the key that halts a run.
var halts = []string{"\x1c", "\x1b[92;5u", "\x1b[27;5;92~", "\x1b[220;43;28;1;8;1_"}

// FuzzHaltingKey: whatever bytes a terminal has sent before, in whatever pieces and with whatever pauses, Ctrl+\ halts
// the run within two seconds, unless those bytes were the keys to leave.
func FuzzHaltingKey(f *testing.F) {
	pieces := []string{"\x1b", "[", "]", "O", "P", "X", "_", "^", "N", "200~", "201~", "<", ";", ":", "1", "27", "5", "u",
		"M", "~", "\\", "\a", "\r", "\n", "a", "\xe4", "\xb8", "\x9b", "\x18", "52;c;", "11;", "\x1b[0;0;27;1;0;1_",
		"\x1b[[", "é", "/", "!ls\r", "\x1a", "\x03", "\x10", "\x1bOP", "\x1bOR", "\x1b[<35;3;3M"}
	r := rand.New(rand.NewPCG(7, 0))
	for i := range effort[uint64](20, 100, 300) {
		var b strings.Builder
		for range r.IntN(40) {
			b.WriteString(pieces[r.IntN(len(pieces))])
		}
		f.Add(i, []byte(b.String()))
	}
	f.Fuzz(func(t *testing.T, seed uint64, input []byte) {
		if len(input) > 400 {
			t.Skip()
		}
		r := rand.New(rand.NewPCG(seed, 2))
		tty := &wire{w: 40, h: 12}
		kind := testkit.Must(tcell.LookupTerminfo("xterm-256color"))(t)
		play(t, 40, 12, func(o *Options, _ *fakeHost) {
			tty.types, o.Still = make(chan []byte), true
			o.Screen, o.Begin = testkit.Must(render.OnTerminal(tty, kind))(t), &Begin{Task: "Weave"}
		}, func(s *scene) {
			s.does((*fakeRun).fourAtWork)
			if seed%3 == 0 {
				s.does(func(p *fakeRun) { p.suggests("orch-1", "one", goTest) })
			}
			sends := func(b []byte) bool {
				select {
				case tty.types <- b:
					s.AwaitIdle()
				case <-time.After(time.Second):
					testkit.Check(t, s.Ended(), "the terminal is not read after %q", input)
				}
				return !s.Ended()
			}
			for rest := input; len(rest) > 0; {
				n := min(1+r.IntN(1+r.IntN(64)), len(rest))
				if !sends(rest[:n]) {
					return
				}
				rest = rest[n:]
				s.Advance(time.Duration(r.IntN(1+r.IntN(80))) * time.Millisecond)
			}
			run := s.host.present()
			before := run.halted()
			if !sends([]byte(halts[int(seed/3)%len(halts)])) {
				return
			}
			s.Advance(2 * time.Second)
			testkit.Check(t, s.Ended() || run.halted() != before, "Ctrl+\\ does not halt after %q", input)
		})
	})
}

// TestResizeStorm: many absurd sizes in a row, while there is much to draw.
func TestResizeStorm(t *testing.T) {
	weaving(t, 80, 24, func(s *scene) {
		for _, size := range [][2]int{{1, 1}, {0, 0}, {10_000, 3}, {3, 2_000}, {2, 1}, {1, 2}, {400, 120}, {40, 12},
			{5, 5}, {80, 24}} {
			s.Resize(size[0], size[1])
			s.Settle()
			s.ExpectSound()
		}
		for i := range 60 {
			s.Resize(20+i*3%100, 5+i*7%40)
			s.ExpectSound()
		}
		s.Resize(80, 24)
		s.Settle()
		s.Expect("THE WEAVING", "Orchestrator II")
	})
}
