package journal

import "time"

// DefaultMaxBytes is the default of [Options.MaxBytes].
const DefaultMaxBytes = 256 << 20

// Options tune a run. The zero value gives the defaults.
type Options struct {
	// Committed is called when all records up to upTo are durable. It runs on the writer's goroutine, which
	// writes nothing until it returns; it may call Append, but not Sync, Update, Finish or Close.
	Committed func(upTo uint64)
	// Trouble is called, on the same goroutine and under the same rules, when pending records cannot be made
	// durable, again when the cause changes, and with nil when it is over. Pending records are lost only if the
	// process ends meanwhile. The caller must refuse new input until then.
	Trouble func(err error)

	// MaxPending bounds the bytes that wait for the disk: above it narration is dropped, above twice of it
	// inputs are refused. Default: 64 MiB.
	MaxPending int
	// MaxBytes bounds what a resume reads into memory: the last snapshot, and the inputs since. Above it inputs are
	// refused. The event log does not count: no process has to hold it. Default: 256 MiB.
	MaxBytes int64
	// History bounds the segments that are kept in addition to those that a resume needs, in bytes, for
	// [Store.ReadAll]. Default: none.
	History int64
	// Retry is how long the writer waits before it repeats what failed. Default: 500 ms.
	Retry time.Duration
	// CloseWait bounds how long Close waits for pending records. Default: 5 s.
	CloseWait time.Duration
}

func (o Options) withDefaults() Options {
	if o.Committed == nil {
		o.Committed = func(uint64) {}
	}
	if o.Trouble == nil {
		o.Trouble = func(error) {}
	}
	o.MaxPending = orDefault(o.MaxPending, 64<<20)
	o.MaxBytes = orDefault(o.MaxBytes, DefaultMaxBytes)
	o.Retry = orDefault(o.Retry, 500*time.Millisecond)
	o.CloseWait = orDefault(o.CloseWait, 5*time.Second)
	return o
}

func orDefault[T int | int64 | time.Duration](v, otherwise T) T {
	if v <= 0 {
		return otherwise
	}
	return v
}
