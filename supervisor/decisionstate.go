package supervisor

// DecisionState holds what is to be decided, by whom, and what was.
type DecisionState struct {
	Decisions       int              // rulings of the run, whoever made them
	ArbiterRequest  *DecisionRequest // what the Arbiter was shown with the message it rules on
	Readings        []Reading        // what it has taken up since it last ruled, oldest first
	DeciderRequest  *DecisionRequest // what another decider is asked
	DeciderRequests int              // put to it so far
	DeciderYielded  bool             // that one leaves it to the Arbiter
	Unrecorded      []Decided        // decisions that are not recorded yet
	FallbackReason  string           // why the rules decide in the Arbiter's place; empty: they do not
	Rulings         []Ruling         // the ledger of decisions, oldest first
}
