package supervisor_test

import (
	"fmt"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor"
)

// A COMPLETE is judged on the tree of the final snapshot. The caller runs the commands.
func Example() {
	var s supervisor.AcceptanceState
	given := []supervisor.AcceptanceGiven{{Command: "make test"}, {Text: "The README is easy to read"}}
	if err := s.HumanSets(given); err != nil {
		fmt.Println(err)
	}
	err := s.ArbiterSets([]supervisor.AcceptanceGiven{{Text: "make test", Command: "true"}})
	fmt.Println(err, len(s.Criteria))

	s.Begin("4b825dc")
	s.Finish(bridge.CheckResult{Exit: 2, SHA256: "e3b0c442", Output: "FAIL: TestLogin\n"}, "")
	outcome, done := s.Judge()
	fmt.Println(done, outcome.Verdict)
	fmt.Print(outcome.Evidence)
	for _, e := range s.Events() {
		fmt.Println(e.Status, e.By, e.Text, e.ExitCode)
	}
	// Output:
	// <nil> 2
	// true rejected
	// ## Criterion 1, set by the human: make test
	//
	// Command: make test
	// Result: exit code 2
	// The end of its output:
	//
	// FAIL: TestLogin
	// failed human make test 2
	// unproven human The README is easy to read -1
}
