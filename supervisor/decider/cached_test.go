package decider

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/arbiter-cli/arbiter/internal/testkit"
)

func TestCachedAsksOnce(t *testing.T) {
	ctx := context.Background()
	asker := says(test)
	store := &MemoryStore{}
	c := Cached{Of: Model{Ask: asker, Prompts: plain{}}, Store: store, Salt: "small"}
	task := record(ran(developer, 1, ok))
	first, err := c.Decide(ctx, SelectInput(task))
	testkit.Need(t, err == nil && first.Source == ByModel, "first: %+v, %v", first, err)
	task.CostUSD, task.EstimatedTokensUsed = 7, 9000 // the same situation in another run
	again := testkit.Must(c.Decide(ctx, SelectInput(task)))(t)
	want := Decision{Decision: SelectMode, Mode: tester, Reason: "Test it.", Message: "Run them all.", Source: ByCache}
	diff := cmp.Diff(want, again)
	testkit.Check(t, diff == "" && asker.count() == 1, "after %d questions (-want +got):\n%s", asker.count(), diff)

	// Everything that makes a different question.
	for i, ask := range []func() (Decision, error){
		func() (Decision, error) { return c.Decide(ctx, EvaluateInput(task)) },
		func() (Decision, error) {
			return c.Decide(ctx, SelectInput(with(task, func(r *DecisionRecord) { r.Task = "Unweave" })))
		},
		func() (Decision, error) {
			c := c
			c.Salt = "large"
			return c.Decide(ctx, SelectInput(task))
		},
	} {
		if d, err := ask(); err != nil || d.Source != ByModel || asker.count() != i+2 {
			t.Errorf("question %d: %+v, %v after %d", i, d, err, asker.count())
		}
	}
}

func TestCachedKeys(t *testing.T) {
	seen := map[string]string{}
	for _, salt := range []string{"", "1:", "a", "ab", "a:b"} {
		for _, input := range []string{"", "b", "bc", "a1:", "b:bc"} {
			for _, in := range []Input{SelectAgentInput{TaskInput: TaskInput{Task: input}},
				EvaluateProgressInput{TaskInput: TaskInput{Task: input}}} {
				what := fmt.Sprintf("%q %q %q", in.Point(), salt, input)
				key := Cached{Salt: salt}.key(in)
				testkit.Check(t, seen[key] == "" && isKey(key), "%s has the key %s of %s", what, key, seen[key])
				seen[key] = what
			}
		}
	}
	// Each of these gives a different key.
	salts := map[string]bool{}
	for _, o := range []Options{{}, {Asked: []string{"a"}}, {Asked: []string{"", "a"}}, {Templates: "a"},
		{Asked: []string{"a\" \"b"}},
		{Asked: []string{"a", "b"}}} {
		o.Store = &MemoryStore{}
		salts[o.model().(Cached).Salt] = true
	}
	testkit.Same(t, fmt.Sprintf("salts of 6 models: %v", salts), 6, len(salts))
}

func TestCachedKeepsNothingDoubtful(t *testing.T) {
	in := EvaluateInput(record(ran(developer, 1, ok)))
	for name, of := range map[string]Decider{
		"an end":         fixed{d: Decision{Decision: Complete, Reason: "x", Summary: "x", Source: ByModel}},
		"a rule's":       Rules{},
		"a fallback":     Fallback{First: fixed{err: errBroken}},
		"a correction":   Model{Ask: says("nonsense", test), Prompts: plain{}},
		"an error":       fixed{d: Decision{Decision: Continue, Reason: "x", Source: ByModel}, err: errBroken},
		"a deferred one": broken{ErrDeferred},
	} {
		store := &MemoryStore{}
		_, err := Cached{Of: of, Store: store}.Decide(context.Background(), in)
		store.byKey.Range(func(_, kept any) bool {
			t.Errorf("%s was kept (error %v): %+v", name, err, kept)
			return true
		})
	}
}

