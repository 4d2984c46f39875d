package journal

import "time"

// Options tune a run. The zero value is good.
type Options struct {
	// Committed is called when all records up to upTo are durable. It runs on
	// the writer's goroutine, which writes nothing until it returns; it may
	// call Append, but neither Sync, Update, Finish nor Close.
	Committed func(upTo uint64)
	// Trouble is called, on the same goroutine and under the same rules, when
	// what is pending cannot be made durable, again when the cause changes,
	// and with nil when it is over. Nothing is lost meanwhile but with the
	// process; refuse new input until then.
	Trouble func(err error)

	// MaxPending bounds the bytes that wait for the disk: beyond it narration is
	// dropped, beyond twice of it inputs are refused. 64 MiB.
	MaxPending int
	// NarrationBytes is the size of the run's files, the event log among them, at which
	// narration is not written any more. 192 MiB.
	NarrationBytes int64
	// MaxBytes is the size at which inputs are refused. 256 MiB.
	MaxBytes int64
	// Retry is how long to wait before what failed is tried again. 500 ms.
	Retry time.Duration
	// CloseWait bounds what Close waits for pending records. 5 s.
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
	o.NarrationBytes = orDefault(o.NarrationBytes, 192<<20)
	o.MaxBytes = orDefault(o.MaxBytes, 256<<20)
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
