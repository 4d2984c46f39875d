package corpus

import (
	"fmt"
	"testing"

	"github.com/arbiter-cli/arbiter/internal/testkit"
)

func TestMatches(t *testing.T) {
	tests := []struct {
		want, got string
		ok        bool
	}{
		{`{"a":1}`, `{"a":1,"b":2}`, true},
		{`{"a":1,"b":2}`, `{"a":1}`, false},
		{`{"a":null}`, `{}`, false},
		{`{"a":null}`, `{"a":null}`, true},
		{`{"a":[{"x":1}]}`, `{"a":[{"x":1,"y":2}]}`, true},
		{`{"a":[{"x":1}]}`, `{"a":[{"x":1},{"x":2}]}`, false},
		{`{"a":"/^b+$/"}`, `{"a":"bbb"}`, true},
		{`{"a":"/^b+$/"}`, `{"a":"abb"}`, false},
		{`{"a":"/b/"}`, `{"a":5}`, false},
		{`{"a":"/^1234567.$/"}`, `{"a":12345678}`, true},
		{`{"a":"/^0\\.25$/"}`, `{"a":0.25}`, true},
		{`{"a":"$x","b":"$x"}`, `{"a":"1","b":"1"}`, true},
		{`{"a":"$x","b":"$x"}`, `{"a":"1","b":"2"}`, false},
		{`{"a":"$known"}`, `{"a":"v"}`, true},
		{`{"a":"$known"}`, `{"a":"w"}`, false},
		{`{"a":"$n"}`, `{"a":{"b":1}}`, true},
		{`{"a":{"b":1}}`, `{"a":"b"}`, false},
	}
	for _, tt := range tests {
		n := Names{"known": "v"}
		testkit.Same(t, fmt.Sprintf("%s on %s", tt.want, tt.got), tt.ok, n.matches(pattern(tt.want), pattern(tt.got)))
		if _, bound := n["x"]; bound != (tt.ok && tt.want == `{"a":"$x","b":"$x"}`) {
			t.Errorf("%s on %s: x is remembered: %v", tt.want, tt.got, bound)
		}
	}
	n := Names{"id": "7"}
	testkit.Same(t, "expand", `{"r":"7","s":"$other"}`, n.expand(`{"r":"$id","s":"$other"}`))
}

func TestParseSteps(t *testing.T) {
	steps, err := parseSteps("# comment\n\n> {bad json\n< {\"type\":\"result\"}\neof\n")
	testkit.Check(t, err == nil && len(steps) == 3 && steps[0].Arg == "{bad json" && steps[2].Op == "eof",
		"steps = %+v, %v", steps, err)
	for _, bad := range []string{"wait 5", "eof now", "exit", "< {bad"} {
		_, err := parseSteps(bad)
		testkit.Check(t, err != nil, "parseSteps(%q) accepts it", bad)
	}
}
