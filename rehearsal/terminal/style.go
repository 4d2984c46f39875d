package terminal

import (
	"fmt"
	"strings"
)

// Color is a text or background colour: the terminal's own, one of its palette of 256, or one of 2^24.
type Color int32

// Default is the terminal's own colour.
const Default Color = -1

const rgbFlag = 1 << 24

// RGB is a true colour.
func RGB(r, g, b uint8) Color { return rgbFlag | Color(r)<<16 | Color(g)<<8 | Color(b) }

// Values returns the red, green and blue of a true colour, or of one of the palette. ok is false for the
// terminal's own.
func (c Color) Values() (r, g, b uint8, ok bool) {
	switch {
	case c < 0:
		return 0, 0, 0, false
	case c&rgbFlag != 0:
		return uint8(c >> 16), uint8(c >> 8), uint8(c), true
	case c < 16:
		v := basic[c]
		return uint8(v >> 16), uint8(v >> 8), uint8(v), true
	case c < 232:
		n := int(c) - 16
		return cube(n / 36), cube(n / 6 % 6), cube(n % 6), true
	}
	v := uint8(8 + 10*(int(c)-232))
	return v, v, v, true
}

// cube returns one of the six levels of the palette's cube.
func cube(n int) uint8 {
	if n == 0 {
		return 0
	}
	return uint8(55 + 40*n)
}

// basic are the sixteen colours that terminals choose themselves: these are xterm's.
var basic = [16]uint32{
	0x000000, 0xcd0000, 0x00cd00, 0xcdcd00, 0x0000ee, 0xcd00cd, 0x00cdcd, 0xe5e5e5,
	0x7f7f7f, 0xff0000, 0x00ff00, 0xffff00, 0x5c5cff, 0xff00ff, 0x00ffff, 0xffffff,
}

// String is "default", a number of the palette, or "#rrggbb".
func (c Color) String() string {
	switch {
	case c < 0:
		return "default"
	case c&rgbFlag != 0:
		return fmt.Sprintf("#%06x", int32(c&^rgbFlag))
	}
	return fmt.Sprint(int32(c))
}

// Style is how a cell is drawn. The zero value is not the default style: that is [Plain].
type Style struct {
	Fg, Bg                             Color
	Bold, Faint, Italic, Underline     bool
	Blink, Reverse, Conceal, Strikeout bool
}

// Plain is the style of a terminal that received no style.
var Plain = Style{Fg: Default, Bg: Default}

// String lists what differs from [Plain]: "fg=2 bg=#102030 bold".
func (s Style) String() string {
	var words []string
	if s.Fg != Default {
		words = append(words, "fg="+s.Fg.String())
	}
	if s.Bg != Default {
		words = append(words, "bg="+s.Bg.String())
	}
	for _, a := range []struct {
		on   bool
		name string
	}{
		{s.Bold, "bold"}, {s.Faint, "faint"}, {s.Italic, "italic"}, {s.Underline, "underline"},
		{s.Blink, "blink"}, {s.Reverse, "reverse"}, {s.Conceal, "conceal"}, {s.Strikeout, "strikeout"},
	} {
		if a.on {
			words = append(words, a.name)
		}
	}
	if words == nil {
		return "plain"
	}
	return strings.Join(words, " ")
}
