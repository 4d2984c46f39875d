package policy

import "strings"

// pathIndex finds rules about files: by the directory that a rule's literal beginning
// names, then by a literal segment behind it.
type pathIndex struct {
	dirs   map[string]*pathBucket
	moving []int // rules whose place is found out anew for each request
	first  int   // the first rule that has a root
}

// pathBucket are the rules that begin at one directory.
type pathBucket struct {
	all   []int            // those about everything below it
	parts map[string][]int // by the last segment without wildcards
	ends  map[string][]int // by the extension, where that is *.go
	rest  []int
}

func (p *pathIndex) add(i int, at *region) {
	if !at.ok {
		return
	}
	p.first = min(p.first, i)
	p.put(i, at.base, at.segs)
	if at.link != "" {
		p.moving = append(p.moving, i)
	} else if at.real != "" {
		p.put(i, at.real, at.realSegs)
	}
}

func (p *pathIndex) put(i int, dir string, segs []string) {
	for len(segs) > 0 && !hasMeta(segs[0]) {
		dir, segs = strings.TrimSuffix(dir, "/")+"/"+segs[0], segs[1:]
	}
	for len(segs) > 0 && segs[len(segs)-1] == "**" {
		segs = segs[:len(segs)-1]
	}
	dir = folded(dir)
	b := p.dirs[dir]
	if b == nil {
		b = &pathBucket{parts: map[string][]int{}, ends: map[string][]int{}}
		p.dirs[dir] = b
	}
	if len(segs) == 0 {
		b.all = once(b.all, i)
		return
	}
	for n := len(segs) - 1; n >= 0; n-- {
		if !hasMeta(segs[n]) {
			key := folded(segs[n])
			b.parts[key] = once(b.parts[key], i)
			return
		}
	}
	if tail, ok := strings.CutPrefix(segs[len(segs)-1], "*"); ok && !hasMeta(tail) {
		if end := extension(folded(tail)); end != "" {
			b.ends[end] = once(b.ends[end], i)
			return
		}
	}
	b.rest = once(b.rest, i)
}

// once appends a rule that may stand there already, by its other beginning.
func once(places []int, i int) []int {
	if n := len(places); n > 0 && places[n-1] == i {
		return places
	}
	return append(places, i)
}

// lookUp gives the rules that may be about a path.
func (p *pathIndex) lookUp(name string, try func([]int)) {
	name = folded(name)
	if strings.HasPrefix(name, "/") {
		p.dirs["/"].lookUp(name, try)
	}
	for i := 1; i <= len(name); i++ {
		if i == len(name) || name[i] == '/' {
			p.dirs[name[:i]].lookUp(name[i:], try)
		}
	}
}

// lookUp is nil-safe: rest are the segments below the bucket's directory.
func (b *pathBucket) lookUp(rest string, try func([]int)) {
	if b == nil {
		return
	}
	try(b.all)
	try(b.rest)
	if len(b.parts) == 0 && len(b.ends) == 0 {
		return
	}
	for part := range strings.SplitSeq(rest, "/") {
		try(b.parts[part])
		if end := extension(part); end != "" && len(b.ends) > 0 {
			try(b.ends[end])
		}
	}
}

func extension(name string) string {
	if i := strings.LastIndexByte(name, '.'); i >= 0 {
		return name[i:]
	}
	return ""
}

// folded is a key for a name where two cases are one file.
func folded(s string) string {
	if caseFolds {
		return strings.ToLower(s)
	}
	return s
}
