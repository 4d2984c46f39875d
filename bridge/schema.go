package bridge

import (
	_ "embed"
	"reflect"
)

// Schema is a JSON document with the JSON Schema of every message of the protocol. TestSchema makes it from the Go
// types and their comments: `go test ./bridge -run TestSchema -update` writes it.
//
//go:embed schema.json
var Schema []byte

// methodKind is one row of the table of methods, as the schema shows it.
type methodKind struct {
	name   string
	from   string       // who sends it
	params reflect.Type // its comment describes the method
	result reflect.Type // nil for a notification
}

func request[P, R any](name, from string) methodKind {
	return methodKind{name, from, reflect.TypeFor[P](), reflect.TypeFor[R]()}
}

// methodKinds lists every method of the protocol. `event` is described by the
// table of events.
var methodKinds = []methodKind{
	request[InitializeParams, InitializeResult](MethodInitialize, "client"),
	request[SpawnParams, SpawnResult](MethodSpawn, "client"),
	request[MessageParams, Empty](MethodMessage, "client"),
	request[InterruptParams, InterruptResult](MethodInterrupt, "client"),
	request[KillParams, Empty](MethodKill, "client"),
	request[ContextParams, ContextResult](MethodContext, "client"),
	request[AskParams, AskResult](MethodAsk, "client"),
	request[ConfigureParams, Empty](MethodConfigure, "client"),
	request[ProbeParams, ProbeResult](MethodProbe, "client"),
	request[CheckParams, CheckResult](MethodCheck, "client"),
	request[InspectParams, InspectResult](MethodInspect, "client"),
	request[QueryParams, QueryResult](MethodQuery, "client"),
	request[SandboxParams, SandboxResult](MethodSandbox, "client"),
	request[ShutdownParams, ShutdownResult](MethodShutdown, "client"),
	{MethodCancel, "both", reflect.TypeFor[CancelParams](), nil},
	request[PTYOpenParams, PTYOpenResult](MethodPTYOpen, "client"),
	request[PTYWriteParams, Empty](MethodPTYWrite, "client"),
	request[PTYResizeParams, Empty](MethodPTYResize, "client"),
	request[PTYCloseParams, Empty](MethodPTYClose, "client"),
	request[ResolveParams, ResolveResult](MethodResolve, "client"),
	request[InventoryParams, InventoryResult](MethodInventory, "client"),
	request[PrepareWorkParams, WorkResult](MethodPrepareWork, "client"),
	request[CommitWorkParams, CommitWorkResult](MethodCommitWork, "client"),
	request[RemoveWorkParams, RemoveWorkResult](MethodRemoveWork, "client"),
	{MethodEvent, "bridge", reflect.TypeFor[AgentRef](), nil},
	request[ToolCallParams, ToolCallResult](MethodToolCall, "bridge"),
	request[PermissionParams, PermissionResult](MethodPermission, "bridge"),
	request[JudgeParams, JudgeResult](MethodJudge, "bridge"),
	request[TickParams, Empty](MethodTick, "bridge"),
}
