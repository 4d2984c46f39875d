package journal

import "os"

// syncData asks the drive itself (F_FULLFSYNC, which is what Sync is here).
func syncData(f *os.File) error { return f.Sync() }
