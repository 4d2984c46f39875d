package supervisor

// Kinds of messages, the second word of an envelope's first line.
const (
	KindTask         = "task"         // the human's first message
	KindMessage      = "message"      // a message while no Orchestrator works
	KindAnswer       = "answer"       // to a question
	KindInterjection = "interjection" // a human's message while Orchestrators work
	KindBrief        = "brief"        // the work that an Orchestrator is spawned for
	KindInstruction  = "instruction"  // the Arbiter's message to one that did not ask
	KindRetry        = "retry"
	KindReport       = "report" // the Arbiter's message to the human while work continues
	KindQuestion     = "question"
	KindContinue     = "continue"
	KindCorrection   = "correction"
	KindNotice       = "notice"
	KindRelief       = "relief"  // hand off: the context is nearly full
	KindRenewal      = "renewal" // the same for the Arbiter
	KindComplete     = "complete"
)
