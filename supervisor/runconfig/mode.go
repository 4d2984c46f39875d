package runconfig

// Mode says what happens to a request that no rule matches.
type Mode string

const (
	ModeAsk         Mode = "ask"
	ModeRules       Mode = "rules"
	ModeAcceptEdits Mode = "accept-edits"
	ModeAllowAll    Mode = "allow-all"
)

// Modes are all modes, from the most careful one on.
var Modes = []Mode{ModeAsk, ModeRules, ModeAcceptEdits, ModeAllowAll}

// Means says what the mode means for a person.
func (m Mode) Means() string {
	return map[Mode]string{
		ModeAsk:         "you are asked for what Claude Code itself would ask for",
		ModeRules:       "what no rule allows is denied without asking",
		ModeAcceptEdits: "as ask, but edits inside of the workspace are allowed",
		ModeAllowAll:    "everything is allowed that no rule denies",
	}[m]
}
