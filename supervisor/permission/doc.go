// Package permission keeps the permission requests of a run that wait for a human, and the human's grants.
//
// A request is open while an agent's process waits for its answer. When that process ended with an earlier
// process of the run, the request becomes unclaimed. It is open again, under the same id, if its agent asks for
// the same action again. A human may answer it meanwhile; the answer is kept for that case.
//
// [State] is this part of the run's state; its methods change it and collect effects. Package policy judges a
// call by mode and rules; the result comes in as a [Finding]. In any doubt, a call is denied.
//
// Events: permission_request when a request opens, permission when one is answered.
package permission
