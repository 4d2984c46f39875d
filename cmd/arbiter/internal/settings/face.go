package settings

import (
	"os"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/tui/render"
)

// ScreenSettings are the settings for the look, sound and notifications of the screen.
type ScreenSettings struct {
	Theme  string
	ASCII  bool
	Still  bool
	Mouse  bool
	Notify render.NotifyOptions
	// Posts are the targets to which the run's process, not the screen, posts notifications.
	Posts []Target
	// Ritual is RitualFull, RitualScene or RitualOff.
	Ritual string
	// Sound is SoundOff or SoundOn.
	Sound string
	// OnHangup is HangupLeave or HangupStop.
	OnHangup string
}

// What happens to the run when the terminal of its screen is closed.
const (
	HangupLeave = "leave"
	HangupStop  = "stop"
)

func readScreenSettings(c *cli.Context) (ScreenSettings, error) {
	f := ScreenSettings{
		Theme: c.String("theme"), ASCII: c.Bool("ascii") || !command.SpeaksUTF8(os.Getenv), Still: c.Bool("reduced-motion"),
		Mouse: !c.Bool("no-mouse"), OnHangup: c.String("on-hangup"),
		Ritual: c.String("ritual"), Sound: c.String("sound"),
	}
	f.Notify.Terminal = render.DetectProtocol(os.Getenv)
	for word := range strings.SplitSeq(c.String("notify"), ",") {
		word = strings.TrimSpace(word)
		if IsTarget(word) {
			target, err := ParseTarget(word)
			if err != nil {
				return f, command.Usagef("--notify %q: %v", word, err)
			}
			f.Posts = append(f.Posts, target)
			continue
		}
		switch word {
		case "bell":
			f.Notify.Bell = true
		case "desktop":
			f.Notify.Desktop = true
		case "finished":
			f.Notify.Finished = true
		case "off", "":
		default:
			return f, command.Usagef("--notify %q: use bell, desktop, finished, ntfy:URL and webhook:URL, separated by "+
				"commas, or off", word)
		}
	}
	return f, nil
}

// Values of --ritual.
const (
	RitualFull  = "full"
	RitualScene = "scene"
	RitualOff   = "off"
)

// Values of --sound.
const (
	SoundOff = "off"
	SoundOn  = "on"
)
