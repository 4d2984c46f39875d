package keys

import "slices"

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
