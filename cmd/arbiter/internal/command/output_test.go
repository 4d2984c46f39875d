package command

import (
	"bytes"
	"testing"

	"github.com/arbiter-cli/arbiter/internal/testkit"
)

// TestPrintedJSONIsSafe: no terminal acts on what a printed object contains, and nothing of it is lost.
func TestPrintedJSONIsSafe(t *testing.T) {
	var b bytes.Buffer
	e := Env{Stdout: &b}
	testkit.OK(t, e.PrintJSON(map[string]string{"a": "日本 é 🔥 <&> \x1b\u009b\u202e\U000e0041"}))
	testkit.Same(t, "printed", `{"a":"日本 é 🔥 <&> \u001b\u009b\u202e\udb40\udc41"}`+"\n", b.String())
}
