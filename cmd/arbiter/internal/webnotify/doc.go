// Package webnotify notifies a phone or a chat when a run waits for its human or has ended: one POST for each, to an
// ntfy topic or a webhook.
//
// A notification says who waits for what kind of answer in which run. It contains nothing that an agent wrote: no
// question, command, file or code. Its only text is the title of the task, which the human wrote, with secrets
// masked.
//
// A [Notifier] owns one goroutine, which posts notifications one after the other. No caller waits for it:
// notifications that do not fit into its queue are dropped, and [Notifier.Close] waits a limited time for its end.
package webnotify
