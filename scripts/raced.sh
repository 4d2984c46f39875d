# shellcheck shell=bash
# shellcheck disable=SC2034
# Which tests run with the race detector, and which without; sourced behind lib.sh, not run.
# Every test runs in one of the two ways.

# path_and_dir prints each package with its directory.
path_and_dir() { (cd "$root" && go list -f '{{.ImportPath}} {{.Dir}}' ./...); }

# dirs_where prints the packages whose files of that pattern match an expression.
dirs_where() {
  local files="$1" expression="$2" package dir
  path_and_dir | while read -r package dir; do
    # shellcheck disable=SC2086 # a pattern
    if (cd "$dir" && grep -qE "$expression" $files 2>/dev/null); then printf '%s\n' "$package"; fi
  done
}

all="$(cd "$root" && go list ./... | sort)"

# Without goroutines, locks and channels there is nothing for a detector to find, and it takes
# ten times as long. What is computed once (sync.Once, OnceValue) does not count.
concurrent="$(dirs_where '*.go' '^[[:space:]]*(defer )?go (func|[a-zA-Z_.]+\()|\bsync\.[A-NP-Z]|\batomic\.|<-|\.Go\(|synctest' | sort)"
# Of these packages it holds, too, though they have a lock or a test of many readers or of processes at once.
once="$(cd "$root" && go list ./tui/eventview ./tui/editor ./supervisor/decision ./supervisor/prompts ./supervisor/policy ./internal/workspace/worktree ./cmd/arbiter/internal/acpagent/acpschema | sort)"
pure="$(comm -23 <(printf '%s\n' "$all") <(comm -23 <(printf '%s\n' "$concurrent") <(printf '%s\n' "$once")) | grep -vE '/importrules$')"

# Of some packages it holds for some tests only.
pure_of='./bridge ./bridge/crashpoint ./internal/memory ./supervisor/decider ./supervisor/journal ./transcript ./tui ./tui/history ./tui/plain'
pure_tests='TestCrashStates|TestEveryBitFlipped|TestCodecOutputIsBounded|TestMemoryIsFlat|TestEveryFieldIsHostile'
pure_tests+='|TestHostileLooksLikeClean|TestFindMatchesReading|TestScreens|TestModelOutputIsShown|TestFirstScreenIsClean|TestEveryKeyMeansSomething|TestRendersAreClean'
pure_tests+='|TestAgentActivityIsShown|TestScene|TestCockpit|TestTraffic'
# Processes of these are killed; the other tests of the journal show the detector what runs in them.
pure_tests+='|TestKilledAtEachPoint|TestTruncatedAnywhere|TestKilledOften|TestRealFailingCalls'
# What these press and read is handled on the one goroutine that draws; the detector sees them at night.
screen_tests='TestPermissionModeCycles|TestPermissionIsWidened|TestThePanelByMouse|TestHaltIsShown|TestControls|TestSubagentsFold'
screen_tests+='|TestTimeline|TestPlanChangesMeanwhile|TestInboxPanel|TestAnswersOfAnOpenedDialog|TestPermissionsAreChanged'
screen_tests+='|TestTileOpensItsAgent|TestTrustCheckIsNotShownAsBusy|TestAllowAllIsInSight|TestRecoveryOptions|TestPalette'
pure_tests+="|$screen_tests"
pure_tests+='|TestParametersOfAQueryAreChecked|TestTerminalParametersAreChecked|TestOverlongLineIsSkipped|TestPointsAreTheCalls'
pure_tests+='|TestOutcomesAreBounded|TestParseDecisionIsBounded|TestRulesEnd'
pure_tests+='|TestTape|TestTornFiles|TestLoggedEventsAreNotStoredTwice'
pure_tests+='|TestRead100MB|TestOpenEntriesHoldNoText|TestModelOutputIsPlainText|TestBackwardBounds|TestBackwardLines|TestLastLineEnd'

# These loops are short with the detector, and longer without it.
loops='FuzzFrontend|TestWindowOfTwoSizes'

