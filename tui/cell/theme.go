package cell

import "github.com/gdamore/tcell/v2"

// Theme gives each role its style.
type Theme struct {
	Name   string
	styles [roles]tcell.Style
}

// Style is how a role is drawn.
func (t *Theme) Style(r Role) tcell.Style { return t.styles[r] }
