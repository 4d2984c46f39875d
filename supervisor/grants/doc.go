// Package grants keeps what a human allowed for good in a workspace: rules, and exact
// actions of tools. Each workspace has one file in the state directory,
// grants/<sha256 of its resolved path>.json.
//
// The file lets agents do things unasked, so it is believed only if nobody else can
// have written it: it must be a regular file of this user, 0600, with one name, in
// directories of this user that are no links, and say for which workspace it is. What does
// not hold is an error that says what to do, and the file is left as it is; who gets
// such an error has no grants, and asks. An entry that cannot be understood is left out
// and reported, and kept when others are added or removed.
//
// Changes are made under a lock of the kernel's and replace the file in one rename, so
// that several runs may add to it at once and readers need no lock. The package starts
// no goroutines.
package grants