// TestCachedTrustsNoStore: a cached entry must be a decision for this question.
func TestCachedTrustsNoStore(t *testing.T) {
	in := SelectInput(record(ran(developer, 1, ok)))
	for _, found := range []Decision{
		{}, {Decision: SelectMode, Mode: "wizard", Reason: "x"}, {Decision: Continue, Reason: "x"},
		{Decision: Complete, Reason: "x", Summary: "x"}, {Decision: Retry},
	} {
		asker := says(test)
		c := Cached{Of: Model{Ask: asker, Prompts: plain{}}, Store: holding{found}}
		d, err := c.Decide(context.Background(), in)
		testkit.Check(t, err == nil && d.Source == ByModel && asker.count() == 1, "%+v was taken: %+v, %v", found, d, err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	c := Cached{Of: Model{Ask: says(test), Prompts: plain{}}, Store: holding{Decision{Decision: Retry, Reason: "x"}}}
	d, err := c.Decide(ctx, in)
	testkit.Check(t, errors.Is(err, context.Canceled), "cancelled: %+v, %v", d, err)
}

// holding is a store with the same decision for everything.
type holding struct{ d Decision }

func (h holding) Get(string) (Decision, bool) { return h.d, true }
func (h holding) Put(string, Decision)        {}

// TestStoresAreSafe uses a store from several goroutines; it must return what was put.
func TestStoresAreSafe(t *testing.T) {
	s := openDir(t, t.TempDir(), 7)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for i := range 60 {
				key := keyNumber(i % 20)
				s.Put(key, Decision{Decision: Retry, Reason: key})
				d, ok := s.Get(key)
				testkit.Check(t, !ok || d.Reason == key, "under %s is %s", key, d.Reason)
			}
		})
	}
	all.Wait()
}

// conforming are all deciders, each with a model that answers correctly.
func conforming(t *testing.T) map[string]Decider {
	list := map[string]Decider{"hybrid with nobody else": Fallback{First: Hybrid{Rest: broken{errBroken}}}}
	for _, name := range []string{"stateless", "hybrid", "rules", "unknown"} {
		list[name] = Build(Options{Name: name, Ask: says(test), Prompts: plain{}})
		list[name+", cached"] = Build(Options{Name: name, Ask: says(test), Prompts: plain{}, Store: &MemoryStore{}})
		list[name+", in trouble"] = Build(Options{Name: name, Ask: &script{replies: []reply{{err: errBroken}}},
			Prompts: plain{}})
		list[name+", with nonsense"] = Build(Options{Name: name, Ask: says("nonsense"), Prompts: plain{}})
	}
	list["stateless, cached on disk"] = Build(Options{Name: "stateless", Ask: says(test), Prompts: plain{},
		Store: openDir(t, t.TempDir(), 1000)})
	return list
}

// TestDecidersConform puts the same cases to every decider.
func TestDecidersConform(t *testing.T) {
	cases := map[string]DecisionRecord{
		"nothing done": record(),
		"a failure":    record(ran(developer, 1, bad)),
		"the limit":    record(ran(developer, 1, bad), ran(developer, 2, bad), ran(developer, 3, bad)),
		"a plan":       planned(record(ran(planner, 1, ok)), step("pending", developer), step("pending", "")),
		"an end":       planned(record(ran(developer, 1, ok), ran(tester, 2, ok)), step("complete", "")),
		"stopped":      record(ran(developer, 1, cut)),
	}
	for name, d := range conforming(t) {
		for what, task := range cases {
			for range 2 { // the second time, a cache may answer
				in := SelectInput(task)
				got, err := d.Decide(context.Background(), in)
				conforms(t, name+": selecting, "+what, got, err, in)
				if task.History.Len() > 0 {
					got, err = d.Decide(context.Background(), EvaluateInput(task))
					conforms(t, name+": evaluating, "+what, got, err, EvaluateInput(task))
				}
				testkit.Same(t, fmt.Sprintf("%s: the input was changed", name), SelectInput(task), in)
			}
		}
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		got, err := d.Decide(ctx, SelectInput(record(ran(developer, 1, bad))))
		testkit.Check(t, err != nil, "%s: decided %+v after the context's end", name, got)
	}
}

