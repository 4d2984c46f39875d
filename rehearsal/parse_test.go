package rehearsal_test

import (
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/rehearsal"
)

func TestParseErrors(t *testing.T) {
	const head = "actors:\n  - name: a\n    steps:\n"
	tests := []struct{ name, src, want string }{
		{"no YAML", "a: [", "s.yaml:1:4: "},
		{"no document", "", "s.yaml:1: want one YAML document, found 0"},
		{"two documents", "actors: []\n---\nactors: []\n", "s.yaml:1: want one YAML document, found 2"},
		{"a list", "- a\n", "s.yaml:1: want a scenario (a mapping), found a list"},
		{"no actors", "name: x\n", "s.yaml:1: a scenario needs actors"},
		{"unknown field", "name: x\nactor: []\n", `s.yaml:2: actor: unknown field "actor"`},
		{"twice", "name: x\nname: y\n", "s.yaml:2: "},
		{"unnamed", "actors:\n  - steps: [{say: x}]\n", "s.yaml:2: actors[0]: an actor needs a name"},
		{"idle", "actors:\n  - name: a\n", "s.yaml:2: actors[0]: an actor needs steps"},
		{"number for text", "title: 3\n", "s.yaml:1: title: want a text, found a number"},
		{"text for list", "allow: Bash\n", "s.yaml:1: allow: want a list of texts, found a text"},
		{"number in list", "allow: [Bash, 3]\n", "s.yaml:1: allow[1]: want a text, found a number"},
		{"vars", "vars: {n: 3}\n", "s.yaml:1: vars.n: want a text, found a number"},
		{"role", "actors:\n  - name: a\n    match: {role: king}\n    steps: [{say: x}]\n",
			`s.yaml:3: actors[0].match.role: want one of`},
		{"nth", "actors:\n  - name: a\n    match: {nth: 0}\n    steps: [{say: x}]\n",
			"s.yaml:3: actors[0].match.nth: want a whole number from 1, found 0"},
		{"regexp", head + "      - expect: '(['\n", "s.yaml:4: actors[0].steps[0].expect: bad regular expression: "},
		{"template", head + "      - say: '{{.a'\n", "s.yaml:4: actors[0].steps[0].say: bad template: "},
		{"function", head + "      - say: '{{shout .cwd}}'\n", "s.yaml:4: actors[0].steps[0].say: bad template: "},
		{"unknown name", head + "      - say: x\n      - use: [{tool: T, input: {a: [1, {b: '{{.who}}'}]}}]\n",
			`s.yaml:5: actors[0].steps[1].use[0].input.a[1].b: no expectation captures a group "who"`},
		{"unknown name in if", head + "      - say: '{{if .who}}x{{else}}{{.cwd}}{{end}}'\n",
			`no expectation captures a group "who"`},
		{"reserved group", head + "      - expect: '(?P<cwd>.)'\n", `the group name "cwd" is taken`},
		{"step field", head + "      - says: x\n", `s.yaml:4: actors[0].steps[0].says: unknown field "says"`},
		{"tool", head + "      - use: [{input: {}}]\n", "actors[0].steps[0].use[0]: a tool call needs a tool"},
		{"tool field", head + "      - use: [{tool: T, args: {}}]\n", `unknown field "args"`},
		{"verdict", head + "      - verdict: DONE\n",
			"s.yaml:4: actors[0].steps[0].verdict: want a mapping, found a text"},
		{"delay", head + "      - delay: soon\n", "s.yaml:4: actors[0].steps[0].delay: want a duration"},
		{"pause", head + "      - pause: soon\n", "s.yaml:4: actors[0].steps[0].pause: want a duration"},
		{"files", "files: {../x: y}\n" + head + "      - say: x\n", `"../x" is not a path inside the workspace`},
		{"repeat", head + "      - repeat: often\n", `s.yaml:4: actors[0].steps[0].repeat: want a number or "forever"`},
		{"repeat 0", head + "      - repeat: 0\n", "repeat: want a whole number from 1"},
		{"otherwise repeats", "actors:\n  - name: a\n    otherwise: {repeat: 2}\n",
			"s.yaml:3: actors[0].otherwise: repeat has no meaning here"},
		{"one otherwise repeats",
			"actors:\n  - name: a\n    otherwise:\n      - {say: x, expect: y}\n      - {repeat: 2}\n",
			"s.yaml:5: actors[0].otherwise[1]: repeat has no meaning here"},
		{"usage", head + "      - usage: {context: 1, input: 2}\n", "context is the sum of"},
		{"usage field", head + "      - usage: {tokens: 1}\n", `unknown field "tokens"`},
		{"negative usage", head + "      - usage: {output: -1}\n", "want a whole number from 0"},
		{"status", head + "      - fault: {status: 200}\n",
			"s.yaml:4: actors[0].steps[0].fault.status: want a whole number from 400"},
		{"two faults", head + "      - fault: {status: 500, garbage: true}\n", "a fault is one of"},
		{"no fault", head + "      - fault: {message: x}\n", "a fault is one of"},
		{"garbage", head + "      - fault: {garbage: yes please}\n", "fault.garbage: want true or false, found a text"},
		{"merge", "x: &x {say: a}\nactors:\n  - name: a\n    steps:\n      - {<<: *x}\n",
			"merge keys are not supported"},
		{"alias in itself", "actors:\n  - name: a\n    otherwise: {verdict: &x {y: *x}}\n",
			"does an alias contain itself?"},
		{"alias", "actors:\n  - name: a\n    steps: [*none]\n", "s.yaml:3: "},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := rehearsal.Parse("s.yaml", []byte(tt.src))
			testkit.Fails(t, "error", err, tt.want)
		})
	}
}

