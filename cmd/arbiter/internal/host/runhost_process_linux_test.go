package host_test

import (
	"context"
	"testing"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/host"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/settings"
	"github.com/arbiter-cli/arbiter/internal/testkit"
)

// calledOffLate is a context that ends just as the process answers: nothing has waited for its end.
type calledOffLate struct{ context.Context }

func (calledOffLate) Err() error { return context.Canceled }

// TestStartCalledOffAtTheLastMoment: a process whose start is called off just as it answers is ended, too. It does not
// play on unseen, and nobody waits for the end of its run.
func TestStartCalledOffAtTheLastMoment(t *testing.T) {
	p, err := host.StartProcess(calledOffLate{t.Context()}, settings.Choices{})
	testkit.Check(t, p == nil && err == context.Canceled, "%v, %v", p, err)
}
