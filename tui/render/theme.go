package render

import (
	"fmt"
	"slices"

	"github.com/gdamore/tcell/v2"
)

// Theme gives each role its style. It draws on the terminal's own background; only bars, choices and
// selections have a background of their own.
type Theme struct {
	styles [roles]tcell.Style
}

// Style returns how a role is drawn.
func (t *Theme) Style(r Role) tcell.Style { return t.styles[r] }

// Auto is the name of the theme that fits the terminal; see [ResolveTheme].
const Auto = "auto"

// Depths of colour: the minimum number of colours of a terminal.
const (
	TrueColor = 1 << 24
	Colors256 = 256
	Colors16  = 16
	Colors8   = 8
)

// ThemeNames returns the names that can be chosen, Auto first.
func ThemeNames() []string {
	names := []string{Auto}
	for _, p := range palettes {
		names = append(names, p.name)
	}
	return append(names, monoName)
}

// NewTheme returns a theme for a terminal of so many colours. With fewer than eight (no colours are wanted
// or available) roles differ by bold, dim, underline and reverse. Auto is the dark theme here.
func NewTheme(name string, colors int) (*Theme, error) {
	if name == Auto || name == "" {
		name = palettes[0].name
	}
	t := &Theme{}
	i := slices.IndexFunc(palettes, func(p palette) bool { return p.name == name })
	switch {
	case i < 0 && name != monoName:
		return nil, fmt.Errorf("unknown theme %q", name)
	case i < 0 || colors < Colors8:
		t.styles = mono()
	default:
		t.styles = palettes[i].styles(colors)
	}
	return t, nil
}