func conforms(t *testing.T, what string, d Decision, err error, in Input) {
	t.Helper()
	if err != nil {
		t.Errorf("%s: %v", what, err)
		return
	}
	testkit.Check(t, actionable(d, in), "%s: %+v cannot be acted on", what, d)
	switch d.Source {
	case ByModel:
		testkit.Check(t, d.Prompt != "" && d.Answer != "" && d.Attempts != 0,
			"%s: a model was asked, and it does not show: %+v", what, d)
	case ByRules, ByCache:
		testkit.Check(t, d.Prompt == "" && d.Attempts == 0 && d.Usage == (Usage{}) && len(d.Warnings) == 0,
			"%s: no model was asked, and it does not show: %+v", what, d)
	case ByFallback:
		testkit.Check(t, len(d.Warnings) != 0 && strings.Contains(strings.Join(d.Warnings, " "), "the rules decide: "),
			"%s: a fallback does not say why: %+v", what, d)
	default:
		t.Errorf("%s: source %q", what, d.Source)
	}
}

func TestDecidersAreSafe(t *testing.T) {
	for name, d := range conforming(t) {
		var all sync.WaitGroup
		for i := range 4 {
			all.Go(func() {
				task := record(ran(developer, 1+i%2, ok))
				_, first := d.Decide(context.Background(), SelectInput(task))
				_, second := d.Decide(context.Background(), EvaluateInput(task))
				testkit.Works(t, name, errors.Join(first, second))
			})
		}
		all.Wait()
	}
}

// full is a record in which every field is set.
func full() DecisionRecord {
	h := made(12, func(i int) DecisionStatus { return []DecisionStatus{StatusSuccess, StatusFailure}[i%2] })
	return DecisionRecord{
		Task: "the task <&>",
		Steps: []DecisionStep{{Description: "one", Status: "done", Mode: "developer", AgentUsed: "orch-1"},
			{Description: "two"}},
		History: h, Error: &DecisionFailure{Agent: "developer", Tool: "Bash", Step: 2, Attempted: "make", Command: "make",
			Message: "exit 1", Category: ToolFailure, At: start, Files: []string{"a.go"}, InputSize: 1, OutputSize: 2},
		Agents: []AgentDescription{{Name: "developer", WhenToUse: "always",
			Tools: ToolLists{Allowed: []string{"Read"}, Blocked: []string{"Write"}}}},
		DecisionConstraints: DecisionConstraints{CurrentIteration: 12, MaxIterations: 50, ConsecutiveFailures: 1,
			MaxConsecutiveFailures: 3, TotalFailures: 6, MaxTotalFailures: 20, EstimatedTokensUsed: 100, CostUSD: 0.5,
			MaxCostUSD: 2},
		Elapsed: time.Minute, Timeout: time.Hour,
	}
}

// later is the same situation in another run: later, slower, more expensive.
func later(r DecisionRecord) DecisionRecord {
	var h DecisionHistory
	for _, e := range r.History.Last(keptExecutions) {
		e.StartedAt = e.StartedAt.Add(1000 * time.Hour)
		e.CompletedAt = e.StartedAt.Add(7 * time.Minute)
		e.Tokens = Tokens{70, 7, 77}
		h = h.Add(e)
	}
	r.History = h
	f := *r.Error
	f.At = f.At.Add(time.Hour)
	r.Error = &f
	r.EstimatedTokensUsed, r.CostUSD, r.Elapsed = 999, 1.5, 55*time.Minute
	return r
}

