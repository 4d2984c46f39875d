// Package summons summons Orchestrators.
//
// [Check] decides whether the run may have another one, whose work it takes up, and on which host it lives ([Place]).
// [Summon] makes it and posts its brief. [Forget] drops the records of those that are gone for long.
//
// Package supervisor counts the summons against the limits of the task machine, between the check and the summons.
//
// Events: handoff from a predecessor; those of packages process and delivery.
package summons
