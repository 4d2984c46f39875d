package bridge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/sourcegraph/jsonrpc2"
)

// Category sorts failures by what a person or a policy can do about them.
type Category string

// Categories of `error` events, failed turns and refused requests.
const (
	CatClaudeMissing Category = "claude_missing"  // no such program, or not executable
	CatUnsupported   Category = "unsupported"     // a CLI version that Arbiter does not support
	CatAuth          Category = "auth"            // not logged in, or the key was refused (401, 403)
	CatCredit        Category = "credit"          // the API account has no credit left (402)
	CatStart         Category = "could_not_start" // the process ended or was silent before it was ready
	// the session's history cannot be resumed; a new session can be started
	CatResume         Category = "resume"
	CatCrash          Category = "crash"           // the process ended unexpectedly
	CatProtocol       Category = "protocol"        // a violation of the protocol
	CatOverloaded     Category = "overloaded"      // 529
	CatRateLimit      Category = "rate_limit"      // 429
	CatUsageLimit     Category = "usage_limit"     // a usage limit of the plan, with a reset time
	CatServer         Category = "api_error"       // 5xx, or a connection problem
	CatInvalidRequest Category = "invalid_request" // 400, 404
	CatPromptTooLong  Category = "prompt_too_long" // context exhausted
	CatBudget         Category = "budget"          // --max-budget-usd reached
	CatRefusal        Category = "refusal"         // the model declined
	CatTimeout        Category = "timeout"         // no answer within a deadline
	CatVerdict        Category = "verdict"         // no valid structured output
	CatCompaction     Category = "compaction"      // a compaction loop: the context fills again at once
	CatTool           Category = "tool"            // a tool failed, and the agent stopped there
	CatHook           Category = "hook"            // a hook of the user's settings refuses the message
	CatTrust          Category = "trust"           // the workspace has changed since it was trusted
	CatSandbox        Category = "sandbox"         // the sandbox does not hold, or is not available
	CatHost           Category = "host"            // another host, or the program there, cannot be used
	CatWorkspace      Category = "workspace"       // the files cannot be recorded, or an agent cannot get a directory
	CatInternal       Category = "internal"        // a bug in Arbiter
)

// JSON-RPC error codes of this protocol, in addition to the standard ones.
const (
	CodeUnknownAgent   = -32001 // there was never an agent with this id
	CodeAgentExists    = -32002 // an agent with this id is running
	CodeBusy           = -32003 // a turn runs; use steer, or wait for `turn`
	CodeEnded          = -32004 // the agent's process has ended
	CodeStale          = -32005 // another generation is running under this id
	CodeNotInitialized = -32006 // initialize has not been answered yet
	CodeVersion        = -32007 // protocol versions differ
	CodeClaude         = -32008 // data.category says why: claude_missing, unsupported, auth, could_not_start, resume
	CodeTimeout        = -32009 // no answer within a deadline
	CodeUnsupported    = -32010 // this CLI, or this bridge, does not support it
	CodeShuttingDown   = -32011 // the bridge is shutting down and starts nothing new
	CodeRefused        = -32012 // the CLI answered a control request with an error
	CodeCancelled      = -32013 // the caller cancelled the request
)

// ErrorData is the `data` member of an error response.
type ErrorData struct {
	Category Category `json:"category,omitempty"`
	Stderr   string   `json:"stderr,omitempty"`
	CostUSD  float64  `json:"cost_usd,omitempty"`  // of a query that failed
	ResetsAt int64    `json:"resets_at,omitempty"` // when a usage limit ends, in Unix seconds
}

// RPCError is a typed failure of a request. Code is one of the Code… constants
// or a standard JSON-RPC code.
type RPCError struct {
	Code     int
	Category Category
	Message  string
	Stderr   string  // the last lines of the child's stderr, if any
	CostUSD  float64 // of a query that failed
	ResetsAt int64   // when a usage limit ends (CatUsageLimit), in Unix seconds; 0: not reported
}

func (e *RPCError) Error() string {
	if e.Category != "" {
		return fmt.Sprintf("%s (%s)", e.Message, e.Category)
	}
	return e.Message
}

// Is makes an error of a bridge that is shutting down match [ErrClosed]: such a bridge starts nothing new
// and will soon end.
func (e *RPCError) Is(target error) bool { return target == ErrClosed && e.Code == CodeShuttingDown }

func rpcErrorf(code int, message string) *RPCError { return &RPCError{Code: code, Message: message} }

// toWire converts the error of a failed request to an error response.
func toWire(err error) *jsonrpc2.Error {
	var e *RPCError
	switch {
	case errors.As(err, &e):
	case errors.Is(err, context.DeadlineExceeded):
		e = &RPCError{Code: CodeTimeout, Category: CatTimeout, Message: err.Error()}
	case errors.Is(err, context.Canceled):
		e = &RPCError{Code: CodeCancelled, Message: "the request was cancelled"}
	default:
		e = &RPCError{Code: jsonrpc2.CodeInternalError, Category: CatInternal, Message: err.Error()}
	}
	wire := &jsonrpc2.Error{Code: int64(e.Code), Message: e.Message}
	if e.Message == "" {
		wire.Message = err.Error()
	}
	if data := (ErrorData{e.Category, e.Stderr, e.CostUSD, e.ResetsAt}); data != (ErrorData{}) {
		wire.SetError(data)
	}
	return wire
}

// fromWire is its inverse. It ignores data in another format.
func fromWire(wire *jsonrpc2.Error) *RPCError {
	e := &RPCError{Code: int(wire.Code), Message: wire.Message}
	if wire.Data != nil {
		var data ErrorData
		if json.Unmarshal(*wire.Data, &data) == nil {
			e.Category, e.Stderr, e.CostUSD, e.ResetsAt = data.Category, data.Stderr, data.CostUSD, data.ResetsAt
		}
	}
	return e
}
