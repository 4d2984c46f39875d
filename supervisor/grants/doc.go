// Package grants stores what a human always allows in a workspace: rules, and exact
// actions of tools. Each workspace has one file in the state directory,
// grants/<sha256 of its resolved path>.json.
//
// The file lets agents act without asking, so it counts only if no other user can have written it: it must be a
// regular file of this user, mode 0600, with one name, in directories of this user that are not links, and it
// must contain its workspace's path. Otherwise the package returns an error that says what to do, and does not
// change the file; the caller then has no grants, and asks. An entry that cannot be parsed is ignored and
// reported, but kept when others are added or removed.
//
// Changes hold a kernel lock and replace the file in one rename, so
// that several runs may add to it at once and readers need no lock. The package starts
// no goroutines.
package grants
