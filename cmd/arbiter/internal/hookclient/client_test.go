package hookclient

import (
	"strings"
	"testing"
)

func TestHookFlags(t *testing.T) {
	t.Setenv(PathEnv, "/env")
	for _, c := range []struct {
		args    string
		socket  string
		debug   bool
		answers bool
	}{
		{"", "/env", false, true},
		{"--socket /a", "/a", false, true},
		{"-socket=/a --debug", "/a", true, true},
		{"--debug --socket /a=b", "/a=b", true, true},
		{"--socket=/a=b", "/a=b", false, true},
		{"--future thing --socket /a", "/a", false, true},
		{"--settings", "/env", false, false},
		{"--socket /a --settings", "/a", false, false},
		{"-h", "/env", false, false},
		{"--help", "/env", false, false},
		{"settings", "/env", false, true},
	} {
		args := strings.Fields(c.args)
		socket, debug := flags(args)
		if socket != c.socket || debug != c.debug || Answers(args) != c.answers {
			t.Errorf("%q: %q, %v, %v", c.args, socket, debug, Answers(args))
		}
	}
}
