// Package remote moves the commits of a run to a bare repository on another host and back.
//
// Both directions go through Git's transport ext, which runs the host's command. That transport is allowed for these
// calls only. They do not run in the user's repository but in a temporary one that borrows its objects:
//
//   - The configuration of the user's repository, which an agent may have changed, cannot redirect them.
//   - What comes from the host is checked ([Limits], fsck of every object) before the user's repository gets it.
//   - One branch of this run is fetched, by its full name. Other references, tags and submodules are not.
//
// Nothing is forced on the host: what a host has under the same name is there already or is refused.
package remote
