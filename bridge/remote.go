package bridge

// RemoteParams asks for a bridge on another host. Such a bridge holds a lock for the run and its own name, ends an
// earlier bridge that holds it, and ends itself when its client is out of reach for longer than the lease.
type RemoteParams struct {
	// Version is that of the client's program. Another one at the bridge is refused.
	Version string `json:"version"`
	// Dir is where directories of agents are made, absolute or beginning with ~/. Empty: the bridge chooses.
	Dir string `json:"dir,omitempty"`
	// LeaseMS is how long the bridge continues without an answer to a `tick`, counted from the sending of the last
	// one that was answered.
	LeaseMS int64 `json:"lease_ms"`
	// PassEnv is added to the environments of agents, terminals and queries.
	PassEnv map[string]string `json:"pass_env,omitempty"`
}

// RemoteInfo is what a remote bridge reports about its host.
type RemoteInfo struct {
	Hostname string `json:"hostname"`
	OS       string `json:"os"`
	Arch     string `json:"arch"`
	Home     string `json:"home"`  // absolute, symbolic links as they are
	Dir      string `json:"dir"`   // absolute; agents' directories lie below it
	Cache    string `json:"cache"` // Git directory of the repository that base commits are pushed to
	LeaseMS  int64  `json:"lease_ms"`
	// Namespace is what the bridge is isolated by: pid, user+pid or none.
	Namespace string `json:"namespace,omitempty"`
	// Sandbox is bubblewrap's path there; empty: there is none, and SandboxReason says why.
	Sandbox       string `json:"sandbox,omitempty"`
	SandboxReason string `json:"sandbox_reason,omitempty"`
	// SandboxHide are directories of the host's that agents in a sandbox are not to see.
	SandboxHide []string `json:"sandbox_hide,omitempty"`
	// Ended is how many processes of an earlier bridge of this run were ended.
	Ended int `json:"ended,omitempty"`
	// FoldsCase says that the file system usually takes two cases for one name.
	FoldsCase bool `json:"folds_case,omitempty"`
}

// TickParams is sent by a remote bridge, four times in each lease. The answer renews the lease.
type TickParams struct{}

// ResolveParams asks where paths lead. All are looked at, in one request.
type ResolveParams struct {
	Paths []string `json:"paths"` // absolute
}

// ResolveResult has an entry for each path, in order.
type ResolveResult struct {
	Paths []ResolvedPath `json:"paths"`
}

// ResolvedPath is where a path leads: every symbolic link is followed as the kernel would, and what does not exist
// stays as it is.
type ResolvedPath struct {
	Path string `json:"path"` // where it leads
	// Exists says that something has the path's own name: a link that leads nowhere, too.
	Exists bool   `json:"exists,omitempty"`
	Error  string `json:"error,omitempty"` // it could not be followed; Path is empty then
}

// InventoryParams asks what the workspace of a directory brings along that would run, or change agents.
type InventoryParams struct {
	Dir string `json:"dir"`
}

// InventoryResult lists it.
type InventoryResult struct {
	Dir   string          `json:"dir"`  // without links
	Root  string          `json:"root"` // of the repository, or Dir
	Items []InventoryItem `json:"items"`
}

// InventoryItem is one thing that a workspace brings along.
type InventoryItem struct {
	Kind   string `json:"kind"`
	File   string `json:"file"` // below the root, or absolute
	Name   string `json:"name,omitempty"`
	What   string `json:"what"`
	SHA256 string `json:"sha256"` // of all that counts of it; holds no path of the workspace
}

// PrepareWorkParams makes the directory of an Orchestrator, or finds it.
type PrepareWorkParams struct {
	Orchestrator int    `json:"orchestrator"`
	Generation   int    `json:"generation"`       // that creates it
	Kind         string `json:"kind"`             // worktree, or clone for agents in a sandbox
	Base         string `json:"base"`             // commit that its branch begins at; the cache has it
	Subdir       string `json:"subdir,omitempty"` // of the run's directory below the top of its work tree
}

// WorkResult is that directory.
type WorkResult struct {
	Dir    string `json:"dir"`    // top of the files
	CWD    string `json:"cwd"`    // where the agent works
	Branch string `json:"branch"` // short name
	Base   string `json:"base"`   // commit that the branch began at
	Kind   string `json:"kind"`
	// Write are directories that an agent in a sandbox has to write to for its commits.
	Write []string `json:"write,omitempty"`
}

// CommitWorkParams commits what is uncommitted in the directory of an Orchestrator. No agent may work there meanwhile.
type CommitWorkParams struct {
	Orchestrator int    `json:"orchestrator"`
	Message      string `json:"message"`
}

// CommitWorkResult is what the directory then holds. The branch is in the cache, at Head.
type CommitWorkResult struct {
	Head    string   `json:"head"`
	Tree    string   `json:"tree"`
	Branch  string   `json:"branch"`
	Trouble []string `json:"trouble,omitempty"` // files that could not be recorded
}

// RemoveWorkParams saves and removes the directory of an Orchestrator.
type RemoveWorkParams struct {
	Orchestrator int  `json:"orchestrator"`
	Force        bool `json:"force,omitempty"` // also if not all can be saved
	// Head is the commit that the client has of its branch: if the branch is there, it goes, too. Empty: the branch
	// stays in the cache. With the last directory of a run go the base commits that were pushed for it.
	Head string `json:"head,omitempty"`
}

// RemoveWorkResult is what was saved of it, in the cache.
type RemoveWorkResult struct {
	Ref     string   `json:"ref,omitempty"` // empty if there was nothing to save
	Commit  string   `json:"commit,omitempty"`
	Trouble []string `json:"trouble,omitempty"` // what could not be saved
}
