package render

import (
	"fmt"
	"slices"
	"testing"

	"github.com/gdamore/tcell/v2"

	"github.com/arbiter-cli/arbiter/internal/testkit"
)

var depths = []int{TrueColor, Colors256, Colors16, Colors8, 0}

// grounds are typical backgrounds of dark and of light terminals.
var grounds = map[bool][]RGB{
	false: {{0, 0, 0}, {0x1e, 0x1e, 0x1e}, {0x1e, 0x1e, 0x2e}, {0x28, 0x2c, 0x34}, {0x00, 0x2b, 0x36}},
	true:  {{255, 255, 255}, {0xfa, 0xfa, 0xfa}, {0xfd, 0xf6, 0xe3}, {0xee, 0xee, 0xee}},
}

func light(name string) bool { return name == "light" || name == "high-contrast-light" }

func TestThemeNames(t *testing.T) {
	for _, want := range []string{"auto", "dark", "light", "high-contrast-dark", "high-contrast-light", "mono"} {
		testkit.Check(t, slices.Contains(ThemeNames(), want), "there is no theme %q", want)
	}
	for _, name := range ThemeNames() {
		for _, n := range depths {
			_, err := NewTheme(name, n)
			testkit.Check(t, err == nil, "%v", err)
		}
	}
	testkit.Fails(t, "a theme that is not there was made", testkit.Err(NewTheme("no such", TrueColor)))
}

// Roles that deliberately look like ordinary text.
var ordinary = []Role{Base, Input}

// Without colours these do, too: their position shows what they are.
var ordinaryMono = append([]Role{Code, CodeString, CodeNumber, Sigil, Meter,
	SpeakerOrch1, SpeakerOrch2, SpeakerOrch3, SpeakerOrch4, SpeakerOrch5, SpeakerOrch6}, ordinary...)

func TestEveryRoleIsFilled(t *testing.T) {
	for _, name := range ThemeNames() {
		for _, n := range depths {
			theme, err := NewTheme(name, n)
			testkit.OK(t, err)
			exempt := ordinary
			if name == "mono" || n < Colors8 {
				exempt = ordinaryMono
			}
			for r := range roles {
				testkit.Check(t, theme.Style(r) != tcell.StyleDefault || slices.Contains(exempt, r),
					"%s with %d colours has no style for role %d", name, n, r)
			}
		}
	}
}

// Roles that appear side by side and must be distinguishable.
func TestRolesDiffer(t *testing.T) {
	apart := [][]Role{
		{Base, Dim, Strong, Emphasis, Heading, Selection, MatchAt, Danger},
		{Base, Dim, Good, Bad, Warn},
		{Active, Pending, Bad},
		{Meter, MeterWarn, MeterBad, MeterEmpty},
		{DiffAdd, DiffRemove, DiffHunk},
		{Choice, ChoiceFocus, Base},
		{StatusBar, StatusBarStrong, StatusBarAlert, Danger},
		{SpeakerHuman, SpeakerArbiter, SpeakerSupervisor, SpeakerOrch1},
		{Link, Base, Dim},
	}
	for _, name := range ThemeNames() {
		for _, n := range depths {
			theme, _ := NewTheme(name, n)
			for _, group := range apart {
				for i, a := range group {
					for _, b := range group[:i] {
						testkit.Check(t, theme.Style(a) != theme.Style(b),
							"%s with %d colours: roles %d and %d look the same", name, n, b, a)
					}
				}
			}
		}
	}
}

func rgbOf(c tcell.Color, otherwise RGB) RGB {
	if c == tcell.ColorDefault {
		return otherwise
	}
	r, g, b := c.TrueColor().RGB()
	return RGB{uint8(r), uint8(g), uint8(b)}
}

func contrast(a, b RGB) float64 {
	x, y := a.luminance(), b.luminance()
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}

// WCAG 2: 4.5 to 1 for text, 3 to 1 for graphics and for less important text. Only depths with fixed
// colours can be checked.
func TestContrast(t *testing.T) {
	drawing := []Role{Dim, Placeholder, Strike, Quote, CodeComment, Motto, Pending, Frame, FrameFocus, Sigil, SigilDim,
		SigilBright, Meter, MeterWarn, MeterBad, MeterEmpty, SpeakerSupervisor}
	for _, p := range palettes {
		own := RGB{0xd0, 0xd0, 0xd0}
		if light(p.name) {
			own = RGB{0x20, 0x20, 0x20}
		}
		for _, n := range []int{TrueColor, Colors256} {
			theme, _ := NewTheme(p.name, n)
			for r := range roles {
				need := 4.5
				if slices.Contains(drawing, r) {
					need = 3
				}
				if len(p.name) > 5 && need > 3 { // high contrast
					need = 7
					if n == Colors256 { // this cube has few dark colours
						need = 6.5
					}
				}
				fg, bg, _ := theme.Style(r).Decompose()
				for _, ground := range grounds[light(p.name)] {
					if len(p.name) > 5 && ground != grounds[light(p.name)][0] && need > 5 {
						continue // these are for a black or white background
					}
					got := contrast(rgbOf(fg, own), rgbOf(bg, ground))
					testkit.Check(t, got >= need,
						"%s with %d colours: role %d on %v has a contrast of %.2f, less than %.1f", p.name, n, r, ground, got, need)
				}
			}
		}
	}
}

