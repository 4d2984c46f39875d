package render

import (
	"encoding/base64"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/arbiter-cli/arbiter/internal/testkit"
)

func TestTitle(t *testing.T) {
	for _, c := range []struct {
		m    NotifyMoment
		want string
	}{
		{NotifyMoment{}, "arbiter – speak"},
		{NotifyMoment{Word: "weaving"}, "◆ arbiter – weaving"},
		{NotifyMoment{Word: "weaving", Threads: 1}, "◆ arbiter – weaving · 1 agent"},
		{NotifyMoment{Word: "weaving", Threads: 2}, "◆ arbiter – weaving · 2 agents"},
		{NotifyMoment{Word: "weaving", Threads: 2, Awaited: []NotifyWait{{Call: "1"}}},
			"? arbiter – something waits for you"},
		{NotifyMoment{Awaited: []NotifyWait{{Call: "1"}, {Call: "2"}, {Call: "3"}}}, "? arbiter – 3 things wait for you"},
		{NotifyMoment{Word: "weaving", Where: "invoices"}, "◆ arbiter – weaving · invoices"},
		{NotifyMoment{Word: "weaving", Threads: 2, ASCII: true}, "> arbiter - weaving - 2 agents"},
		{NotifyMoment{Ended: "complete", Word: "done"}, "✓ arbiter – it is done"},
		{NotifyMoment{Ended: "failed"}, "✗ arbiter – it has failed"},
		{NotifyMoment{Ended: "cancelled"}, "– arbiter – it was ended"},
		{NotifyMoment{Ended: "limit"}, "✗ arbiter – a limit is reached"},
		{NotifyMoment{Ended: "needs_input"}, "? arbiter – something waits for you"},
		{NotifyMoment{Word: "w", Where: "\x1b]0;evil\a a\nb\u202e"}, "◆ arbiter – w ·  a b"},
	} {
		testkit.Same(t, fmt.Sprintf("Title(%+v)", c.m), c.want, TitleSequence(c.m))
	}
}

func TestDetect(t *testing.T) {
	for _, c := range []struct {
		env  map[string]string
		want NotifyTerminal
	}{
		{nil, NotifyTerminal{NotifyNone, false}},
		{map[string]string{"TERM": "dumb"}, NotifyTerminal{NotifyNone, false}},
		{map[string]string{"TERM": "linux"}, NotifyTerminal{NotifyNone, false}},
		{map[string]string{"TERM": "xterm-256color"}, NotifyTerminal{NotifyOSC777, false}},
		{map[string]string{"TERM": "foot"}, NotifyTerminal{NotifyOSC777, false}},
		{map[string]string{"TERM": "xterm-kitty"}, NotifyTerminal{NotifyOSC99, false}},
		{map[string]string{"TERM": "xterm-256color", "TERM_PROGRAM": "iTerm.app"}, NotifyTerminal{NotifyOSC9, false}},
		{map[string]string{"TERM": "xterm-256color", "WT_SESSION": "1"}, NotifyTerminal{NotifyOSC9, false}},
		{map[string]string{"TERM": "screen-256color", "STY": "1.x"}, NotifyTerminal{NotifyNone, false}},
		{map[string]string{"TERM": "screen-256color", "TMUX": "/tmp/t"}, NotifyTerminal{NotifyOSC777, true}},
		{map[string]string{"TERM": "tmux-256color", "TMUX": "/tmp/t", "KITTY_WINDOW_ID": "3"}, NotifyTerminal{NotifyOSC99,
			true}},
	} {
		got := DetectProtocol(func(k string) string { return c.env[k] })
		testkit.Check(t, got == c.want, "Detect(%v) = %v, want %v", c.env, got, c.want)
	}
}

