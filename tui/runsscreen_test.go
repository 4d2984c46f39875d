package tui

import (
	"errors"
	"testing"
	"time"
)

// everywhere has runs of several directories.
func everywhere(_ *Options, h *fakeHost) {
	at := time.Date(1999, 12, 31, 23, 0, 0, 0, time.UTC)
	h.all = []RunInfo{
		{ID: "0aaaaaaa-1", Title: "Teach the loom", Status: "live", LastActive: at.Add(59 * time.Minute),
			CWD: "/home/weaver/loom", Here: true, Live: true, CostUSD: 1.5, Bytes: 12_345},
		{ID: "0bbbbbbb-2", Title: "Mend the shuttle", Status: "interrupted", LastActive: at, CWD: "/home/weaver/loom",
			Here: true, Resumable: true, Bytes: 123},
		{ID: "0ccccccc-3", Title: "Spin \x1b[31mred yarn", Status: "needs_input", LastActive: at.Add(-time.Hour),
			CWD: "/srv/other/place/of a long name/that does not end/\x1b]0;x\x07yarn", Resumable: true,
			CostUSD: 0.25, Bytes: 1234},
		{ID: "0ddddddd-4", Title: "Another loom", Status: "live", LastActive: at.Add(-2 * time.Hour), CWD: "/srv/other",
			Live: true, CostUSD: 20, Bytes: 123_456},
		{ID: "0eeeeeee-5", Title: "It was never begun", Status: "damaged", LastActive: at.Add(-3 * time.Hour),
			CWD: "/srv/other"},
		{ID: "0fffffff-6", Title: "Count the omens", Status: "complete", LastActive: at.AddDate(0, 0, -3),
			CWD: "/srv/omens", Finished: true, Resumable: true, CostUSD: 3, Bytes: 1_234_567},
	}
}

// TestAllRuns: Enter does what is possible with each run here, and otherwise shows the command.
func TestAllRuns(t *testing.T) {
	for _, tt := range []struct {
		keys  []string
		sees  string
		begun string // the run that is resumed or shown
	}{
		{nil, "", "0aaaaaaa-1"},
		{[]string{"Down"}, "", "0bbbbbbb-2"},
		{[]string{"Down", "Down"}, "arbiter --resume --session 0ccccccc", ""},
		{[]string{"Down", "Down", "Down"}, "", "0ddddddd-4"},
		{[]string{"Down", "Down", "Down", "Down"}, "cannot be resumed", ""},
		{[]string{"G"}, "The report of 0fffffff-6", ""},
	} {
		play(t, 120, 30, everywhere, func(s *scene) {
			s.Press("F4")
			s.Press(append(tt.keys, "Enter")...)
			if tt.sees != "" {
				s.Expect(tt.sees)
			}
			s.host.mu.Lock()
			begun := ""
			if b := s.host.begun; len(b) > 0 {
				begun = b[0].Resume
			}
			s.host.mu.Unlock()
			if begun != tt.begun {
				t.Errorf("%v: %q is begun, not %q", tt.keys, begun, tt.begun)
			}
		})
	}
}

// TestRunsAreSearched: words find runs by their task, directory, status and id; Esc shows all again.
func TestRunsAreSearched(t *testing.T) {
	play(t, 120, 30, everywhere, func(s *scene) {
		s.Press("F4")
		s.Expect("6 runs, 2 live", "Another loom")
		s.Press("/")
		s.Type("LIVE other\n")
		s.Expect("2 live, 1 of 6", "Another loom", "$20.00", "/srv/other")
		s.ExpectNot("Teach the loom", "Mend the shuttle")
		s.Press("r")
		s.Expect("The report of 0ddddddd-4")
		s.Press("Esc")
		s.Expect("Another loom")
		s.Press("Esc")
		s.Expect("6 runs", "Teach the loom")
		s.Press("/")
		s.Type("nobody knows it")
		s.Expect("Nothing matches", "/nobody knows it")
		s.Press("Esc")
		s.Press("Esc")
		s.ExpectNot("RUNS")
	})
}

// TestRunsBesideOne: while a run is shown here, another one is opened in another terminal, and choosing the
// current one returns to it.
func TestRunsBesideOne(t *testing.T) {
	play(t, 120, 30, func(o *Options, h *fakeHost) {
		everywhere(o, h)
		h.all[1].ID, h.all[1].Live = fakeRunID, true
	}, func(s *scene) {
		s.startWork()
		s.Press("F4")
		s.Press("Enter")
		s.Expect("arbiter attach 0aaaaaaa")
		s.Press("Down", "Enter")
		s.Expect("THE WEAVING")
	})
}

// TestRunsCannotBeRead: the screen says why, and lists the runs of this directory.
func TestRunsCannotBeRead(t *testing.T) {
	play(t, 120, 30, func(_ *Options, h *fakeHost) {
		h.unlisted = errors.New("the state directory is gone")
		h.found.Runs = []RunInfo{{ID: "0aaaaaaa-1", Title: "Teach the loom", Status: "interrupted"}}
	}, func(s *scene) {
		s.Press("F4")
		s.Expect("the state directory is gone", "Teach the loom")
		s.Press("r")
		s.Expect("the state directory is gone")
	})
}

// TestRunsShowTheirEnd: beside the list are the last words of the current run.
func TestRunsShowTheirEnd(t *testing.T) {
	play(t, 120, 30, func(o *Options, h *fakeHost) {
		everywhere(o, h)
		h.past = longPast(40)
	}, func(s *scene) {
		s.Press("F4")
		s.Expect("TASK", "STATE", "AGE", "COST", "Thread number 39.")
		s.Press("s", "g")
		s.Expect("Sorted by task.", "▸ Another loom")
	})
}
