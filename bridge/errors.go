package bridge

import "fmt"

// Category sorts failures by what a person or a policy can do about them.
type Category string

// Categories of `error` events, failed turns and refused requests.
const (
	CatClaudeMissing Category = "claude_missing"  // no such program, or not executable
	CatUnsupported   Category = "unsupported"     // a CLI version we do not drive
	CatAuth          Category = "auth"            // not logged in, key refused (401, 403)
	CatStart         Category = "could_not_start" // ended or stayed silent before it was ready
	// the session's history cannot be gone on from; another session can be begun
	CatResume         Category = "resume"
	CatCrash          Category = "crash"           // the process ended unasked
	CatProtocol       Category = "protocol"        // broke the wire's rules
	CatOverloaded     Category = "overloaded"      // 529
	CatRateLimit      Category = "rate_limit"      // 429
	CatUsageLimit     Category = "usage_limit"     // the plan's, with a reset time
	CatServer         Category = "api_error"       // 5xx, connection trouble
	CatInvalidRequest Category = "invalid_request" // 400, 404
	CatPromptTooLong  Category = "prompt_too_long" // context exhausted
	CatBudget         Category = "budget"          // --max-budget-usd reached
	CatRefusal        Category = "refusal"         // the model declined
	CatTimeout        Category = "timeout"         // no answer within a deadline
	CatVerdict        Category = "verdict"         // no valid structured output
	CatCompaction     Category = "compaction"      // compaction loop, context refills
	CatTool           Category = "tool"            // a tool failed, and the agent stopped there
	CatTrust          Category = "trust"           // the workspace has changed since it was trusted
	CatSandbox        Category = "sandbox"         // it does not hold, or is not available
	CatHost           Category = "host"            // another host, or the program there, is not as it must be
	CatWorkspace      Category = "workspace"       // its files cannot be recorded, or an agent gets no directory
	CatInternal       Category = "internal"        // a bug in Arbiter
)

// JSON-RPC error codes of this protocol, beside the standard ones.
const (
	CodeUnknownAgent   = -32001 // no agent ever had this id
	CodeAgentExists    = -32002 // one lives under this id
	CodeBusy           = -32003 // a turn runs; use steer, or wait for `turn`
	CodeEnded          = -32004 // the agent's process has ended
	CodeStale          = -32005 // another generation lives under this id
	CodeNotInitialized = -32006 // initialize has not been answered yet
	CodeVersion        = -32007 // protocol versions differ
	CodeClaude         = -32008 // data.category says: claude_missing, unsupported, auth, could_not_start, resume
	CodeTimeout        = -32009 // no answer within a deadline
	CodeUnsupported    = -32010 // this CLI, or this bridge, cannot do it
	CodeShuttingDown   = -32011 // nothing new is begun
	CodeRefused        = -32012 // the CLI answered a control request with an error
	CodeCancelled      = -32013 // its caller gave the request up
)

// ErrorData rides in the `data` member of an error response.
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
	Stderr   string  // the child's last words, if any
	CostUSD  float64 // of a query that failed
	ResetsAt int64   // when a usage limit ends (CatUsageLimit), in Unix seconds; 0 if not told
}

func (e *RPCError) Error() string {
	if e.Category != "" {
		return fmt.Sprintf("%s (%s)", e.Message, e.Category)
	}
	return e.Message
}
