package bridge

// RemoteParams asks for a bridge on another host. Such a bridge holds a lock for the run and its own name, ends an
// earlier bridge that holds it, and ends itself when its client is out of reach for longer than the lease.
type RemoteParams struct {
	// Version is the version of the client's program. A bridge of another version refuses the request.
	Version string `json:"version"`
	// Dir is where the bridge creates agents' directories, absolute or beginning with ~/. Empty: the bridge chooses.
	Dir string `json:"dir,omitempty"`
	// LeaseMS is how long the bridge continues without an answer to a `tick`. The time begins when it sends a tick
	// that is answered.
	LeaseMS int64 `json:"lease_ms"`
	// PassEnv is added to the environments of agents, terminals and queries.
	PassEnv map[string]string `json:"pass_env,omitempty"`
	// Programs are looked for on the host, each as it would be started there.
	Programs []string `json:"programs,omitempty"`
}

// RemoteInfo is what a remote bridge reports about its host.
type RemoteInfo struct {
	Hostname string `json:"hostname"`
	OS       string `json:"os"`
	Arch     string `json:"arch"`
	// Cores is how many processors the bridge may use.
	Cores   int    `json:"cores,omitempty"`
	Home    string `json:"home"`  // absolute; symbolic links are not resolved
	Dir     string `json:"dir"`   // absolute; agents' directories are below it
	Cache   string `json:"cache"` // the Git directory of the repository to which base commits are pushed
	LeaseMS int64  `json:"lease_ms"`
	// Namespace is the kind of namespaces that the bridge runs in: pid, user+pid or none.
	Namespace string `json:"namespace,omitempty"`
	// Sandbox is the path of bubblewrap on the host; empty: there is no sandbox, and SandboxReason says why.
	Sandbox       string `json:"sandbox,omitempty"`
	SandboxReason string `json:"sandbox_reason,omitempty"`
	// SandboxHide are directories of the host that are not visible to agents in a sandbox.
	SandboxHide []string `json:"sandbox_hide,omitempty"`
	// Missing are those of RemoteParams.Programs that are not there.
	Missing []string `json:"missing,omitempty"`
	// Ended is how many processes of an earlier bridge of this run were ended.
	Ended int `json:"ended,omitempty"`
}

// TickParams is sent by a remote bridge four times in each lease. The answer renews the lease.
type TickParams struct{}

// ResolveParams asks where paths lead. One request covers all of them.
type ResolveParams struct {
	Paths []string `json:"paths"` // absolute
}

// ResolveResult has an entry for each path, in order.
type ResolveResult struct {
	Paths []ResolvedPath `json:"paths"`
}

// ResolvedPath is where a path leads: the bridge follows every symbolic link as the kernel does. Parts that do not
// exist are left unchanged.
type ResolvedPath struct {
	Path string `json:"path"` // the resolved path
	// Exists says that the path itself exists, even if it is a link to nothing.
	Exists bool   `json:"exists,omitempty"`
	Error  string `json:"error,omitempty"` // why the path could not be resolved; Path is then empty
}

// InventoryParams asks which files of a directory's workspace can run code or change agents.
type InventoryParams struct {
	Dir string `json:"dir"`
}

// InventoryResult lists these files.
type InventoryResult struct {
	Dir   string          `json:"dir"`  // symbolic links resolved
	Root  string          `json:"root"` // the root of the repository, or Dir
	Items []InventoryItem `json:"items"`
}

// InventoryItem is one item of a workspace that can run code or change agents.
type InventoryItem struct {
	Kind   string `json:"kind"`
	File   string `json:"file"` // relative to the root, or absolute
	Name   string `json:"name,omitempty"`
	What   string `json:"what"`
	SHA256 string `json:"sha256"` // of all contents that matter; independent of the workspace's path
}

// PrepareWorkParams makes the directory of an Orchestrator, or finds it.
type PrepareWorkParams struct {
	Orchestrator int    `json:"orchestrator"`
	Generation   int    `json:"generation"`       // the generation that creates it
	Kind         string `json:"kind"`             // worktree, or clone for agents in a sandbox
	Base         string `json:"base"`             // the commit at which its branch begins; the cache contains it
	Subdir       string `json:"subdir,omitempty"` // the run's directory, relative to the top of its work tree
}

// WorkResult describes the directory of an Orchestrator.
type WorkResult struct {
	Dir    string `json:"dir"`    // the top of the work tree
	CWD    string `json:"cwd"`    // where the agent works
	Branch string `json:"branch"` // short name
	Base   string `json:"base"`   // the commit at which the branch began
	Kind   string `json:"kind"`
	// Write are directories that must be writable for the commits of an agent in a sandbox.
	Write []string `json:"write,omitempty"`
}

// CommitWorkParams commits all uncommitted changes in the directory of an Orchestrator. No agent may work there at
// the same time.
type CommitWorkParams struct {
	Orchestrator int    `json:"orchestrator"`
	Message      string `json:"message"`
}

// CommitWorkResult is the state of the directory after the commit. The branch is in the cache, at Head.
type CommitWorkResult struct {
	Head     string   `json:"head"`
	Tree     string   `json:"tree"`
	Branch   string   `json:"branch"`
	Problems []string `json:"trouble,omitempty"` // files that could not be recorded
}

// RemoveWorkParams saves and removes the directory of an Orchestrator.
type RemoveWorkParams struct {
	Orchestrator int  `json:"orchestrator"`
	Force        bool `json:"force,omitempty"` // remove it even if not everything can be saved
	// Head is the commit of its branch that the client has: if the branch is at this commit, it is removed, too. Empty:
	// the branch stays in the cache. Together with the last directory of a run, the base commits that were pushed for
	// the run are removed.
	Head string `json:"head,omitempty"`
}

// RemoveWorkResult is what was saved of the directory, in the cache.
type RemoveWorkResult struct {
	Ref      string   `json:"ref,omitempty"` // empty if there was nothing to save
	Commit   string   `json:"commit,omitempty"`
	Problems []string `json:"trouble,omitempty"` // what could not be saved
}