// All errors are reported, not only the first one.
func TestParseReportsAll(t *testing.T) {
	_, err := rehearsal.Parse("s.yaml", []byte("title: 1\nallow: 2\nactors:\n  - name: 3\n    steps: [{say: 4}]\n"))
	testkit.Need(t, err != nil, "accepted")
	var lines []string
	for l := range strings.Lines(err.Error()) {
		where, _, _ := strings.Cut(l, ": want")
		lines = append(lines, where)
	}
	want := []string{"s.yaml:1: title", "s.yaml:2: allow", "s.yaml:4: actors[0].name",
		"s.yaml:5: actors[0].steps[0].say", "s.yaml:4: actors[0]: an actor needs a name"}
	testkit.Same(t, "", want, lines)
}

func TestStartNeedsVariables(t *testing.T) {
	sc, err := rehearsal.Parse("s.yaml",
		[]byte("vars: {a: x}\nactors:\n  - name: n\n    steps:\n      - say: '{{.vars.a}} {{.vars.b}}'\n"))
	testkit.OK(t, err)
	_, err = rehearsal.Start(sc, rehearsal.Options{})
	testkit.Fails(t, "a variable is missing", err, `s.yaml:5: actors[0].steps[0].say: variable "b" is neither`)
	serve(t, sc, rehearsal.Options{Vars: map[string]string{"b": "y"}})
}

func FuzzParse(f *testing.F) {
	for _, name := range rehearsal.BuiltinNames() {
		sc := testkit.Must(rehearsal.Builtin(name))(f)
		f.Add([]byte("name: " + sc.Name +
			"\nactors: [{name: a, steps: [{say: x, use: [{tool: T, input: {a: [1, null, 2.5]}}]}]}]"))
	}
	f.Add([]byte("a: &a [*a]"))
	f.Add([]byte("actors: &a [*a]"))
	f.Add([]byte("actors:\n  - &x {name: a, otherwise: {verdict: {x: *x}}}"))
	f.Fuzz(func(t *testing.T, src []byte) {
		sc, err := rehearsal.Parse("s.yaml", src)
		testkit.Check(t, (sc == nil) != (err == nil), "scenario %v, error %v", sc, err)
	})
}
