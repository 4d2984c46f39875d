package render

import (
	"hash/fnv"
	"strconv"
	"strings"
)

// Role is the meaning of a piece of text.
type Role uint8

// The roles.
const (
	Base Role = iota // ordinary text
	Dim              // what matters less: times, hints
	Strong
	Emphasis
	StrongEmphasis
	Strike
	Heading
	Quote
	Link
	Code // inline, and blocks
	CodeKeyword
	CodeString
	CodeComment
	CodeNumber
	CodeName // a function, a type, a key
	DiffAdd
	DiffRemove
	DiffHunk
	Frame
	FrameFocus
	Title
	Sigil
	SigilDim    // its outer threads
	SigilBright // its heart
	Motto
	Choice      // of a dialog
	ChoiceFocus // the current one
	ChoiceKey   // the key of another one
	Key         // of the keyboard
	Placeholder
	StatusBar
	StatusBarStrong
	StatusBarDim
	StatusBarAlert // a human is awaited
	Input
	Selection
	Match      // of a search
	MatchAt    // the current one
	Alert      // a human is needed
	Danger     // allow-all, rehearsal: always shown
	Good       // done, verified
	Warn       // failing, thinning
	Bad        // failed, refuted
	Active     // in progress
	Pending    // not begun
	Meter      // of a context
	MeterWarn  // at the first level
	MeterBad   // at the second
	MeterEmpty // the rest of the bar
	SpeakerHuman
	SpeakerArbiter
	SpeakerSupervisor
	SpeakerOrch1 // Orchestrators take these in turn
	SpeakerOrch2
	SpeakerOrch3
	SpeakerOrch4
	SpeakerOrch5
	SpeakerOrch6
	roles // how many there are
)

const orchRoles = int(SpeakerOrch6-SpeakerOrch1) + 1

// Speaker returns the role of a party's name and gutter: "human", "arbiter", "supervisor", "orch-3".
func Speaker(id string) Role {
	switch id {
	case "human":
		return SpeakerHuman
	case "arbiter":
		return SpeakerArbiter
	case "supervisor":
		return SpeakerSupervisor
	}
	if n, err := strconv.Atoi(strings.TrimPrefix(id, "orch-")); err == nil && n > 0 {
		return SpeakerOrch1 + Role((n-1)%orchRoles)
	}
	h := fnv.New32a()
	h.Write([]byte(id))
	return SpeakerOrch1 + Role(h.Sum32()%uint32(orchRoles))
}
