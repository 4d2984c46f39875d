// Package verdict defines the structured end of an agent's turn: the Arbiter's decision, an Orchestrator's
// report, and the hand-off document of both. It contains their types, the JSON Schemas that are given to the
// model, and the parsers that check what a schema cannot express.
//
// The schemas are flat: one object with properties, no combinators and no
// references, because the Messages API answers 400 to every request that carries
// a tool whose schema has oneOf, anyOf or allOf at the top level. What depends on
// another field is therefore checked here, and a violation is a *[Problem] whose
// text is the correction sent to the model.
//
// Only the supervisor knows whether an agent or a mode exists; this package does not
// check it. The package has no goroutines and does no I/O.
package verdict