# The driver against the real CLI, and the other tests with it, are raced at night: it is the
# CLI that runs then, and what of it is ours runs with the detector against the stand-in.
driver="$(cd "$root" && go list ./bridge/claude)"
live_tests='TestLive.*|TestClaude'
# These tests of the driver have a program of their own in the CLI's place: with the detector
# they have shown all.
driver_alone='TestProbeDistinguishesSilences|TestQueryOfACLIThatMisbehaves|TestDeathsInMidTurn|TestStdinIsNotRead|TestLongLines|TestStartFailures'
driver_alone+='|TestStandInStopsReading|TestStubbornIsKilled|TestOrderlyStopIsShortened|TestClosedStdoutIsAnEnd|TestClosedStdin'
# These show with the stand-in and the detector what they show with the real CLI, whose version is pinned; with that, at night.
driver_at_night='TestLiveResumeContext|TestLiveToolCallOfASubagent|TestLiveSubagentAccounting|TestLivePromptTooLong'
driver_at_night+='|TestProbeOfAStoppedProcess|TestRepeatAfterResume|TestDeliveryStatusOfFoldedMessage|TestResumeOfNothing|TestBrokenHistory'
driver_at_night+='|TestLiveQueryTimeout|TestTranscriptMovedOrGone|TestLiveWarnings|TestLiveQueriesOfAScenario|TestLiveDoubt'
driver_at_night+='|TestDeliveryStatusOnAnAbandonedBranch|TestLiveTasks|TestLiveRefill|TestLiveMeterDuringFailures|TestLiveQueryFails'
driver_at_night+='|TestMessageInterruptedBeforeItWasRead|TestLiveSideQuestionAndConfigure|TestLiveTextTurn|TestLiveQuestionIsDenied'
driver_at_night+='|TestLiveSettingsHold|TestLiveSlashIsText|TestInterruptIsReadAfterTheMessage|TestLiveLongPromptAndSchema|TestLiveCompactionBlocked'
driver_at_night+='|TestLiveWindow|TestLiveTodos|TestLiveToolShell|TestLiveRetryIsReported|TestLiveBudget|TestLiveKeys|TestLiveDeniedTools'
driver_at_night+='|TestRefusedTurnUsesNothing|TestLiveQueryCancelled|TestLiveStartFailures|TestLiveSandboxCrash|TestRepeatIsDropped'
driver_at_night+='|TestLiveQueryWithoutAVerdict|TestDeliveryStatusAfterCrash|TestLiveQueryOfEveryLength|TestLiveQueryWithoutASchema|TestTerminalIsClosed'
# Conversations of the scripted model with the real CLI that others of the list contain.
live_at_night=('TestClaude/^(local-commands|permission-modes|command-line|tool-sets|hooks-inside|hooks-eof|tool-errors|merge|limits|eof-pending)$'
  'TestLiveFaults/^(error_event|cut_after|status:_400)' 'TestLiveExample' 'TestLiveFilling' 'TestLiveAsides' 'TestLiveInterrupted')
