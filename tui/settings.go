package tui

// Setting is one setting of the program.
type Setting struct {
	Name    string
	About   string   // what it means
	Choices []string // words that it may be; none: it is not limited to some
	Value   string   // as the next run starts with it
	Default string   // empty: there is none
	Source  string   // where the value stands: --NAME, $VARIABLE or FILE:LINE; empty: it is the default
	When    string   // when a change of the file takes effect: "with the next run"
}
