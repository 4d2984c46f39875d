package supervisor

// SuccessionState follows the renewal of the Arbiter.
type SuccessionState struct {
	RenewalStage        string // stage of the Arbiter's renewal
	Renewals            int    // of the Arbiter so far
	GeneratedInRow      int    // of them, in a row, those without a document of its own
	RulingsSinceRenewal int    // rulings since the last renewal
	ShortRenewals       int    // renewals in a row that were due again at once
}
