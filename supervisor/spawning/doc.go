// Package spawning starts Orchestrators.
//
// [Check] decides whether the run may have another Orchestrator, whose work it continues, and on which host it
// runs ([Hosts.Place]). [Summon] creates it and posts its brief. [Forget] drops the records of Orchestrators
// that ended long ago.
//
// Package supervisor counts the spawn against the limits of the task machine, between the check and the spawn.
//
// Events: handoff from a predecessor; those of packages process and delivery.
package spawning
