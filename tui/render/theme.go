package render

import (
	"fmt"
	"hash/fnv"
	"math"
	"slices"
	"strconv"
	"strings"

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

// ink is one colour, for each depth of colour.
type ink struct {
	rgb  int32 // own: the terminal's default
	ansi int   // of the sixteen; own: the terminal's default
	dim  bool  // with the sixteen: drawn dim, because no colour in between exists
}

const own = -1

// asIs is the terminal's own colour.
var asIs = ink{rgb: own, ansi: own}

// palette holds the colours of a theme.
type palette struct {
	name string

	text, dim, frame                 ink
	gold, bright, violet, teal, blue ink
	green, orange, red, rose, cyan   ink
	bar, barText, barDim, barStrong  ink
	mark, markText                   ink // of a selection
	found, foundText                 ink // of a search
	here, hereText                   ink // of the current match
	alarm, alarmText                 ink // for what must not be overlooked
}

// The sixteen colours by index.
const (
	aBlack = iota
	aMaroon
	aGreen
	aOlive
	aNavy
	aPurple
	aTeal
	aSilver
	aGray
	aRed
	aLime
	aYellow
	aBlue
	aFuchsia
	aAqua
	aWhite
)

func hue(rgb int32, ansi int) ink { return ink{rgb: rgb, ansi: ansi} }

// muted returns a colour that is not among the sixteen: the terminal's own, drawn dim. Bright black cannot
// replace it: some palettes use it as the background.
func muted(rgb int32) ink { return ink{rgb: rgb, ansi: own, dim: true} }

var palettes = []palette{
	{
		name: "dark",
		text: asIs, dim: muted(0x9a9586), frame: muted(0x837d6e),
		gold: hue(0xd9b45b, aYellow), bright: hue(0xf2d98d, aYellow), violet: hue(0xbfa3ec, aFuchsia),
		teal: hue(0x7fc8b8, aAqua), blue: hue(0x93b7ec, aBlue), green: hue(0x9ccf7f, aLime),
		orange: hue(0xe8a55f, aYellow), red: hue(0xf48a7e, aRed), rose: hue(0xe8a0bb, aFuchsia),
		cyan: hue(0x82cfe0, aAqua), bar: hue(0x2a2833, aSilver), barText: hue(0xd5d0c2, aBlack),
		barDim: hue(0xb0aa9b, aBlack), barStrong: hue(0xf0cf7a, aBlack), mark: hue(0x3d4a66, aSilver),
		markText: hue(0xf4f1e8, aBlack), found: hue(0x5a4a1c, aOlive), foundText: hue(0xf6e6b4, aBlack),
		here: hue(0xe3b94f, aYellow), hereText: hue(0x1a1710, aBlack),
		alarm: hue(0xb3322c, aMaroon), alarmText: hue(0xffffff, aWhite),
	},
	{
		name: "light",
		text: asIs, dim: muted(0x67625a), frame: muted(0x827c70),
		gold: hue(0x7a5600, aPurple), bright: hue(0x6a4a00, aPurple), violet: hue(0x6a3fae, aPurple),
		teal: hue(0x00645a, aTeal), blue: hue(0x1f55a8, aNavy), green: hue(0x2c6812, aGreen),
		orange: hue(0x944700, aPurple), red: hue(0xb0241d, aMaroon), rose: hue(0x9e2f5e, aPurple),
		cyan: hue(0x00657a, aTeal), bar: hue(0xe6e0d2, aNavy), barText: hue(0x35322b, aSilver),
		barDim: hue(0x5c574c, aSilver), barStrong: hue(0x644600, aWhite), mark: hue(0xc9d8f0, aNavy),
		markText: hue(0x14181f, aWhite), found: hue(0xf3e2a6, aTeal), foundText: hue(0x2b2300, aWhite),
		here: hue(0xe0b040, aPurple), hereText: hue(0x1a1400, aWhite),
		alarm: hue(0xb3261e, aMaroon), alarmText: hue(0xffffff, aWhite),
	},
	{
		name: "high-contrast-dark",
		text: hue(0xffffff, own), dim: hue(0xd0d0d0, aSilver), frame: hue(0xc0c0c0, aSilver),
		gold: hue(0xffd75f, aYellow), bright: hue(0xffff87, aYellow), violet: hue(0xd7afff, aFuchsia),
		teal: hue(0x5fffd7, aAqua), blue: hue(0xafd7ff, aAqua), green: hue(0x87ff5f, aLime),
		orange: hue(0xffaf5f, aYellow), red: hue(0xff9a94, aRed), rose: hue(0xffafd7, aFuchsia),
		cyan: hue(0x87ffff, aAqua), bar: hue(0xffffff, aWhite), barText: hue(0x000000, aBlack),
		barDim: hue(0x000000, aBlack), barStrong: hue(0x000000, aBlack), mark: hue(0xffff00, aYellow),
		markText: hue(0x000000, aBlack), found: hue(0x00d7ff, aAqua), foundText: hue(0x000000, aBlack),
		here: hue(0xff87ff, aFuchsia), hereText: hue(0x000000, aBlack),
		alarm: hue(0x9e0000, aMaroon), alarmText: hue(0xffffff, aWhite),
	},
	{
		name: "high-contrast-light",
		text: hue(0x000000, own), dim: hue(0x303030, aGray), frame: hue(0x404040, aBlack),
		gold: hue(0x4f3600, aPurple), bright: hue(0x3f2b00, aPurple), violet: hue(0x4a1a8c, aPurple),
		teal: hue(0x004a42, aNavy), blue: hue(0x00327a, aNavy), green: hue(0x114a00, aGreen),
		orange: hue(0x6b2f00, aPurple), red: hue(0x8a0000, aMaroon), rose: hue(0x730038, aPurple),
		cyan: hue(0x00465a, aNavy), bar: hue(0x000000, aBlack), barText: hue(0xffffff, aSilver),
		barDim: hue(0xffffff, aSilver), barStrong: hue(0xffffff, aWhite), mark: hue(0x00327a, aNavy),
		markText: hue(0xffffff, aWhite), found: hue(0x4f3600, aPurple), foundText: hue(0xffffff, aWhite),
		here: hue(0x000000, aBlack), hereText: hue(0xffff5f, aYellow),
		alarm: hue(0x8a0000, aMaroon), alarmText: hue(0xffffff, aWhite),
	},
}

// mixer makes styles from inks for one depth of colour.
type mixer struct{ colors int }

func (m mixer) on(fg, bg ink) tcell.Style {
	s := tcell.StyleDefault
	for _, x := range []struct {
		ink ink
		set func(tcell.Style, tcell.Color) tcell.Style
	}{{fg, tcell.Style.Foreground}, {bg, tcell.Style.Background}} {
		switch {
		case m.colors >= Colors256 && x.ink.rgb == own, m.colors < Colors256 && x.ink.ansi == own:
		case m.colors >= TrueColor:
			s = x.set(s, tcell.NewHexColor(x.ink.rgb))
		case m.colors >= Colors256:
			s = x.set(s, nearest(x.ink.rgb))
		default:
			s = x.set(s, tcell.PaletteColor(x.ink.ansi))
		}
	}
	if m.colors < Colors256 && fg.dim {
		s = s.Dim(true)
	}
	if m.colors < Colors16 {
		s = eight(s, fg.ansi, bg.ansi)
	}
	return s
}

// eight uses only the first eight colours: a bright colour becomes its dark variant, bold.
func eight(s tcell.Style, fg, bg int) tcell.Style {
	if fg >= aGray {
		s = s.Foreground(tcell.PaletteColor(fg - aGray)).Bold(true)
	}
	if bg >= aGray {
		s = s.Background(tcell.PaletteColor(bg - aGray))
	}
	return s
}

// ink returns a style of one ink on the terminal's own background.
func (m mixer) ink(fg ink) tcell.Style { return m.on(fg, asIs) }

// levels are the values of a component in the colour cube of 256 colours.
var levels = [6]int32{0, 0x5f, 0x87, 0xaf, 0xd7, 0xff}

// nearest returns the nearest colour of the cube or the grey ramp. The first sixteen are excluded: they
// differ between terminals.
func nearest(rgb int32) tcell.Color {
	best, distance := 16, int32(1<<30)
	try := func(i int, r, g, b int32) {
		dr, dg, db := rgb>>16&0xff-r, rgb>>8&0xff-g, rgb&0xff-b
		if d := 3*dr*dr + 4*dg*dg + 2*db*db; d < distance {
			best, distance = i, d
		}
	}
	for i := range 216 {
		try(16+i, levels[i/36], levels[i/6%6], levels[i%6])
	}
	for i := range int32(24) {
		try(232+int(i), 8+10*i, 8+10*i, 8+10*i)
	}
	return tcell.PaletteColor(best)
}

// styles returns the style of every role.
func (p *palette) styles(colors int) (s [roles]tcell.Style) {
	m := mixer{colors}
	base := m.ink(p.text)
	s[Base], s[Input] = base, base
	s[Dim], s[Placeholder] = m.ink(p.dim), m.ink(p.dim)
	s[Strong], s[Emphasis], s[StrongEmphasis] = base.Bold(true), base.Italic(true), base.Bold(true).Italic(true)
	s[Strike] = m.ink(p.dim).StrikeThrough(true)
	s[Heading] = m.ink(p.gold).Bold(true)
	s[Quote] = m.ink(p.dim).Italic(true)
	s[Link] = m.ink(p.blue).Underline(true)

	s[Code] = m.ink(p.teal)
	s[CodeKeyword], s[CodeString], s[CodeNumber], s[CodeName] = m.ink(p.violet), m.ink(p.green), m.ink(p.orange),
		m.ink(p.blue)
	s[CodeComment] = m.ink(p.dim).Italic(true)
	s[DiffAdd], s[DiffRemove], s[DiffHunk] = m.ink(p.green), m.ink(p.red), m.ink(p.cyan)

	s[Frame], s[FrameFocus] = m.ink(p.frame), m.ink(p.gold)
	s[Title] = m.ink(p.bright).Bold(true)
	s[Sigil], s[Motto], s[Key] = m.ink(p.gold), m.ink(p.dim), m.ink(p.gold)
	s[SigilDim], s[SigilBright] = m.ink(p.frame), m.ink(p.bright).Bold(true)

	s[StatusBar], s[StatusBarStrong] = m.on(p.barText, p.bar), m.on(p.barStrong, p.bar).Bold(true)
	s[StatusBarDim] = m.on(p.barDim, p.bar)
	s[StatusBarAlert] = m.on(p.hereText, p.here).Bold(true)
	s[Selection] = m.on(p.markText, p.mark)
	s[Match], s[MatchAt] = m.on(p.foundText, p.found), m.on(p.hereText, p.here).Bold(true)
	s[ChoiceKey] = m.on(p.barStrong, p.bar).Bold(true)
	s[Choice], s[ChoiceFocus] = m.on(p.barText, p.bar), m.on(p.hereText, p.here).Bold(true)

	s[Alert] = m.ink(p.bright).Bold(true)
	s[Danger] = m.on(p.alarmText, p.alarm).Bold(true)
	s[Good], s[Warn], s[Bad] = m.ink(p.green), m.ink(p.orange).Bold(true), m.ink(p.red).Bold(true)
	s[Active], s[Pending] = m.ink(p.gold), m.ink(p.dim)
	s[Meter], s[MeterWarn], s[MeterBad], s[MeterEmpty] = m.ink(p.teal), m.ink(p.orange), m.ink(p.red), m.ink(p.frame)

	s[SpeakerHuman], s[SpeakerArbiter], s[SpeakerSupervisor] = m.ink(p.cyan).Bold(true), m.ink(p.gold).Bold(true),
		m.ink(p.dim)
	for i, hue := range []ink{p.violet, p.green, p.rose, p.blue, p.orange, p.teal} {
		s[SpeakerOrch1+Role(i)] = m.ink(hue)
	}
	return s
}

const monoName = "mono"

// mono distinguishes roles without any colour. Roles with equal styles differ by their text: a name, a
// mark, a sign before a line.
func mono() (s [roles]tcell.Style) {
	base := tcell.StyleDefault
	bold, dim, under, reverse := base.Bold(true), base.Dim(true), base.Underline(true), base.Reverse(true)
	for r := range s {
		s[r] = base
	}
	for _, r := range []Role{Dim, Placeholder, Strike, Quote, CodeComment, DiffRemove, Frame, Motto, SigilDim, Pending,
		MeterEmpty, SpeakerSupervisor} {
		s[r] = dim
	}
	for _, r := range []Role{Strong, CodeKeyword, DiffAdd, FrameFocus, Title, SigilBright, Key, Active, Good, MeterWarn,
		SpeakerArbiter} {
		s[r] = bold
	}
	for _, r := range []Role{Emphasis, Link, CodeName, Warn, SpeakerHuman} {
		s[r] = under
	}
	for _, r := range []Role{StrongEmphasis, Heading, DiffHunk, Bad, MeterBad, Match} {
		s[r] = bold.Underline(true)
	}
	s[Strike] = dim.StrikeThrough(true)
	s[StatusBar], s[StatusBarDim], s[Selection] = reverse, reverse, reverse
	s[Choice], s[ChoiceKey] = under, bold.Underline(true)
	for _, r := range []Role{StatusBarStrong, MatchAt, ChoiceFocus, Alert} {
		s[r] = reverse.Bold(true)
	}
	s[StatusBarAlert] = bold
	s[Danger] = reverse.Bold(true).Underline(true)
	return s
}

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
