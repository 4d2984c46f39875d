package proctree

func procAt(pid int) (proc, error) { return readProc(pid) }