func TestNoBackgroundIsPainted(t *testing.T) {
	bars := []Role{StatusBar, StatusBarStrong, StatusBarDim, StatusBarAlert, Selection, Match, MatchAt, Choice,
		ChoiceFocus, ChoiceKey, Danger}
	for _, p := range palettes {
		for _, n := range depths {
			theme, _ := NewTheme(p.name, n)
			for r := range roles {
				_, bg, _ := theme.Style(r).Decompose()
				testkit.Check(t, bg == tcell.ColorDefault || slices.Contains(bars, r),
					"%s with %d colours: role %d has a background", p.name, n, r)
			}
		}
	}
}

func TestFewColoursStayFew(t *testing.T) {
	for _, p := range palettes {
		for _, n := range []int{Colors256, Colors16, Colors8, 0} {
			theme, _ := NewTheme(p.name, n)
			for r := range roles {
				fg, bg, _ := theme.Style(r).Decompose()
				for _, c := range []tcell.Color{fg, bg} {
					testkit.Check(t, c == tcell.ColorDefault || !c.IsRGB() && int(c&^tcell.ColorValid) < n,
						"%s with %d colours: role %d has colour %v", p.name, n, r, c)
				}
				// Where arbiter sets both text and background they must differ.
				testkit.Check(t, fg != bg || fg == tcell.ColorDefault, "%s with %d colours: role %d is invisible",
					p.name, n, r)
			}
		}
	}
}

func TestResolveTheme(t *testing.T) {
	white, black := RGB{255, 255, 255}, RGB{16, 16, 20}
	for _, c := range []struct {
		name string
		s    Surroundings
		want string
	}{
		{"light", Surroundings{}, "light"},
		{"mono", Surroundings{Background: &white}, "mono"},
		{Auto, Surroundings{}, "dark"},
		{"", Surroundings{}, "dark"},
		{Auto, Surroundings{ColorFGBG: "15;0"}, "dark"},
		{Auto, Surroundings{ColorFGBG: "0;15"}, "light"},
		{Auto, Surroundings{ColorFGBG: "0;default;7"}, "light"},
		{Auto, Surroundings{ColorFGBG: "0;8"}, "dark"},
		{Auto, Surroundings{ColorFGBG: "15"}, "dark"},
		{Auto, Surroundings{ColorFGBG: "0;default"}, "dark"},
		{Auto, Surroundings{ColorFGBG: "0;99"}, "dark"},
		{Auto, Surroundings{ColorFGBG: "0;15", Background: &black}, "dark"},
		{Auto, Surroundings{ColorFGBG: "15;0", Background: &white}, "light"},
	} {
		testkit.Same(t, fmt.Sprintf("ResolveTheme(%q, %+v)", c.name, c.s), c.want, ResolveTheme(c.name, c.s))
	}
}

func TestParseRGB(t *testing.T) {
	for in, want := range map[string]RGB{
		"rgb:ffff/8080/0000":       {255, 128, 0},
		"rgb:ff/80/00":             {255, 128, 0},
		"rgb:f/8/0":                {255, 136, 0},
		"rgba:1e1e/1e1e/2e2e/ffff": {30, 30, 46},
		"#1e1e2e":                  {30, 30, 46},
		"#fff":                     {255, 255, 255},
	} {
		got, ok := ParseRGB(in)
		testkit.Check(t, ok && got == want, "ParseRGB(%q) = %v, %v, want %v", in, got, ok, want)
	}
	for _, in := range []string{"", "rgb:", "rgb:ff/ff", "rgb:ff/ff/ff/ff", "rgb:fffff/0/0", "rgb:gg/00/00",
		"rgb:/00/00", "#12", "#", "black", "rgb:-1/0/0"} {
		got, ok := ParseRGB(in)
		testkit.Check(t, !ok, "ParseRGB(%q) = %v", in, got)
	}
}

func FuzzParseRGB(f *testing.F) {
	f.Add("rgb:1e1e/1e1e/2e2e")
	f.Add("#")
	f.Fuzz(func(t *testing.T, s string) {
		if c, ok := ParseRGB(s); ok && ResolveTheme(Auto, Surroundings{Background: &c}) == Auto {
			t.Fatal(fmt.Sprint("not resolved: ", s))
		}
	})
}