func TestKeysAreOfTheSituation(t *testing.T) {
	r := full()
	k := Key(SelectInput(r))
	testkit.Check(t, regexp.MustCompile(`^[0-9a-f]{64}$`).MatchString(k), "key %q is not a sha256", k)
	testkit.Same(t, "time and money change a selection's key", Key(SelectInput(later(r))), Key(SelectInput(r)))
	testkit.Same(t, "time and money change an evaluation's key", Key(EvaluateInput(later(r))), Key(EvaluateInput(r)))
	testkit.Check(t, Key(SelectInput(r)) != Key(EvaluateInput(r)) &&
		Key(SelectAgentInput{}) != Key(EvaluateProgressInput{}), "both points have one key")
	a, b := (SelectAgentInput{}),
		SelectAgentInput{TaskInput: TaskInput{History: []ExecutionSummary{}, AvailableAgents: []AgentDescription{}}}
	testkit.Check(t, Key(a) == Key(b), "an absent list and an empty one differ")
}

func TestKeysSurviveTheJournal(t *testing.T) {
	for _, in := range []Input{SelectInput(full()), EvaluateInput(full())} {
		read := reflect.New(reflect.TypeOf(in))
		testkit.OK(t, json.Unmarshal(testkit.Must(json.Marshal(in))(t), read.Interface()))
		got := Key(read.Elem().Interface().(Input))
		testkit.Same(t, fmt.Sprintf("the key of %T that was read back", in), Key(in), got)
	}
}

// TestEveryMemberIsInTheKey changes each member of an input, wherever it is, and checks that the key changes,
// except for members that measure time or money.
func TestEveryMemberIsInTheKey(t *testing.T) {
	in, eval := SelectInput(full()), EvaluateInput(full())
	changed := 0
	for name, f := range map[string]struct {
		value reflect.Value
		key   func() string
	}{
		"select":   {reflect.ValueOf(&in).Elem(), func() string { return Key(in) }},
		"evaluate": {reflect.ValueOf(&eval).Elem(), func() string { return Key(eval) }},
	} {
		before := f.key()
		walk(f.value, name, false, func(path string, v reflect.Value, measure bool) {
			old := reflect.New(v.Type()).Elem()
			old.Set(v)
			switch v.Kind() {
			case reflect.String:
				v.SetString(v.String() + "x")
			case reflect.Int, reflect.Int64:
				v.SetInt(v.Int() + 1)
			case reflect.Float64:
				v.SetFloat(v.Float() + 1)
			case reflect.Bool:
				v.SetBool(!v.Bool())
			default:
				t.Fatalf("%s is a %s", path, v.Kind())
			}
			testkit.Same(t, fmt.Sprintf("%s changed: the key is the same", path), measure, f.key() == before)
			v.Set(old)
			changed++
		})
		testkit.Need(t, f.key() == before, "%s was not put back", name)
	}
	testkit.Check(t, changed >= 150, "only %d members were changed", changed)
}

func walk(v reflect.Value, path string, measure bool, leaf func(string, reflect.Value, bool)) {
	measures := map[string]bool{
		"DurationMS": true, "StartedAt": true, "CompletedAt": true, "Timestamp": true, "TimeElapsedMS": true,
		"EstimatedTimeRemaining": true, "EstimatedTokensUsed": true, "CostUSD": true, "Tokens": true,
		"LastSuccess": true, "LastFailure": true,
	}
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			walk(v.Elem(), path, measure, leaf)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			name := v.Type().Field(i).Name
			walk(v.Field(i), path+"."+name, measure || measures[name], leaf)
		}
	case reflect.Slice:
		for i := range v.Len() {
			walk(v.Index(i), path, measure, leaf)
		}
	default:
		leaf(path, v, measure)
	}
}

func openDir(t *testing.T, dir string, n int) *DirStore {
	t.Helper()
	s := testkit.Must(OpenDirStore(dir, n, func(err error) { t.Error(err) }))(t)
	t.Cleanup(func() { s.Close() })
	return s
}

func keyNumber(i int) string {
	return Cached{}.key(SelectAgentInput{TaskInput: TaskInput{Task: fmt.Sprint(i)}})
}

