// Package modelapi sends single questions to a model over HTTP, by OpenAI's Chat Completions, which many
// servers speak, local ones among them, and by Anthropic's Messages. [Client] is a decider.Asker.
//
// # What a server is trusted with
//
// It gets the question and the key, and nothing else. Redirects are not followed, because they would send both
// to a server that the user did not name. Answers are bounded, and the key is masked in them, so that a server
// that echoes the key cannot get it recorded. A [Key] cannot be printed.
//
// # Parameters that a model refuses
//
// Models accept different parameters: some refuse a temperature, some an output schema, some call the limit of
// tokens max_completion_tokens. A request that is refused because of such a parameter is repeated at once
// without it, the answer's notes say so, and later requests leave it out.
//
// # Errors
//
// Each error is an *[Error] that names the address, what happened and what to do. It reports whether asking
// again may help (Transient), when the server wants to be asked again (RetryAfter), and whether every other
// question would fail, too (Hopeless). The caller waits and asks again.
//
// # Concurrency
//
// A client is safe for concurrent use and starts no goroutines of its own. Each question ends with its context.
package modelapi