func TestSequence(t *testing.T) {
	for _, c := range []struct {
		t    NotifyTerminal
		want string
	}{
		{NotifyTerminal{NotifyNone, false}, ""},
		{NotifyTerminal{NotifyOSC777, false}, "\x1b]777;notify;A word, now;Orchestrator I, asks\x1b\\"},
		{NotifyTerminal{NotifyOSC9, false}, "\x1b]9;arbiter: A word, now - Orchestrator I, asks\x1b\\"},
		{NotifyTerminal{NotifyOSC777, true},
			"\x1bPtmux;\x1b\x1b]777;notify;A word, now;Orchestrator I, asks\x1b\x1b\\\x1b\\"},
		{NotifyTerminal{NotifyOSC99, false}, "\x1b]99;i=arbiter:d=0:e=1:p=title;" +
			base64.StdEncoding.EncodeToString([]byte("A word; now")) + "\x1b\\" +
			"\x1b]99;i=arbiter:d=1:e=1:p=body;" + base64.StdEncoding.EncodeToString([]byte("Orchestrator I; asks")) +
			"\x1b\\"},
	} {
		testkit.Same(t, c.t, c.want, c.t.Sequence("A word; now", "Orchestrator I; asks"))
	}
}

// One step after another: the state, and whether it causes a notification.
func TestOncePerTransition(t *testing.T) {
	all := NotifyOptions{Bell: true, Desktop: true, Finished: true}
	type step struct {
		m    NotifyMoment
		want string // title of the notification
	}
	const word, done = "Something waits for you", "It is done."
	why, another := NotifyWait{"1", "why"}, NotifyWait{"2", "another"}
	human, calm := NotifyMoment{Awaited: []NotifyWait{why}}, NotifyMoment{Word: "weaving"}
	for name, c := range map[string]struct {
		o     NotifyOptions
		steps []step
	}{
		"once, however long it lasts": {all, []step{{calm, ""}, {human, word}, {human, ""}, {human, ""}, {calm, ""}}},
		"for what is added": {all, []step{{human, word}, {NotifyMoment{Awaited: []NotifyWait{why, another}}, word},
			{NotifyMoment{Awaited: []NotifyWait{another}}, ""}, {calm, ""}}},
		"once for what bears one name": {all, []step{{NotifyMoment{Awaited: []NotifyWait{why, why}}, word}, {human, ""},
			{NotifyMoment{Awaited: []NotifyWait{why, why, why}}, ""}, {calm, ""}, {human, word}}},
		"for what takes its place": {all, []step{{human, word}, {NotifyMoment{Awaited: []NotifyWait{another}}, word}}},
		"again for the next time":  {all, []step{{human, word}, {calm, ""}, {human, word}}},
		"from the first moment on": {all, []step{{human, word}, {human, ""}}},
		"the end": {all,
			[]step{{calm, ""}, {NotifyMoment{Ended: "complete"}, done}, {NotifyMoment{Ended: "complete"}, ""}}},
		"the end of the next run": {all,
			[]step{{NotifyMoment{Ended: "complete"}, done}, {calm, ""}, {NotifyMoment{Ended: "failed"}, "It has failed."}}},
		"the end takes the question": {all,
			[]step{{human, word},
				{NotifyMoment{Awaited: []NotifyWait{why}, Ended: "cancelled"}, "It is ended before its time."}}},
		"an end that needs a word": {NotifyOptions{Bell: true},
			[]step{{calm, ""}, {NotifyMoment{Ended: "needs_input"}, word}, {NotifyMoment{Ended: "needs_input"}, ""}}},
		"a limit":               {all, []step{{NotifyMoment{Ended: "limit"}, "The limit is reached."}}},
		"ends are switched off": {NotifyOptions{Bell: true}, []step{{human, word}, {NotifyMoment{Ended: "complete"}, ""}}},
		"all is switched off":   {NotifyOptions{Finished: true}, []step{{human, ""}, {NotifyMoment{Ended: "complete"}, ""}}},
	} {
		t.Run(name, func(t *testing.T) {
			var s NotifyState
			for i, step := range c.steps {
				call, ok := s.Look(c.o, step.m)
				testkit.Check(t, call.Title == step.want && ok == (step.want != ""), "step %d: %+v, %v, want %q", i,
					call, ok, step.want)
			}
		})
	}
}

