package journal

import (
	"bytes"
	"maps"
	"math/rand/v2"
	"slices"
)

// crashDisk follows the log of a memFS and knows what is durable at each point. What is not durable may or may
// not be on the disk after a power cut, independently for each change: syncing a file does not sync its
// directory, nor the other way round, and a write may be partial. What a failed sync did not write looks
// written and is lost permanently: no later sync makes it durable.
// written and is lost for good: no later sync makes it durable.
type crashDisk struct {
	nodes map[int]*diskNode
}

type diskNode struct {
	entries map[string]int // durable
	data    []byte         // durable
	loose   []looseOp      // later changes, in order
}

type looseOp struct {
	diskOp
	doubtful bool
}

func newCrashDisk() *crashDisk {
	return &crashDisk{nodes: map[int]*diskNode{}}
}

// diskOf treats a memFS as completely durable.
func diskOf(m *memFS) *crashDisk {
	d := newCrashDisk()
	for _, n := range m.nodes {
		d.nodes[n.id] = &diskNode{entries: maps.Clone(n.entries), data: bytes.Clone(n.data)}
	}
	return d
}

func (d *crashDisk) node(id int) *diskNode {
	n := d.nodes[id]
	if n == nil {
		n = &diskNode{entries: map[string]int{}}
		d.nodes[id] = n
	}
	return n
}

func (d *crashDisk) follow(o diskOp) {
	n := d.node(o.node)
	switch o.kind {
	case "promise":
	case "sync":
		var left []looseOp
		for _, l := range n.loose {
			if l.doubtful {
				left = append(left, l)
			} else {
				n.apply(l.diskOp, l.data)
			}
		}
		n.loose = left
	case "syncfail":
		for i := range n.loose {
			n.loose[i].doubtful = true
		}
	case "link":
		d.node(o.child)
		fallthrough
	default:
		n.loose = append(n.loose, looseOp{diskOp: o})
	}
}

func (n *diskNode) apply(o diskOp, data []byte) {
	switch o.kind {
	case "link":
		n.entries[o.name] = o.child
	case "unlink":
		delete(n.entries, o.name)
	case "rename":
		if n.entries[o.name] == o.child {
			delete(n.entries, o.name)
		}
		n.entries[o.to] = o.child
	case "write":
		n.data = writeAt(n.data, data, o.off)
	case "truncate":
		n.data = truncate(n.data, o.off)
	case "free":
		free(n.data, o.off, int64(len(o.data)))
	}
}

// powerCut decides what happens to a change that is not durable.
type powerCut func(o diskOp) (how int)

const (
	dropped = iota
	applied
	tornByte // a part of the write, to some byte
	tornSectors
	tornZero // the file has grown and contains zeros
)

// cut returns the disk after a power cut.
func (d *crashDisk) cut(decide powerCut, rnd *rand.Rand) *memFS {
	m := &memFS{}
	for id := range len(d.nodes) {
		from := d.nodes[id]
		n := &diskNode{entries: maps.Clone(from.entries), data: bytes.Clone(from.data)}
		for _, l := range from.loose {
			switch how := decide(l.diskOp); {
			case how == dropped:
			case l.kind != "write" || how == applied:
				n.apply(l.diskOp, l.data)
			default:
				n.tear(l.diskOp, how, rnd)
			}
		}
		m.nodes = append(m.nodes, &memNode{id: id, entries: n.entries, data: n.data})
	}
	return m
}

func (n *diskNode) tear(o diskOp, how int, rnd *rand.Rand) {
	switch how {
	case tornByte:
		n.apply(o, o.data[:rnd.IntN(len(o.data)+1)])
	case tornZero:
		n.apply(o, make([]byte, len(o.data)))
	case tornSectors:
		const sector = 512
		whole := n.data
		n.data = writeAt(slices.Clone(n.data), nil, o.off+int64(len(o.data)))
		for at := o.off; at < o.off+int64(len(o.data)); {
			end := min((at/sector+1)*sector, o.off+int64(len(o.data)))
			if rnd.IntN(2) == 0 {
				n.data = writeAt(n.data, o.data[at-o.off:end-o.off], at)
			} else if at < int64(len(whole)) {
				copy(n.data[at:end], whole[at:])
			}
			at = end
		}
	}
}

// powerCuts are the simulated effects of a power cut: the plain ones, and as many random ones as requested.
func powerCuts(rnd *rand.Rand, random int) []powerCut {
	all := []powerCut{
		func(diskOp) int { return dropped },
		func(diskOp) int { return applied },
		func(o diskOp) int { // names before data
			if o.kind == "write" || o.kind == "truncate" {
				return dropped
			}
			return applied
		},
		func(o diskOp) int { // data before names
			if o.kind == "write" || o.kind == "truncate" {
				return applied
			}
			return dropped
		},
		func(diskOp) int { return tornZero },
		func(diskOp) int { return tornByte },
		func(diskOp) int { return tornSectors },
	}
	for range random {
		all = append(all, func(diskOp) int { return rnd.IntN(5) })
	}
	return all
}
