package keys

import (
	"slices"
	"strings"

	"github.com/gdamore/tcell/v2"
)

// The actions that contexts share with the conversation.
var (
	moves = []Action{Up, Down, HalfUp, HalfDown, PageUp, PageDown, Top, Bottom}
	finds = []Action{NextBlock, PrevBlock, FoldAll, Select, Copy, Search, SearchNext, SearchPrev}
	goes  = []Action{OpenHelp, OpenLogbook, OpenRuns, PauseRun, WriteSlash}
	page  = set(moves, goes)
	text  = set(moves, finds, goes, []Action{Fold, OpenPlan, OpenChanges, OpenTimes})
)

// reads are the contexts that scroll like the conversation, and the actions that they share with it.
var reads = map[Context]map[Action]bool{Focus: text, Logbook: text, Text: text,
	Plan: page, Changes: page, Settings: page, Sessions: page, Diff: set(moves, goes, []Action{Select, Copy, OpenPlan}),
	Timeline: set(goes, []Action{OpenPlan, OpenChanges}),
	Playback: set(moves, finds, []Action{OpenHelp, OpenPlan, OpenChanges, OpenTimes})}

func set(lists ...[]Action) map[Action]bool {
	all := map[Action]bool{}
	for _, a := range slices.Concat(lists...) {
		all[a] = true
	}
	return all
}

// Look returns the action of a key.
func Look(c Context, key string) (Action, bool) {
	for _, b := range For(c) {
		if slices.Contains(b.Keys, key) {
			return b.Action, true
		}
	}
	return "", false
}

// Own lists the bindings that only a context has.
func Own(c Context) []Binding { return rows(c, nil) }

// Reading lists the bindings that a context shares with the conversation, to scroll and search.
func Reading(c Context) []Binding {
	if reads[c] == nil {
		return nil
	}
	return without(Own(c), rows(Normal, reads[c]))
}

// Always lists the bindings of everywhere that a context does not replace.
func Always(c Context) []Binding {
	if c == Everywhere {
		return nil
	}
	return without(Own(c), rows(Everywhere, nil))
}

// For lists all bindings of a context, its own first.
func For(c Context) []Binding { return slices.Concat(Own(c), Reading(c), Always(c)) }

// without returns bindings without the keys that others have.
func without(others, list []Binding) (left []Binding) {
	other := func(key string) bool {
		return slices.ContainsFunc(others, func(o Binding) bool { return slices.Contains(o.Keys, key) })
	}
	for _, b := range list {
		if slices.ContainsFunc(b.Keys, other) {
			b.Keys = slices.DeleteFunc(slices.Clone(b.Keys), other)
		}
		if len(b.Keys) > 0 {
			left = append(left, b)
		}
	}
	return left
}

func rows(c Context, only map[Action]bool) []Binding {
	var list []Binding
	for _, b := range table {
		if b.Context == c && (only == nil || only[b.Action]) {
			list = append(list, b)
		}
	}
	return list
}

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
		does("fork", Fork), does("ends", Top, Bottom), does("look at the agent", OpenFocus), does("help", OpenHelp)},
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
		if b.Action == a {
			return b.Keys[0]
		}
	}
	return ""
}

var special = map[tcell.Key]string{
	tcell.KeyEnter: "Enter", tcell.KeyTab: "Tab", tcell.KeyBacktab: "Shift+Tab", tcell.KeyEsc: "Esc",
	tcell.KeyBackspace: "Backspace", tcell.KeyBackspace2: "Backspace", tcell.KeyDelete: "Delete",
	tcell.KeyInsert: "Insert", tcell.KeyUp: "Up", tcell.KeyDown: "Down", tcell.KeyLeft: "Left", tcell.KeyRight: "Right",
	tcell.KeyHome: "Home", tcell.KeyEnd: "End", tcell.KeyPgUp: "PgUp", tcell.KeyPgDn: "PgDn",
	tcell.KeyCtrlSpace: "Ctrl+Space", tcell.KeyCtrlUnderscore: "Ctrl+_", tcell.KeyCtrlBackslash: `Ctrl+\`,
	tcell.KeyCtrlRightSq: "Ctrl+]", tcell.KeyCtrlCarat: "Ctrl+^",
}

// Name returns the name of a key in the table: "j", "G", "Ctrl+D", "Alt+Enter", "PgUp", "F1", "Space".
func Name(e *tcell.EventKey) string {
	var b strings.Builder
	mod := e.Modifiers()
	base, plain := special[e.Key()]
	switch k := e.Key(); {
	case k == tcell.KeyRune:
		base = string(e.Rune())
		if base == " " {
			base = "Space"
		}
		mod &^= tcell.ModShift // it is in the letter
		if mod&tcell.ModCtrl != 0 {
			base = strings.ToUpper(base)
		}
	case plain:
		if strings.HasPrefix(base, "Ctrl+") {
			mod &^= tcell.ModCtrl
		}
		if k == tcell.KeyBacktab {
			mod &^= tcell.ModShift
		}
		if k < ' ' { // terminals send control characters for some keys: Enter is Ctrl+M
			mod &^= tcell.ModCtrl
		}
	case k >= tcell.KeyCtrlA && k <= tcell.KeyCtrlZ:
		base = "Ctrl+" + string(rune('A'+k-tcell.KeyCtrlA))
		mod &^= tcell.ModCtrl
	case k >= tcell.KeyF1 && k <= tcell.KeyF64:
		base = tcell.KeyNames[k]
	default:
		base = e.Name()
		mod = 0
	}
	// What terminals without the extended keyboard protocols send for Alt with these keys.
	control := map[string]string{"M": "Enter", "J": "Enter", "H": "Backspace"}[base]
	if e.Key() == tcell.KeyRune && mod&tcell.ModCtrl != 0 && mod&tcell.ModAlt != 0 && control != "" {
		base, mod = control, tcell.ModAlt
	}
	for _, m := range []struct {
		mask tcell.ModMask
		name string
	}{{tcell.ModCtrl, "Ctrl+"}, {tcell.ModAlt, "Alt+"}, {tcell.ModMeta, "Alt+"}, {tcell.ModShift, "Shift+"}} {
		if mod&m.mask != 0 && !strings.HasPrefix(b.String(), m.name) {
			b.WriteString(m.name)
		}
	}
	return b.String() + base
}
