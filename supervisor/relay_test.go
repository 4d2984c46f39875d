package supervisor

import (
	"reflect"
	"testing"

	"github.com/arbiter-cli/arbiter/bridge"
)

// notRelayed are the bridge's events that are not passed to frontends, and why.
var notRelayed = map[reflect.Type]string{
	reflect.TypeFor[bridge.Turn]():           "turnEnded tells of it",
	reflect.TypeFor[bridge.Delivered]():      "delivered tells of it",
	reflect.TypeFor[bridge.Done]():           "ended tells of it",
	reflect.TypeFor[bridge.ContextWarning](): "measured tells of it, with the level that was reached",
	reflect.TypeFor[bridge.Spent]():          "spending tells of it, with what the run has cost",
	reflect.TypeFor[bridge.Quota]():          "quotaRead tells of it, once for all agents",
	reflect.TypeFor[bridge.Tasks]():          "the plan shows them",
	reflect.TypeFor[bridge.Stderr]():         "the loop writes it to the log",
	reflect.TypeFor[bridge.Unknown]():        "the loop writes it to the log",
	reflect.TypeFor[bridge.PTY]():            "it is for a terminal alone",
}

func TestEveryEventIsRelayed(t *testing.T) {
	for _, b := range append([]bridge.EventBody{bridge.Unknown{}}, bridge.EventBodies()...) {
		st := &step{}
		st.relay(bridge.Event{AgentRef: bridge.AgentRef{ID: "orch-1", Generation: 1}, Body: b})
		if why := notRelayed[reflect.TypeOf(b)]; (why == "") != (len(st.out.Effects()) == 1) {
			t.Errorf("%T leads to %v; not relayed because: %q", b, st.out.Effects(), why)
		}
	}
}
