package keys

// reads are the contexts that scroll like the conversation, and the actions that they share with it.
var reads = map[Context]map[Action]bool{Focus: readable, Logbook: readable, Text: readable, Plan: scrollable,
	Changes: scrollable, Settings: scrollable, Diff: comparable, Timeline: elsewhere,
	Playback: replayed}

// scrollable are the actions that make sense on a page.
var scrollable = map[Action]bool{
	Up: true, Down: true, HalfUp: true, HalfDown: true, PageUp: true, PageDown: true, Top: true, Bottom: true,
	OpenHelp: true, OpenLogbook: true, OpenRuns: true, PauseRun: true, WriteSlash: true,
}

// replayed are the actions that make sense in the conversation of a run that is over.
var replayed = map[Action]bool{
	Up: true, Down: true, HalfUp: true, HalfDown: true, PageUp: true, PageDown: true, Top: true, Bottom: true,
	NextBlock: true, PrevBlock: true, FoldAll: true, Select: true, Copy: true, Search: true, SearchNext: true,
	SearchPrev: true, OpenHelp: true, OpenPlan: true, OpenChanges: true, OpenTimes: true,
}

// elsewhere are the actions that lead to other screens.
var elsewhere = map[Action]bool{
	OpenHelp: true, OpenLogbook: true, OpenPlan: true, OpenRuns: true, OpenChanges: true, PauseRun: true,
	WriteSlash: true,
}

// comparable are the actions that make sense on a difference of two texts.
var comparable = map[Action]bool{
	Up: true, Down: true, HalfUp: true, HalfDown: true, PageUp: true, PageDown: true, Top: true, Bottom: true,
	Select: true, Copy: true, OpenHelp: true, OpenLogbook: true, OpenPlan: true, OpenRuns: true, PauseRun: true,
	WriteSlash: true,
}

// readable are the actions that make sense wherever there is something to scroll.
var readable = map[Action]bool{
	Up: true, Down: true, HalfUp: true, HalfDown: true, PageUp: true, PageDown: true, Top: true, Bottom: true,
	NextBlock: true, PrevBlock: true, Fold: true, FoldAll: true, Select: true, Copy: true, Search: true,
	SearchNext: true, SearchPrev: true, OpenHelp: true, OpenLogbook: true, OpenPlan: true, OpenRuns: true,
	OpenChanges: true, OpenTimes: true, PauseRun: true, WriteSlash: true,
}

// Look returns the action of a key.
func Look(c Context, key string) (Action, bool) {
	for _, b := range For(c) {
		for _, k := range b.Keys {
			if k == key {
				return b.Action, true
			}
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
	return rows(Normal, reads[c])
}

// For lists all bindings of a context, its own first.
func For(c Context) []Binding {
	list := append(Own(c), Reading(c)...)
	if c != Everywhere {
		list = append(list, rows(Everywhere, nil)...)
	}
	return list
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
