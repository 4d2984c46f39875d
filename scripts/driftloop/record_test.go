package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/internal/testkit"
)

func TestScrubKeepsWhatRefersToEachOther(t *testing.T) {
	in := `< {"uuid":"8aff9350-9b80-5bcf-9099-726747520da8","parent":"toolu_01ABC"}
< {"cwd":"/tmp/x/arbiter-rehearsal-17/workspace"}
> {"uuid":"8aff9350-9b80-5bcf-9099-726747520da8","id":"toolu_01ABC","duration_ms":17,"at":"2026-11-21T04:57:00.123Z"}
< {"type":"control_response","response":{"subtype":"success","request_id":"arbiter-1","response":{"commands":[{"name":"x","description":"` + strings.Repeat("prose ", 500) + `"}],"pid":7,"capabilities":["a"]}}}
`
	out := scrubRecording(in, "/tmp/x")
	for _, gone := range []string{"8aff9350", "01ABC", ":17", "04:57", "/tmp/x", "prose"} {
		testkit.Excludes(t, fmt.Sprintf("%q is still there", gone), out, gone)
	}
	for _, kept := range []string{`"capabilities":["a"]`, `"cwd":"/rehearsal/workspace"`} {
		testkit.Includes(t, fmt.Sprintf("%q is gone", kept), out, kept)
	}
	testkit.Check(t, strings.Count(out, "00000000-0000-4000-8000-000000000001") == 2 &&
		strings.Count(out, "toolu_00000002") == 2, "references are broken:\n%s", out)
}
