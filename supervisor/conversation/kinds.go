package conversation

// Kinds of messages, the second word of an envelope's first line.
const (
	KindTask         = "task"         // the human's first word
	KindMessage      = "message"      // a word outside of any work
	KindAnswer       = "answer"       // to a question
	KindInterjection = "interjection" // a human's word while Orchestrators work
	KindBrief        = "brief"        // what an Orchestrator is summoned for
	KindInstruction  = "instruction"  // the Arbiter's word to one that did not ask
	KindRetry        = "retry"
	KindReport       = "report" // the Arbiter's word to the human while work continues
	KindQuestion     = "question"
	KindContinue     = "continue"
	KindCorrection   = "correction"
	KindNotice       = "notice"
	KindRelief       = "relief"  // hand off: the context is at its end
	KindRenewal      = "renewal" // the same for the Arbiter
	KindComplete     = "complete"
)
