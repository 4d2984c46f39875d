package proctree

// orphans adds none: orphans go to launchd, among those of all other processes.
func (snapshot) orphans(procSet) {}
