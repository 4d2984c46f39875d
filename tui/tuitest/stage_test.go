package tuitest

import (
	"fmt"
	"os"
	"testing"

	"github.com/arbiter-cli/arbiter/internal/testkit"
)

const listenTo = "ARBITER_TEST_LISTEN"

func TestMain(m *testing.M) {
	if os.Getenv(listenTo) != "" {
		if err := listen(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// TestInvalidCellsAreDetected: the invariant of random tests is able to fail.
func TestInvalidCellsAreDetected(t *testing.T) {
	sound := []place{{text: "世", width: 2}, {}, {text: "é", width: 1}, {text: " ", width: 1}}
	fault := unsound([][]place{sound})
	testkit.Check(t, fault == "", "%v", fault)
	for _, bad := range [][]place{
		{{text: "\x1b", width: 1}},
		{{text: "\u009b", width: 1}},
		{{text: "世", width: 2}},
		{{text: "ab", width: 1}},
	} {
		testkit.Check(t, unsound([][]place{bad}) != "", "%+v passes for sound", bad)
	}
}

// TestBrokenFramesAreDetected: a frame lacks a corner, or something was drawn over a side of it.
func TestBrokenFramesAreDetected(t *testing.T) {
	grid := func(rows ...string) (grid [][]place) {
		for _, row := range rows {
			var places []place
			for _, r := range row {
				places = append(places, place{text: string(r), width: 1})
			}
			grid = append(grid, places)
		}
		return grid
	}
	fault := unframed(grid(" ╭─ a ─╮", " │ b   │", " ╰─────╯"))
	testkit.Check(t, fault == "", "%v", fault)
	for _, bad := range [][][]place{
		grid("╭────", "│ b  ", "╰────"), grid("╭─╮", "│ x", "╰─╯"), grid("╭─╮", "x │", "╰─╯"), grid("╭─╮", "│ │"),
		grid("╭─╮", "│ │", "╰──"),
	} {
		testkit.Check(t, unframed(bad) != "", "%+v passes for whole", bad)
	}
}
