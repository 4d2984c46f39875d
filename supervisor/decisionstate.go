package supervisor

// DecisionState holds what is to be decided, by whom, and what was.
type DecisionState struct {
	Decisions int       // rulings of the run, whoever made them
	Posed     *Posed    // what the Arbiter was shown with the message it rules on
	Readings  []Reading // what it has taken up since it last ruled, oldest first
	Deciding  *Posed    // what another decider is asked
	Questions int       // put to it so far
	Yielded   bool      // that one leaves it to the Arbiter
	Unnoted   []Decided // decisions that are not recorded yet
	Regency   string    // why the rules decide in the Arbiter's place; empty: they do not
	Rulings   []Ruling  // the ledger of decisions, oldest first
}
