package driver

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/google/uuid"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/bridge/sandbox"
)

// Gate is the way of an agent to the network; self is the program that begins a confined process.
func Gate(self string, ref bridge.AgentRef, host bridge.Host, emit func(bridge.EventBody)) *sandbox.Gate {
	return &sandbox.Gate{Self: self,
		Ask: func(ctx context.Context, name string, port int) (bool, string) {
			return askHost(ctx, ref, host, name, port)
		},
		Report: func(_ string, _ int, why string) { emit(bridge.Notice{Text: "network: " + why}) }}
}

// ReportPlanted tells of files that run by themselves outside, and that appeared in the workspace.
func ReportPlanted(paths []string, emit func(bridge.EventBody)) {
	if len(paths) > 0 {
		emit(bridge.Notice{Text: strings.Join(paths, ", ") + " appeared while this agent worked: programs outside of the " +
			"sandbox run or obey such files; look at them before you open a shell or an editor there"})
	}
}

// askHost asks for permission to reach a host, as for a tool.
func askHost(ctx context.Context, ref bridge.AgentRef, host bridge.Host, name string, port int) (bool, string) {
	input, err := json.Marshal(map[string]any{"host": name, "port": port})
	if err != nil {
		return false, err.Error()
	}
	r, err := host.Permission(ctx, bridge.PermissionParams{AgentRef: ref, Request: "perm-" + uuid.NewString(),
		Tool: bridge.NetworkTool, Input: input,
		Reason: "a program of this agent wants to connect to a host that is not listed"})
	if err != nil && r.Message == "" {
		r.Message = err.Error()
	}
	return err == nil && r.Behavior == bridge.Allow, r.Message
}
