package journal

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"
)

// Info is what is known about a run without reading its records.
type Info struct {
	Meta
	LastActive time.Time
	Live       bool // some process holds its lock
	PID        int  // of the process that took the lock, if the run is live
	// Unfinished: it has records and was not finished, so it can be resumed.
	// Such a run is never pruned.
	Unfinished bool
	// Empty: it has no records. It may be a run that is just being created.
	Empty bool
	// Damaged: it cannot be opened, or its description is lost. Of a run that was closed, a list does not look at
	// other files. Damage within the records is found only when they are read.
	Damaged bool
	Problem string // what is wrong, if anything
}

// Killed reports that the last process of a run was killed or crashed: it has neither ended nor recorded an end.
func (i Info) Killed() bool { return !i.Live && !i.Empty && !i.Damaged && i.Status == "" }

// List returns all runs, the most recently active first. Of a run that was closed it reads only the description. A
// run that cannot be read is listed with what is known.
func (s *Store) List() ([]Info, error) {
	marked, err := s.live.Names()
	if err != nil {
		return nil, fmt.Errorf("list runs: %w", err)
	}
	names, err := s.runs.Names()
	if err != nil {
		return nil, fmt.Errorf("list runs: %w", err)
	}
	return s.infos(names, func(id string) (Info, error) {
		if slices.Contains(marked, id) {
			return s.info(id)
		}
		return s.described(id)
	}), nil
}

// infos sorts what look says of runs.
func (s *Store) infos(names []string, look func(string) (Info, error)) []Info {
	var all []Info
	for _, name := range names {
		if validID(name) != nil {
			continue
		}
		info, err := look(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue // removed meanwhile
		}
		if err != nil {
			info = Info{Meta: Meta{Run: name}, Damaged: true, Problem: err.Error()}
		}
		all = append(all, info)
	}
	slices.SortFunc(all, func(a, b Info) int {
		return cmp.Or(b.LastActive.Compare(a.LastActive), b.Began.Compare(a.Began), strings.Compare(a.Run, b.Run))
	})
	return all
}

// described returns what the description of a run says of it, if the run was closed since and no process has it.
func (s *Store) described(id string) (Info, error) {
	dir, err := s.runs.Dir(id)
	if err != nil {
		return Info{}, err
	}
	defer dir.Close()
	if m, at, err := readDescription(dir); err == nil && m.Run == id && m.Bytes > 0 && !m.Reopened {
		return Info{Meta: m, LastActive: at, Empty: m.Closed == 0, Unfinished: m.Closed > 0 && !m.Finished}, nil
	}
	return s.info(id)
}

// readDescription reads the description of a run, and when it was written.
func readDescription(dir directory) (m Meta, at time.Time, err error) {
	b, info, err := readSmall(dir, metaName)
	if err == nil {
		err = decodeSmall(b, metaName, metaVersion, &m)
	}
	return m, info.ModTime, err
}

func (s *Store) info(id string) (Info, error) {
	dir, err := s.runs.Dir(id)
	if err != nil {
		return Info{}, err
	}
	defer dir.Close()
	info := Info{Meta: Meta{Run: id}}
	m, lost, err := readMeta(dir, id)
	if err == nil {
		info.Meta = m
	}
	info.Bytes = 0
	info.note(info.files(dir))
	info.note(rescanner(dir, id, 0, nil).find())
	info.note(err)
	if !info.Empty || !errors.Is(lost, fs.ErrNotExist) {
		info.note(lost) // else its creation was interrupted: nothing is lost
	}
	holder, err := holderOf(dir)
	info.note(ignoreMissing(err))
	if holder != nil {
		info.Live, info.PID = true, holder.PID
	}
	return info, nil
}

func (i *Info) note(err error) {
	if err == nil {
		return
	}
	i.Damaged = true
	if i.Problem != "" {
		i.Problem += "; "
	}
	i.Problem += err.Error()
}

// files adds up the sizes of the files of a run.
func (i *Info) files(dir directory) error {
	names, err := dir.Names()
	if err != nil {
		return err
	}
	records := false
	for _, name := range names {
		info, err := statFile(dir, name)
		_, segment := segmentNumber(name)
		if err != nil && segment {
			i.note(err)
		}
		if err != nil {
			continue // another user's file, or one that was just removed
		}
		i.Bytes += info.Used
		if name != lockName && info.ModTime.After(i.LastActive) {
			i.LastActive = info.ModTime
		}
		records = records || (segment && info.Size > headerSize)
	}
	i.Empty, i.Unfinished = !records, records && !i.Finished
	return nil
}

// Find returns the run whose id is prefix or, if there is only one, the run whose id begins with prefix. It opens no
// other run. Otherwise it returns ErrNotFound or *AmbiguousError.
func (s *Store) Find(prefix string) (Info, error) {
	names, err := s.runs.Names()
	if err != nil {
		return Info{}, fmt.Errorf("find run %q: %w", prefix, err)
	}
	if slices.Contains(names, prefix) {
		names = []string{prefix}
	}
	names = slices.DeleteFunc(names, func(name string) bool { return prefix == "" || !strings.HasPrefix(name, prefix) })
	found := s.infos(names, s.info)
	switch len(found) {
	case 0:
		return Info{}, fmt.Errorf("find run %q: %w", prefix, ErrNotFound)
	case 1:
		return found[0], nil
	}
	ambiguous := &AmbiguousError{Prefix: prefix}
	for _, info := range found {
		ambiguous.Matches = append(ambiguous.Matches, info.Run)
	}
	return Info{}, ambiguous
}

// Latest returns the most recently active run of a working directory for which fits returns true, or
// ErrNotFound. A nil fits accepts every run. Links in cwd are resolved.
func (s *Store) Latest(cwd string, fits func(Info) bool) (Info, error) {
	cwd, place := placeOf(cwd)
	all, err := s.List()
	if err != nil {
		return Info{}, err
	}
	for _, info := range all {
		if place != "" && info.Place == place && (fits == nil || fits(info)) {
			return info, nil
		}
	}
	return Info{}, fmt.Errorf("find a run of %s: %w", cwd, ErrNotFound)
}
