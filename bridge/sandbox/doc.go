// Package sandbox confines what the bridge starts for agents, by bubblewrap: it
// makes a command line, and proves that it holds.
//
// # What is confined
//
// The root is read-only. Writable are the workspace, what the configuration names,
// what the CLI itself has to keep (transcripts, sessions; see [bridge.SandboxConfig]),
// and temporary directories that are private to each process tree and gone with it.
// Not there at all is what holds credentials (see hidden.go), the sockets of daemons
// that would do outside what cannot be done inside, and what the configuration hides:
// arbiter's own state and sockets above all. Code that others run later cannot be
// planted in the usual places: a repository's hooks and configuration, its submodules' and
// worktrees', are read-only, what they lie in cannot be moved away, and the CLI's settings,
// agents, skills and plugins are read-only, too. Shell snapshots and the like, which tool
// shells of other sessions run, are each process tree's own. A home directory, or what lies
// in one that is hidden, is refused as a workspace.
//
// The workspace itself is the agent's. Anybody who runs something of it outside – a Makefile, a
// test, .envrc, tasks of an editor – runs what an agent may have written, and so does who
// runs git there: a repository inside of it (a submodule that is none, a commondir, a bare
// one) has a configuration of its own. What arbiter itself runs to look at it is confined
// as agents are.
//
// Not confined is the network: the CLI needs its API. So abstract unix sockets and
// services on loopback can be reached. What the CLI reads to log in, its tools can
// read, too: it is one process tree of one user. Other processes of that user can be
// signalled where the bridge is in no PID namespace, but neither read nor traced.
//
// # How it is held
//
// Mounts are made in the order of their depth, so that what is inside of a hidden or
// private directory can be shown again, and what is inside of a writable one hidden.
// It is a user namespace of its own, root's too, without capabilities: /proc and /sys are
// read-only, mounts cannot be undone, and processes outside cannot be looked into. A user
// namespace that a process makes for itself inherits the mounts locked together. Files of
// other users appear as nobody's, and nobody becomes another user (sudo does not work).
//
// # Processes
//
// Bubblewrap stays as a monitor above the one process that it confines, in the same
// process group; that ends it by TERM, so signals are to go to the others of the group
// ([proctree.StartMonitored]). There is no PID namespace: the CLI names files after its
// pid, which sessions share (observed with CLI 2.1.329), and the subreaper, the marks in
// the environment and the account of CPU and memory work as they do without a sandbox.
// --die-with-parent is not used: it is tied to the thread that forked, and Go's come
// and go.
//
// # The probe
//
// [Verify] runs a probe behind the same command line. What it says counts only
// together with what is seen from outside: the file it had to write is there, those it
// could not are not, and its mounts and capabilities are not ours. Nothing of the
// package keeps a goroutine.
package sandbox