// TestCallNamesWhatBegan, and how many others began with it.
func TestCallNamesWhatBegan(t *testing.T) {
	var s NotifyState
	for _, tt := range []struct {
		awaited []NotifyWait
		want    string
	}{
		{[]NotifyWait{{"1", "One."}}, "One."},
		{[]NotifyWait{{"1", "One."}, {"2", "Two."}, {"3", "Three."}}, "Two. And 1 more."},
	} {
		c, _ := s.Look(NotifyOptions{Bell: true}, NotifyMoment{Awaited: tt.awaited})
		testkit.Check(t, c.Body == tt.want, "%v: %q, want %q", tt.awaited, c.Body, tt.want)
	}
}

func TestRing(t *testing.T) {
	kitty := NotifyTerminal{Protocol: NotifyOSC777}
	for _, c := range []struct {
		o    NotifyOptions
		want string
	}{
		{NotifyOptions{Bell: true, Terminal: kitty}, "\a"},
		{NotifyOptions{Desktop: true, Terminal: kitty},
			"\x1b]777;notify;Something waits for you;The run waits for you.\x1b\\"},
		{NotifyOptions{Bell: true, Desktop: true, Terminal: kitty},
			"\x1b]777;notify;Something waits for you;The run waits for you.\x1b\\\a"},
		{NotifyOptions{Desktop: true}, ""},
		{NotifyOptions{Terminal: kitty}, ""},
	} {
		var s NotifyState
		testkit.Same(t, fmt.Sprintf("%+v", c.o), c.want, s.Ring(c.o, NotifyMoment{Awaited: []NotifyWait{{Call: "1"}}}))
		testkit.Same(t, fmt.Sprintf("%+v: it rang twice", c.o), "",
			s.Ring(c.o, NotifyMoment{Awaited: []NotifyWait{{Call: "1"}}}))
	}
}

// safe matches the only allowed forms of a sequence.
var safe = regexp.MustCompile(
	`^(\x1b\]777;notify;[^\x00-\x1f\x7f;]*;[^\x00-\x1f\x7f;]*\x1b\\|\x1b\]9;arbiter: [^\x00-\x1f\x7f;]*\x1b\\|` +
		`\x1b\]99;i=arbiter:d=0:e=1:p=title;[A-Za-z0-9+/=]*\x1b\\\x1b\]99;i=arbiter:d=1:e=1:p=body;[A-Za-z0-9+/=]*\x1b\\)$`)

func FuzzSequence(f *testing.F) {
	for _, s := range []string{"", "a;b", "\x1b\\\x1b]0;x\a", "\x9c\x9d52;c;aGk=\x07", "\u009c\u202e\u2028", "\xff",
		strings.Repeat("世", 999), "4;1;50"} {
		f.Add(s, s)
	}
	f.Fuzz(func(t *testing.T, title, body string) {
		for _, p := range []NotifyProtocol{NotifyOSC777, NotifyOSC99, NotifyOSC9} {
			s := NotifyTerminal{Protocol: p}.Sequence(title, body)
			testkit.Need(t, safe.MatchString(s) && utf8.ValidString(s) && len(s) <= 2000, "%d: %q", p, s)
			testkit.Need(t, !strings.ContainsFunc(s, func(r rune) bool { return r >= 0x7f && r <= 0x9f }),
				"%d: a control character in %q", p, s)
			wrapped := NotifyTerminal{Protocol: p, Tmux: true}.Sequence(title, body)
			inner, ok := strings.CutPrefix(wrapped, "\x1bPtmux;")
			inner, ok2 := strings.CutSuffix(inner, "\x1b\\")
			testkit.Need(t, ok && ok2 && strings.ReplaceAll(inner, "\x1b\x1b", "\x1b") == s &&
				strings.Count(inner, "\x1b") == 2*strings.Count(s, "\x1b"), "%q does not pass through tmux: %q", s,
				wrapped)
		}
		for _, ascii := range []bool{false, true} {
			got := TitleSequence(NotifyMoment{Word: title, Where: body, Threads: 2, ASCII: ascii})
			testkit.Need(t, !strings.ContainsFunc(got, unicode.IsControl) && utf8.ValidString(got) &&
				utf8.RuneCountInString(got) <= titleMost, "a title of %q", got)
			testkit.Need(t, !ascii || !strings.ContainsFunc(got, func(r rune) bool { return r > unicode.MaxASCII }),
				"a title of ASCII alone is %q", got)
		}
	})
}
