package tui

// Setting is one setting of the program.
type Setting struct {
	Name    string
	Group   string   // of settings that belong together
	About   string   // what it means
	Choices []string // allowed values; none: any value is allowed
	Value   string   // with which the next run starts
	Default string   // empty: there is none
	Source  string   // where the value is set: --NAME, $VARIABLE or FILE:LINE; empty: it is the default
	When    string   // when a change of the file takes effect: "with the next run"
}
