// Package remote moves the commits of a run to a bare repository on another host and back.
//
// Both directions go through Git's transport ext, which runs the host's command. That transport is allowed
// for these calls only. They do not run in the user's repository but in a temporary one that borrows its
// objects:
//
//   - The configuration of the user's repository, which an agent may have changed, cannot redirect them.
//   - Objects from the host are checked ([Limits], fsck of every object) before the user's repository gets them.
//   - Only one branch of this run is fetched, by its full name; other references, tags and submodules are not.
//
// Nothing is overwritten on the host: if the host has a reference of the same name, it must be equal, or
// the push is refused.
package remote
