package command

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/arbiter-cli/arbiter/internal/testkit"
)

// inn is a program with one command or flag of each kind.
func inn() *cli.App {
	dir := func() cli.Flag { return &cli.StringFlag{Name: "dir", Usage: "`DIR` of the inn"} }
	return &cli.App{
		Name: "inn", HideHelp: true, HideVersion: true, Usage: "lets rooms",
		UsageText: "inn [flags] [GUESTS]\ninn COMMAND", ArgsUsage: "[GUESTS]",
		Description: "It has rooms.\nSome are free.\n\n  inn rooms\n\nOthers are not.",
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "quiet", Usage: "be quiet", Category: "Manners"},
			&cli.StringFlag{Name: "light", Usage: "`on|off`: whether there is light", Value: "off",
				EnvVars: []string{"INN_LIGHT"}, Category: "Manners"},
			&cli.StringSliceFlag{Name: "with", Usage: "bring a `GUEST`", Category: "Guests"},
			&cli.DurationFlag{Name: "stay", Usage: "how long", Value: 10 * time.Minute, Category: "Guests"},
			dir(),
		},
		Commands: []*cli.Command{
			{Name: "rooms", Usage: "tell of rooms", Flags: []cli.Flag{dir()}, Subcommands: []*cli.Command{
				{Name: "free", Usage: "list those that are free"},
				{Name: "give", Usage: "give some back", ArgsUsage: "ROOM…",
					Flags: []cli.Flag{dir(), &cli.IntFlag{Name: "beds", Usage: "with so many"}}},
			}},
			{Name: "bill", Usage: "print a bill", ArgsUsage: "GUEST | --all [DIR]",
				Flags: []cli.Flag{&cli.BoolFlag{Name: "all", Usage: "of all guests"}}},
			{Name: "bell", Usage: "ring", ArgsUsage: "once|twice"},
			{Name: "cellar", Usage: "is not for guests", Hidden: true},
		},
	}
}

func values(h *Line, what string) (o Offer) {
	switch what {
	case "ROOM":
		o.Words = []Entry{{"101", "with a view"}, {"102", ""}, {"11", ""}}
	case "GUEST":
		o.Words = []Entry{{"ann", ""}, {"ben:jr", ""}, {"it's", ""}}
	case "GUESTS":
		o.Files = true
	case "DIR":
		o.Dirs = true
		if h.Given["dir"] != "" {
			o.Words = []Entry{{h.Given["dir"] + "/sub", ""}}
		}
	}
	return o
}

func TestOffers(t *testing.T) {
	for line, want := range map[string]string{
		"":                            "rooms bill bell :files",
		"b":                           "bill bell :files",
		"cel":                         ":files",
		"--":                          "--quiet --light --with --stay --dir --help",
		"--quiet --":                  "--light --with --stay --dir --help",
		"--with ann --w":              "--with",
		"--light ":                    "on off",
		"--light o":                   "on off",
		"--light=of":                  "--light=off",
		"--quiet=o":                   "",
		"--none=o":                    "",
		"--none ":                     "rooms bill bell :files",
		"--light on r":                "rooms :files",
		"--dir ":                      ":dirs",
		"--dir=x":                     ":dirs",
		"--stay ":                     "",
		"guests.md ":                  "",
		"guests.md --":                "",
		"rooms ":                      "free give",
		"rooms --":                    "--dir --help",
		"rooms give ":                 "101 102 11",
		"rooms give 101 1":            "102 11",
		"rooms give 101 --b":          "--beds",
		"rooms give --beds 2 10":      "101 102",
		"rooms give --beds ":          "",
		"rooms give 101 -- -":         "",
		"rooms free ":                 "",
		"rooms nothing ":              "",
		"bill ":                       "ann ben:jr it's",
		"bill ann ":                   "",
		"bell t":                      "twice",
		"help r":                      "rooms",
		"help rooms ":                 "free give",
		"help rooms free ":            "",
		"rooms help g":                "give",
		"-":                           "--quiet --light --with --stay --dir --help",
		"-- ":                         ":files",
		"--dir /x rooms --dir /y ":    "free give",
		"--dir '/a b' --dir \"/a b\"": "/a b/sub :dirs",
	} {
		words := Split(line)
		last := len(words) - 1
		o := ReadLine(inn(), words[:last]).offer(words[last], values)
		got := testkit.Each(o.Words, func(e Entry) string { return e.Term })
		if o.Files {
			got = append(got, ":files")
		}
		if o.Dirs {
			got = append(got, ":dirs")
		}
		testkit.Same(t, line, want, strings.Join(got, " "))
	}
}

func TestWordsOfALine(t *testing.T) {
	for line, want := range map[string][]string{
		"":                 {""},
		"a b":              {"a", "b"},
		"a  b ":            {"a", "b", ""},
		`a 'b c' "d \" e"`: {"a", "b c", `d " e`},
		`a b\ c 'x`:        {"a", "b c", "x"},
		`a '' b`:           {"a", "", "b"},
		`it'\''s`:          nil,
		"\ta":              {"a"},
	} {
		if want == nil {
			want = []string{`it\s`} // the quote is still open
		}
		testkit.Same(t, line, want, Split(line))
	}
}

