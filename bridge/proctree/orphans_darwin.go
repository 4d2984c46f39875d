package proctree

// orphans adds nobody: orphans go to launchd, among everybody else's.
func (snapshot) orphans(procSet) {}