live="$(dirs_where '*_test.go' "^func (TestLive[A-Z][A-Za-z]*|TestClaude)\\(t" | grep -vE '/tui/|/cmd/arbiter$' | grep -vxF "$driver")"

rooms="$(comm -23 <(printf '%s\n' "$all") <(printf '%s\n' "$pure" "$live" | sort) | grep -vxE '.*/(cmd/arbiter|importrules)' | grep -vxF "$driver")"

# Of the tests of whole programs, and of real terminals with an emulator behind them, some of
# each kind run with the detector, which makes a screen that hangs hard to tell from one that
# is late. What the others are made of runs with it, too, in its own package.
plays='TestSmallJob|TestMessagesToUnavailableAgents|TestKilledBridge|TestHookPassesAnswersOn|TestResume|TestPermission.*'
plays+='|TestScreenFromTheFirstWordToTheEnd|TestTrustInTheRun'
# These, too, at night; for each change they run without it.
plays_at_night='TestStopAfterJournalFailure|TestSuspended|TestInterruptedAtAnyMoment|TestCLIKilledInMidTurn|TestSignals|TestReaderGoesAway'
plays_at_night+='|TestBridgeFromOutside|TestStrays|TestScreenGoesOn|TestStoppedAgent|TestHaltWhereTheRunStandsStill|TestAgentsCannotHalt'
plays_at_night+='|TestTerminalOfAnAttachmentIsClosed|TestOneRunManyClients|TestFullDialogue'
plays_at_night+='|TestImpatientSignals|TestTerminalGone|TestResumeWhileOldBridgeRuns|TestKilledArbiterLeavesNothing|TestSteering'
plays_at_night+='|TestALostBridgeLeavesTheState'

# What .ci/run leaves to the night: plays that show with whole programs once more what tests of packages, shorter plays
# or scripts/chaos show for each change. scripts/test and scripts/nightly run all of them. Every entry is a pattern of
# -skip, one for a test or for some of its cases.
at_night=(
  # Claude Code in a place where the stand-in has shown the same; the version of the CLI is pinned.
  'TestTraces/claude' 'TestACPWithTheSDK/claude' 'TestCLIKilledInMidTurn/claude' 'TestFullDialogue/claude'
  'TestBothKilledAtWork/claude' 'TestSteering/claude' 'TestATreeIsCutDown/claude' 'TestOneRunManyClients/claude'
  'TestKilledArbiterLeavesNothing/claude' 'TestAnImageReachesTheModel/claude' 'TestAPIFaults/claude'
  'TestModeRulesDenies/claude' 'TestCompactionLoop' 'TestCompactionBlocked' 'TestDoctorLive' '^TestTrust$/^trusted'
  'TestTerminalGoneDuringTerminalUse/claude' 'TestFeatureInteractions//of/claude' 'TestAttacks/^(1|4|15|19)_row'
  # Cases that differ from others in the moment, the frontend or the terminal only.
  'TestWaysToLeave/^(Ctrl.C_many_times|q|quit|cancel|HUP)$' 'TestTerminalGoneDuringTerminalUse/_told,'
  'TestInterruptedAtAnyMoment/(first_life,_[1357]|second_life,_[024])' 'TestImpatientSignals'
  'TestGenerationsOverKills/stand-in/(the_document|the_Arbiter_is_asked|its_process|its_successor_has)'
  'TestFeatureInteractions//of/by_(plain|page|editor)' 'TestCutAndTakenUp/stand-in/./(arbiter|bridge)' 'TestBeside/stand-in/a_check_runs'
  'TestAnotherTask/stand-in/^(parallel|generations|demo)' 'TestTerminals/^(screen|tmux|vt220|linux|xterm,)'
  'TestKilledInEachState/^(evaluating,|selecting,)' 'TestCLIFaults/^(split|stderr-flood|big-line:65M|exit-mid-turn|double-result)'
  'TestWorkflowByDeciders/^(stateless|rules)' 'TestNoHumanAtStdin/^(directory|null)' 'TestDoctorOfOthers/^no_(questions|schema|control)'
  'TestAReviewersBlocker/^(rules|stateless)' 'TestPanic/^loop.(append|spawned|emit)' 'TestWorkflowLimits/^(failures|time)'
  # Loads, and places that chaos, fuzzing or a test of a package visits too.
  'TestHostileAgents' 'TestStubbornAgents' 'TestScreenResizeStorm' 'TestFlood' 'TestFloodOnTheScreen' 'TestHostileRunNames'
  'TestGreedyAgents' 'TestRealWorldRepositories' 'TestRepositoriesInUnsettledStates' 'TestProvidersAnswersAreCached'
  'TestTerminalOfAnAttachmentIsClosed' 'TestSilentAgent' 'TestNeverReady' 'TestTheArbiterIsLost' 'TestHostilePlain'
  '^TestWaysOutOfAFailure' 'TestBadCollector' 'TestTerminalIsReminded' 'TestDecisionsAreMadeAgainByAModel' 'TestModelIsTriedOnInput'
  'TestAgentDies' 'TestRepeatedDenialsAskTheHuman' 'TestGitLabOverTwoJobs' 'TestAlwaysHere' 'TestGivenUpWhileItIsHandedOver'
  'TestAuthorsOfFilesOfFailedCheck' 'TestPauseWithoutAHumanEndsTheRun' 'TestTimeZones' 'TestHaltWhereTheRunStandsStill'
  'TestCrashLoopOfAnOrchestrator' 'TestTheArbiterIsBroughtBack' 'TestImportOfFiles'
)

# skipped makes one pattern of -skip of its arguments.
skipped() {
  local IFS='|'
  printf '%s' "$*"
}