func TestAnswers(t *testing.T) {
	const breaks = " \t\n\"'@><=;|&(:"
	for _, c := range []struct {
		shell, line, want string
	}{
		{"bash", "inn --light=o", "on\noff\n"},
		{"bash", "inn bill ben:", "jr\n"},
		{"bash", "inn bill ", "ann\nben:jr\n"}, // words that need quotes are not offered
		{"bash", "inn rooms give 10", "101\n102\n"},
		{"bash", "inn ~/", ":files\n"},
		{"zsh", "inn rooms give 10", "101\twith a view\n102\t\n"},
		{"fish", "inn --light=o", "--light=on\t\n--light=off\t\n"},
		{"fish", "inn --dir ", ":dirs\n"},
	} {
		var out bytes.Buffer
		Complete(&out, inn(), c.shell, c.line, breaks, values)
		testkit.Same(t, fmt.Sprintf("%s, %q", c.shell, c.line), c.want, out.String())
	}
	for _, shell := range []string{"", "bash", "zsh", "csh"} {
		for _, line := range []string{"", "x", " "} {
			Complete(io.Discard, inn(), shell, line, "", values) // does not panic
		}
	}
}

func FuzzOffer(f *testing.F) {
	f.Add("inn --light=o")
	f.Add("inn rooms give -- '")
	f.Fuzz(func(t *testing.T, line string) {
		Complete(io.Discard, inn(), "bash", line, "=:", values)
	})
}

func TestMeant(t *testing.T) {
	known := []string{"sessions", "scenarios", "schema", "attach", "agents", "halt", "help"}
	for word, want := range map[string]string{
		"sesions": "sessions", "sessoins": "sessions", "session": "sessions", "attahc": "attach", "agent": "agents",
		"hal": "halt", "hel": "help", "xyz": "", "REQUIREMENTS.md": "", "": "", "s": "", "sc": "scenarios schema",
		"logs": "",
	} {
		if want != "" {
			want = "did you mean " + strings.ReplaceAll(want, " ", " or ") + "?"
		}
		testkit.Same(t, word, want, Meant(word, known))
	}
}

func TestHelpOfAll(t *testing.T) {
	var out strings.Builder
	for _, c := range All(inn()) {
		Help(&out, c, Words{Exits: []Entry{{"0", "slept well"}}, Examples: []Entry{{"inn --quiet", "hush"}},
			More: []string{"Come again."}})
	}
	testkit.Includes(t, "the page", out.String(),
		"inn - lets rooms\n\nUsage:\n  inn [flags] [GUESTS]\n  inn COMMAND\n\nIt has rooms. Some are free.\n\n  inn "+
			"rooms\n\nOthers are not.\n",
		"\nManners:\n  --quiet                 be quiet\n  --light on|off          whether there is light (default: off) "+
			"[$INN_LIGHT]\n",
		"\nGuests:\n  --with GUEST            bring a GUEST (repeatable)\n  --stay TIME             how long (default: "+
			"10m)\n",
		"\nExit codes:\n  0    slept well\n", "\nExamples:\n  inn --quiet\n\nCome again.\n",
		"inn rooms give - give some back\n\nUsage:\n  inn rooms give [flags] ROOM…\n",
		"inn rooms - tell of rooms\n\nUsage:\n  inn rooms [flags]\n  inn rooms COMMAND [flags]\n\nCommands:\n  free        "+
			"list",
		"--beds N                with so many\n",
	)
	testkit.Excludes(t, "what is hidden is shown", out.String(), "cellar")
}

func TestRoff(t *testing.T) {
	var out strings.Builder
	testkit.OK(t, Roff(&out, inn(), Words{Files: []Entry{{"~/.inn", `a\b`}}}, "1.0"))
	testkit.Includes(t, "the page", out.String(),
		".TH \"INN\"", ".SH \"NAME\"\ninn \\- lets rooms\n", "\\fB\\-\\-light on|off\\fR\n", ".SS \"inn rooms give\"\n",
		".PP\n.RS 4\n.nf\ninn rooms\n.fi\n.RE\n.PP\nOthers", "\\fB\\(ti/.inn\\fR\na\\eb\n",
	)
	got := escape(".x'y…")
	testkit.Check(t, got == `\&.x\(aqy\[u2026]`, "%v", got)
}

func TestBrief(t *testing.T) {
	for _, c := range []struct {
		d    time.Duration
		want string
	}{{0, "0s"}, {10 * time.Second, "10s"}, {2 * time.Minute, "2m"}, {6 * time.Hour, "6h"}, {90 * time.Minute, "1h30m"},
		{20 * time.Minute, "20m"}, {100 * time.Millisecond, "100ms"}, {70 * time.Second, "1m10s"},
		{20 * time.Hour, "20h"}} {
		testkit.Same(t, c.d, c.want, brief(c.d.String()))
	}
}

func TestScripts(t *testing.T) {
	for _, shell := range Shells {
		text, err := ShellScript(shell)
		testkit.Check(t, err == nil && strings.Contains(text, Ask+" "+shell), "%s: %v", shell, err)
	}
	_, err := ShellScript("csh")
	testkit.Check(t, err != nil && slices.Contains(Shells, "zsh"), "there is a script for csh")
}
