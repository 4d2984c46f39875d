package contract

// Events about files, and their parts.
type (
	// Workspace says where an agent works.
	Workspace struct {
		Dir       string `json:"dir" jsonschema:"The directory."`
		Branch    string `json:"branch,omitempty" jsonschema:"The Git branch, if the agent has a directory of its own."`
		Base      string `json:"base,omitempty" jsonschema:"The commit that its changes are compared with."`
		Isolation string `json:"isolation" jsonschema:"shared, worktree or clone."`
	}
	// Changes lists the files that changed in an agent's turn.
	Changes struct {
		Files []FileChange `json:"files" jsonschema:"The changed files, by path."`
		More  int          `json:"more,omitempty" jsonschema:"How many files the list leaves out."`
	}
	// Overlap says that several live agents changed the same file.
	Overlap struct {
		Path   string   `json:"path" jsonschema:"The file, relative to the top of the work tree."`
		Agents []string `json:"agents" jsonschema:"The agents that changed it."`
	}
	// Merge says that the work of an Orchestrator with a directory of its own was merged, or why it was not.
	Merge struct {
		Status string   `json:"status" jsonschema:"merged or conflict. After a conflict, nothing has changed."`
		Head   string   `json:"head" jsonschema:"The commit of the run branch; after a conflict, the commit to merge."`
		Files  []string `json:"files" jsonschema:"The files that the merge changed, or that are in conflict."`
	}
)

// Fork is where a run branched off from another one.
type Fork struct {
	Run     string  `json:"run" jsonschema:"The id of that run."`
	At      int     `json:"at" jsonschema:"The number of the decision before which this run branched off."`
	CostUSD float64 `json:"cost_usd" jsonschema:"What that run had cost by then. The costs of this run begin with it."`
}

// FileChange is a file that changed in an agent's turn. Agents are the agents that changed it meanwhile; if Unsure, at
// least one of them did.
type FileChange struct {
	Path    string   `json:"path"`
	Old     string   `json:"old,omitempty"` // its former path, if it was renamed
	Status  string   `json:"status"`        // added, modified, deleted, renamed, retyped
	Added   int      `json:"added"`         // lines; 0 in a binary file
	Deleted int      `json:"deleted"`
	Agents  []string `json:"agents"`
	Unsure  bool     `json:"unsure,omitempty"` // not each of Agents is known to have changed it
}

// ResultChanges sums up what a run changed.
type ResultChanges struct {
	Files   int    `json:"files"`
	Added   int    `json:"added"` // lines
	Deleted int    `json:"deleted"`
	Branch  string `json:"branch,omitempty"` // run branch, if agents had directories of their own
	Head    string `json:"head"`             // commit with the files as they are at the end
}

func (Workspace) EventName() string { return "workspace" }
func (Changes) EventName() string   { return "changes" }
func (Overlap) EventName() string   { return "overlap" }
func (Merge) EventName() string     { return "merge" }
