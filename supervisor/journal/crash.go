package journal

// CrashPoint, if set, is called with the name of each place where a crash leaves the disk in a different state.
// Set it before the first use of the package.
var CrashPoint func(name string)

// CrashPoints lists the names CrashPoint is called with.
var CrashPoints = []string{
	"journal.store.mkdir.before",
	"journal.store.mkdir.after",
	"journal.create.mkdir.before",
	"journal.create.mkdir.after",
	"journal.create.syncdir.before",
	"journal.create.syncdir.after",
	"journal.lock.write.before",
	"journal.lock.truncate.before",
	"journal.meta.write.before",
	"journal.meta.sync.before",
	"journal.meta.rename.before",
	"journal.meta.syncdir.before",
	"journal.meta.syncdir.after",
	"journal.segment.create.before",
	"journal.segment.write.before",
	"journal.segment.sync.before",
	"journal.segment.rename.before",
	"journal.segment.syncdir.before",
	"journal.segment.syncdir.after",
	"journal.segment.unlink.before",
	"journal.snapshot.before",
	"journal.events.write.before",
	"journal.events.sync.before",
	"journal.events.sync.after",
	"journal.events.cut.before",
	"journal.events.again.before",
	"journal.events.pack.before",
	"journal.events.free.before",
	"journal.commit.write.before",
	"journal.commit.sync.before",
	"journal.commit.sync.after",
	"journal.commit.committed.before",
	"journal.commit.truncate.before",
	"journal.commit.truncate.after",
	"journal.damage.write.before",
	"journal.damage.sync.before",
	"journal.damage.syncdir.before",
	"journal.open.tidy.before",
	"journal.close.before",
	"journal.close.after",
	"journal.remove.rename.before",
	"journal.remove.unlink.before",
	"journal.remove.syncdir.before",
}

func crash(name string) {
	if CrashPoint != nil {
		CrashPoint(name)
	}
}
