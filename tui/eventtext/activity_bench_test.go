package eventtext

import (
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

func BenchmarkAdd(b *testing.B) {
	tracker := &Tracker{}
	events := []contract.Body{use("1", "Bash", `{"command":"go test ./...","description":"Run the tests"}`),
		contract.ToolResult{ToolUse: "1", Text: strings.Repeat("ok  \tloom/header\t0.012s\n", 40)},
		contract.Delta{Text: "word "}, contract.Assistant{Text: "I begin with the tests, as I was told."}}
	for i := 0; b.Loop(); i++ {
		tracker.Add(began, contract.Event{ID: "orch-1", Body: events[i%len(events)]})
	}
}
