package contract

// AcceptanceCriterion is one thing that must hold before the task is complete.
type AcceptanceCriterion struct {
	Text    string `json:"text"`
	Command string `json:"command,omitempty"` // its exit code 0 proves the criterion
	By      string `json:"by,omitempty"`      // "arbiter": it stays one that the Arbiter set
}

// Acceptance is a criterion and what it came to on the final tree.
type Acceptance struct {
	Text     string `json:"text" jsonschema:"What must hold."`
	Command  string `json:"command,omitempty" jsonschema:"The command that proves it."`
	By       string `json:"by" jsonschema:"Who set the criterion: human or arbiter."`
	Status   string `json:"status" jsonschema:"What it came to."`
	ExitCode int    `json:"exit_code" jsonschema:"Exit code of the command; -1: none ran, or it did not end in time."`
	SHA256   string `json:"sha256,omitempty" jsonschema:"Of the command's whole output, in hexadecimal."`
	Tree     string `json:"tree,omitempty" jsonschema:"The Git tree that it was judged on; absent without Git."`
}

func (Acceptance) EventName() string { return "acceptance" }
