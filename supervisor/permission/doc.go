// Package permission keeps the permission requests of a run that wait for a human, and what the human has granted.
//
// A request is open while an agent's process waits for its answer. When that process is gone with an earlier life of
// the run, nothing waits any more: the request becomes unclaimed, and is open again, under its id, if its agent asks
// for the same action again. A human may answer it meanwhile; the answer is kept for that case.
//
// [State] is the part of the run's state; its methods change it and collect effects. What the mode and the rules say of
// a call is found out elsewhere (package policy) and comes in as a [Finding]. Any doubt is a deny.
//
// Events: permission_request when a request opens, permission when one is answered.
package permission
