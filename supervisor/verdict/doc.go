// Package verdict holds what an agent's turn ends in: the Arbiter's decision, an
// Orchestrator's word, and the hand-off document both may carry. It has their
// types, the JSON Schemas that are given to the model, and the parsers that check
// what a schema cannot say.
//
// The schemas are flat: one object with properties, no combinators and no
// references, because the Messages API answers 400 to every request that carries
// a tool whose schema has oneOf, anyOf or allOf at the top level. What depends on
// another field is therefore checked here, and a violation is a *[Problem] whose
// text is the correction sent to the model.
//
// Whether an id lives or a mode exists is known to the supervisor alone and is not
// checked here. The package has no goroutines and does no I/O.
package verdict
