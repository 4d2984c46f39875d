// Package webnotify notifies a phone or a chat when a run waits for its human or has ended: one POST for each, to an
// ntfy topic or a webhook.
//
// A notification says who waits for what kind of answer in which run. It holds nothing that an agent wrote: no
// question, command, file or code. Its only text is the title of the task, which the human wrote, with secrets masked.
//
// A [Notifier] owns one goroutine, which posts one notification after the other. Nothing waits for it: notifications
// beyond its queue are dropped, and [Notifier.Close] gives it a bounded time to end.
package webnotify