func TestDirStoreOutlivesItsProcess(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state", "decisions")
	want := Decision{Decision: SelectMode, Mode: tester, Reason: "Täst <it>.", Message: "Run them all.",
		Source: ByModel}
	first := openDir(t, dir, 1000)
	first.Put(keyNumber(1), Decision{Reason: "before"})
	first.Put(keyNumber(1), want)
	testkit.OK(t, first.Close())
	got, ok := openDir(t, dir, 1000).Get(keyNumber(1))
	diff := cmp.Diff(want, got)
	testkit.Check(t, diff == "" && ok, "found %v (-want +got):\n%s", ok, diff)
	_, ok = openDir(t, dir, 1000).Get(keyNumber(2))
	testkit.Check(t, !ok, "found an entry that was never stored")
	_, ok = first.Get(keyNumber(1))
	testkit.Check(t, !ok, "a closed store still answers")
	files, err := os.ReadDir(dir)
	testkit.Need(t, err == nil && len(files) == 1, "%d files, %v; want one", len(files), err)
	for path, mode := range map[string]os.FileMode{dir: 0o700 | os.ModeDir,
		filepath.Join(dir, files[0].Name()): 0o600} {
		info, err := os.Stat(path)
		testkit.Check(t, err == nil && info.Mode() == mode, "%s has mode %v, %v; want %v", path, info.Mode(), err, mode)
	}
}

func TestDirStoreIgnoresDamage(t *testing.T) {
	dir := t.TempDir()
	s := openDir(t, dir, 1000)
	file := filepath.Join(dir, keyNumber(1)+entrySuffix)
	s.Put(keyNumber(1), Decision{Decision: Retry, Reason: "The thread is cut."})
	whole := testkit.Must(os.ReadFile(file))(t)
	for name, text := range map[string][]byte{
		"empty":          {},
		"cut short":      whole[:len(whole)/2],
		"another word":   bytes.Replace(whole, []byte("cut"), []byte("cat"), 1),
		"another's":      bytes.Replace(whole, []byte(keyNumber(1)), []byte(keyNumber(2)), 1),
		"not JSON":       []byte("thread"),
		"no decision":    []byte(`{"key":"` + keyNumber(1) + `","sha256":"` + sum([]byte("7")) + `","decision":7}`),
		"beyond bounds":  append(bytes.Clone(whole), bytes.Repeat([]byte(" "), maxEntry)...),
		"from elsewhere": []byte(`{"decision":"RETRY","reason":"x"}`),
	} {
		testkit.OK(t, os.WriteFile(file, text, 0o600))
		d, ok := s.Get(keyNumber(1))
		testkit.Check(t, !ok, "%s: found %+v", name, d)
	}
	s.Put(keyNumber(1), Decision{Decision: Retry, Reason: "Whole again."})
	d, ok := s.Get(keyNumber(1))
	testkit.Check(t, ok && d.Reason == "Whole again.", "found %+v, %v after it was put anew", d, ok)
}

func TestDirStoreStaysInItsDirectory(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "outside")
	dir := t.TempDir()
	first := openDir(t, dir, 1000)
	first.Put(keyNumber(1), Decision{Decision: Retry, Reason: "x"})
	testkit.OK(t, os.Rename(filepath.Join(dir, keyNumber(1)+entrySuffix), outside))
	testkit.OK(t, os.Symlink(outside, filepath.Join(dir, keyNumber(1)+entrySuffix)))
	d, ok := first.Get(keyNumber(1))
	testkit.Check(t, !ok, "a link was followed to %+v", d)
	within := filepath.Join(dir, "within")
	testkit.OK(t, os.Rename(outside, within), os.Remove(filepath.Join(dir, keyNumber(1)+entrySuffix)),
		os.Symlink("within", filepath.Join(dir, keyNumber(1)+entrySuffix)))
	d, ok = first.Get(keyNumber(1))
	testkit.Check(t, !ok, "a link within was followed to %+v", d)
	var warned []string
	s := testkit.Must(OpenDirStore(dir, 1000, func(err error) { warned = append(warned, err.Error()) }))(t)
	defer s.Close()
	for _, key := range []string{"", "../outside", strings.ToUpper(keyNumber(1)), strings.Repeat("/", 64)} {
		s.Put(key, Decision{Decision: Retry, Reason: "x"})
		_, ok := s.Get(key)
		testkit.Check(t, !ok, "%q is a key", key)
	}
	testkit.Same(t, fmt.Sprintf("times warned: %q", warned), 4, len(warned))
}

