package host

import (
	"fmt"

	"github.com/arbiter-cli/arbiter/supervisor/words"
)

// The screen has room for everything it shows from this size on.
const roomyWidth, roomyHeight = 80, 24

func checkTerminal(s Surroundings) []Finding {
	l := list{area: AreaTerminal}
	t, term := s.Terminal, s.Getenv("TERM")
	switch {
	case !t.Stdin || !t.Stdout:
		stream := "stdin"
		if t.Stdin {
			stream = "stdout"
		}
		l.add("screen", DoctorNote, stream+" is not a terminal: there is no screen here, but --plain and --json", "")
	case term == "" || term == "dumb":
		l.add("screen", DoctorWarn, fmt.Sprintf("TERM=%s says that the cursor cannot be placed", words.Quote(term)),
			"export TERM=xterm-256color")
	case t.Width > 0 && (t.Width < roomyWidth || t.Height < roomyHeight):
		l.add("screen", DoctorNote, fmt.Sprintf("%s, %d×%d: smaller than %d×%d, some of it is left out", term, t.Width,
			t.Height, roomyWidth, roomyHeight), "")
	default:
		l.add("screen", DoctorOK, fmt.Sprintf("%s, %d×%d", term, t.Width, t.Height), "")
	}
	if t.UTF8 {
		l.add("characters", DoctorOK, "UTF-8", "")
	} else {
		l.add("characters", DoctorWarn, "the locale is not UTF-8: everything is drawn in ASCII", "export LC_ALL=C.UTF-8")
	}
	if !t.Stdin || !t.Stdout {
		return l.all
	}
	l.clipboard(s)
	return l.all
}

// clipboard checks copying and bells, which use escape sequences of the terminal.
func (l *list) clipboard(s Surroundings) {
	switch {
	case s.Getenv("TMUX") != "" && s.Terminal.Clipboard != "on":
		found := "tmux does not say whether it lets copying through"
		if s.Terminal.Clipboard != "" {
			found = "tmux keeps copied text to itself (set-clipboard " + s.Terminal.Clipboard + ")"
		}
		l.add("clipboard", DoctorWarn, found, "tmux set-option -s set-clipboard on")
	case s.Getenv("TMUX") != "":
		l.add("clipboard", DoctorOK, "OSC 52, through tmux", "")
	case s.Getenv("STY") != "":
		l.add("clipboard", DoctorWarn, "screen passes on neither copied text nor notifications", "tmux new-session arbiter")
	default:
		l.add("clipboard", DoctorOK, "OSC 52, where the terminal allows it", "")
	}
}
