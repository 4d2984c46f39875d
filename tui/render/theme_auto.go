package render

import (
	"math"
	"strconv"
	"strings"
)

// RGB is a colour as a terminal reports it.
type RGB struct{ R, G, B uint8 }

// Surroundings are what is known about the terminal's background.
type Surroundings struct {
	ColorFGBG  string // of the environment: "15;0" or "15;default;0"
	Background *RGB   // its answer to OSC 11; nil: there was none
}

// ResolveTheme returns the theme's name, with Auto replaced by the theme that fits. The terminal's answer
// takes precedence over the environment, which a multiplexer or a remote login may have inherited from
// another terminal. If nothing is known, the theme is dark.
func ResolveTheme(name string, s Surroundings) string {
	if name != Auto && name != "" {
		return name
	}
	if s.Background != nil {
		if s.Background.luminance() > middle {
			return "light"
		}
		return "dark"
	}
	fields := strings.Split(s.ColorFGBG, ";")
	// By the convention of rxvt, 7 and 9 to 15 are light; 8 is dark grey.
	if bg, err := strconv.Atoi(fields[len(fields)-1]); err == nil && len(fields) > 1 &&
		(bg == aSilver || bg > aGray && bg <= aWhite) {
		return "light"
	}
	return "dark"
}

// middle is the luminance on which black and white are equally readable.
const middle = 0.179

// luminance is the relative luminance of WCAG 2.
func (c RGB) luminance() float64 {
	linear := func(v uint8) float64 {
		x := float64(v) / 255
		if x <= 0.04045 {
			return x / 12.92
		}
		return math.Pow((x+0.055)/1.055, 2.4)
	}
	return 0.2126*linear(c.R) + 0.7152*linear(c.G) + 0.0722*linear(c.B)
}

// ParseRGB reads a colour of an OSC 11 answer: "rgb:1e1e/1e1e/2e2e" with one to four
// digits each, "rgba:…" with a fourth that is ignored, or "#1e1e2e".
func ParseRGB(s string) (RGB, bool) {
	if hex, ok := strings.CutPrefix(s, "#"); ok && len(hex)%3 == 0 {
		n := len(hex) / 3
		s = "rgb:" + hex[:n] + "/" + hex[n:2*n] + "/" + hex[2*n:]
	}
	kind, rest, _ := strings.Cut(s, ":")
	parts := strings.Split(rest, "/")
	if !(kind == "rgb" && len(parts) == 3 || kind == "rgba" && len(parts) == 4) {
		return RGB{}, false
	}
	var v [3]uint8
	for i := range v {
		n, err := strconv.ParseUint(parts[i], 16, 16)
		if err != nil || len(parts[i]) > 4 {
			return RGB{}, false
		}
		v[i] = uint8(n * 255 / (1<<(4*len(parts[i])) - 1))
	}
	return RGB{v[0], v[1], v[2]}, true
}