func TestDirStoreIsBounded(t *testing.T) {
	dir := t.TempDir()
	s := openDir(t, dir, 10)
	old := time.Now().Add(-time.Hour)
	for i := range 10 {
		s.Put(keyNumber(i), Decision{Decision: Retry, Reason: "x"})
		used := old.Add(time.Duration(i) * time.Second)
		testkit.OK(t, os.Chtimes(filepath.Join(dir, keyNumber(i)+entrySuffix), used, used))
	}
	s.Get(keyNumber(0)) // used last: it stays
	s.Put(keyNumber(10), Decision{Decision: Retry, Reason: "x"})
	var kept []int
	for i := range 11 {
		if _, ok := s.Get(keyNumber(i)); ok {
			kept = append(kept, i)
		}
	}
	testkit.Same(t, "kept", []int{0, 3, 4, 5, 6, 7, 8, 9, 10}, kept)
	for i := range 10 * 3 {
		s.Put(keyNumber(i), Decision{Decision: Retry, Reason: "x"})
	}
	files, err := os.ReadDir(dir)
	testkit.Check(t, err == nil && len(files) <= 10, "%d files, %v; at most 10", len(files), err)
}

func TestDirStoreCleansUpWhenOpened(t *testing.T) {
	dir := t.TempDir()
	stale, fresh, foreign := keyNumber(1)+".json.X.tmp", keyNumber(2)+".json.X.tmp", "README"
	for _, name := range []string{stale, fresh, foreign} {
		testkit.OK(t, os.WriteFile(filepath.Join(dir, name), nil, 0o600))
	}
	old := time.Now().Add(-2 * staleTemp)
	for _, name := range []string{stale, foreign} {
		testkit.OK(t, os.Chtimes(filepath.Join(dir, name), old, old))
	}
	openDir(t, dir, 1000)
	want := []string{fresh, foreign}
	slices.Sort(want)
	testkit.Same(t, "left", want, testkit.Must(fs.Glob(os.DirFS(dir), "*"))(t))
}

func TestDirStoreReportsErrors(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	testkit.OK(t, os.WriteFile(file, nil, 0o600))
	testkit.Fails(t, "a file was opened as a directory", testkit.Err(OpenDirStore(file, 9, nil)))
	dir := t.TempDir()
	var warned []error
	s := testkit.Must(OpenDirStore(dir, 1000, func(err error) { warned = append(warned, err) }))(t)
	s.Put(keyNumber(1), Decision{Decision: Retry, Reason: strings.Repeat("x", maxEntry)})
	s.Close()
	s.Put(keyNumber(1), Decision{Decision: Retry, Reason: "x"})
	testkit.Same(t, fmt.Sprintf("failures warned of: %v", warned), 2, len(warned))
	testkit.Same(t, "files", 0, len(testkit.Must(os.ReadDir(dir))(t)))
}

// MemoryStore keeps decisions as long as the test lasts.
type MemoryStore struct{ byKey sync.Map }

// Get implements [Store].
func (s *MemoryStore) Get(key string) (Decision, bool) {
	d, ok := s.byKey.Load(key)
	if !ok {
		return Decision{}, false
	}
	return d.(Decision), true
}

// Put implements [Store].
func (s *MemoryStore) Put(key string, d Decision) { s.byKey.Store(key, d) }
