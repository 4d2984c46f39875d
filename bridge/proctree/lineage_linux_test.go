package proctree

import (
	"context"
	"errors"
	"os"
	"slices"
	"testing"

	"github.com/arbiter-cli/arbiter/internal/testkit"
)

// TestLineage: the line leads from a process through this one to the first, with the marks on the way.
func TestLineage(t *testing.T) {
	child := amid(t, EnvAgent+"=orch-1", EnvRun+"=two")
	line := testkit.Must(Lineage(child.PID()))(t)
	first, last := line[0], line[len(line)-1]
	if first.PID != child.PID() || !slices.Equal(first.Runs, []string{"two"}) ||
		!slices.Equal(first.Agents, []string{"orch-1"}) || first.Unreadable || first.Name != "sleep" {
		t.Errorf("the process itself: %+v", first)
	}
	if line[1].PID != os.Getpid() || last.PID != 1 && len(line) < 2 {
		t.Errorf("its line: %+v", line)
	}
	for i := 1; i < len(line); i++ {
		if line[i].Start > line[i-1].Start {
			t.Errorf("%d is younger than its child", line[i].PID)
		}
	}
	if runs := entriesOf([]byte(EnvRun+"=one\x00X=\x00"+EnvRun+"=two\x00"), EnvRun); !slices.Equal(runs,
		[]string{"one", "two"}) {
		t.Errorf("several marks: %q", runs)
	}
	if _, err := Lineage(1 << 30); err == nil {
		t.Error("an unknown process has a lineage")
	}
}

// TestEndHitsNoOtherProcess: a pid that now belongs to another process is not killed.
func TestEndHitsNoOtherProcess(t *testing.T) {
	child := amid(t)
	line := testkit.Must(Lineage(child.PID()))(t)
	ctx, cancel := context.WithTimeout(t.Context(), waitTimeout)
	defer cancel()
	if err := End(ctx, child.PID(), line[0].Start+1); !errors.Is(err, ErrEnded) {
		t.Errorf("a recycled number: %v", err)
	}
	if child.State() != nil {
		t.Fatal("it was killed")
	}
	if err := End(ctx, child.PID(), line[0].Start); err != nil {
		t.Errorf("the process itself: %v", err)
	}
	<-child.Done()
	if err := End(ctx, child.PID(), line[0].Start); !errors.Is(err, ErrEnded) {
		t.Errorf("one that has ended: %v", err)
	}
}
