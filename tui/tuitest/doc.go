// Package tuitest tests screens in terms of a user's actions: press, type, await, expect. It draws on a
// simulated screen inside a synctest bubble, so that time advances only when all goroutines wait, and
// "idle" is exact.
//
//	tuitest.Play(t, 80, 24, func(s *tuitest.Stage) {
//		s.Show(page)                  // or s.Start(run, stop) for a whole program
//		s.Press("Ctrl+G", "Down")
//		s.Type("weave")
//		s.Expect("It is done.")
//		s.Golden("oracle-80x24")      // testdata/screen/oracle-80x24.golden
//	})
//
// Every action waits until all goroutines of the bubble do, so that an expectation needs no wait of its
// own; [Stage.Advance] lets time pass. `go test -update` writes golden files instead of comparing them.
//
// A key has the name that the table of keys gives it. What a terminal sends for it may differ: without the
// extended keyboard protocol, Alt+Enter reaches programs as Ctrl+Alt+M, and Shift+Enter as Enter; a test of
// this package checks both.
//
// The bubble's first goroutine plays the scenario; the program runs on one of its own, which [Play] stops
// and waits for, even if the scenario failed.
package tuitest
