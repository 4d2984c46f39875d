package keys

import "strings"

// Hint names keys and describes in a word or two what they do.
type Hint struct{ Keys, Text string }

// hint is a row of a footer: a text for the first keys of some actions.
type hint struct {
	text    string
	actions []Action
}

func does(text string, actions ...Action) hint { return hint{text, actions} }

// footers are the rows for each context, the most important first.
var footers = map[Context][]hint{
	Normal: {does("write", Write), does("scroll", Down, Up), does("search", Search), does("match", SearchNext,
		SearchPrev),
		does("agent", NextAgent), does("look at it", OpenFocus), does("what waits", OpenInbox), does("fold", Fold),
		does("copy", Copy), does("help", OpenHelp)},
	Focus: {does("write", Write), does("back", Back), does("agent", NextAgent), does("scroll", Down, Up),
		does("search", Search), does("interrupt", Stop), does("take over", Attach), does("help", OpenHelp)},
	Logbook: {does("back", Back), does("scroll", Down, Up), does("filter", Filter), does("search", Search),
		does("match", SearchNext, SearchPrev), does("fold", Fold), does("JSON", Raw), does("help", OpenHelp)},
	Plan: {does("save", Save), does("back", Back), does("step", Down, Up), does("add", StepAdd), does("text", StepText),
		does("done", StepDone), does("move", StepDown, StepUp), does("delete", StepDelete), does("mode", StepMode),
		does("help", OpenHelp)},
	Text: {does("back", Back), does("scroll", Down, Up), does("search", Search), does("match", SearchNext, SearchPrev),
		does("copy", Copy), does("help", OpenHelp)},
	Sessions: {does("open", Choose), does("back", Back), does("search", Filter), does("sort", Sort),
		does("report", Report), does("resume it", TakeUp), does("run", Down, Up),
		does("read on", ReadOn), does("help", OpenHelp)},
	Changes: {does("compare", Choose), does("back", Back), does("search", Filter), does("sort", Sort),
		does("revert", RevertFile), does("editor", OpenFile), does("land", LandWork), does("file", Down, Up),
		does("read on", ReadOn), does("help", OpenHelp)},
	Settings: {does("change", Choose), does("back", Back), does("to the default", ToDefault),
		does("search", Filter), does("sort", Sort),
		does("edit the file", OpenFile), does("setting", Down, Up), does("help", OpenHelp)},
	Diff: {does("back", Back), does("place", NextBlock, PrevBlock), does("comment", Comment),
		does("revert it", RevertHunk), does("editor", OpenFile), does("file", NextChoice, PrevChoice),
		does("side by side", SideBySide),
		does("revert file", RevertFile), does("copy", Copy), does("help", OpenHelp)},
	Timeline: {does("time", Earlier, Later), does("agent", PrevChoice, NextChoice), does("read it", Choose),
		does("back", Back), does("zoom", ZoomIn, ZoomOut), does("notable events", PrevMoment, NextMoment),
		does("ends", Top, Bottom), does("look at the agent", OpenFocus), does("help", OpenHelp)},
	Playback: {does("pause", Hold), does("speed", Faster, Slower), does("jump", JumpBack, JumpOn), does("leave", Leave),
		does("restart", PlayAnew), does("to the end", PlayOut), does("agent", NextAgent), does("look at it", OpenFocus),
		does("timeline", OpenTimes), does("help", OpenHelp)},
	Help: {does("back", Back), does("scroll", Down, Up), does("search", Filter), does("page", PageDown, PageUp)},
}

// Footer returns the most important keys of a context, as they are in the table. A context in which the
// keyboard is used for something else has none.
func Footer(c Context) []Hint {
	var list []Hint
	for _, h := range footers[c] {
		var names []string
		for _, a := range h.actions {
			names = append(names, KeyOf(c, a))
		}
		list = append(list, Hint{strings.Join(names, " "), h.text})
	}
	return list
}

// KeyOf returns the first key for an action in a context; empty: there is none.
func KeyOf(c Context, a Action) string {
	for _, b := range For(c) {
		if b.Action != a {
			continue
		}
		for _, k := range b.Keys {
			if found, _ := Look(c, k); found == a {
				return k
			}
		}
	}
	return ""
}
