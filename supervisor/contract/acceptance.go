package contract

// AcceptanceCriterion is one thing that must hold before the task is complete.
type AcceptanceCriterion struct {
	Text    string `json:"text"`
	Command string `json:"command,omitempty"` // its exit code 0 proves the criterion
	By      string `json:"by,omitempty"`      // "arbiter": the criterion remains one of the Arbiter's
}

// Acceptance is a criterion and its outcome on the final files.
type Acceptance struct {
	Text     string `json:"text" jsonschema:"What must hold."`
	Command  string `json:"command,omitempty" jsonschema:"The command that proves it."`
	By       string `json:"by" jsonschema:"Who set the criterion: human or arbiter."`
	Status   string `json:"status" jsonschema:"The outcome."`
	ExitCode int    `json:"exit_code" jsonschema:"Exit code of the command; -1: no command ran, or it did not end in time."`
	SHA256   string `json:"sha256,omitempty" jsonschema:"SHA-256 of the command's whole output, in hexadecimal."`
	Tree     string `json:"tree,omitempty" jsonschema:"The Git tree that the criterion was tested on; absent without Git."`
	Before   string `json:"before,omitempty" jsonschema:"Of one that passed, on the files before the work: failed at first, or already true."`
}

func (Acceptance) EventName() string { return "acceptance" }
