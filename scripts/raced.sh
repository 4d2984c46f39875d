# shellcheck shell=bash
# Which tests run with the race detector, and which without; sourced behind lib.sh, not run.

all="$(cd "$root" && go list ./...)"

# One goroutine, and no memory that another knows: there is nothing for a detector to
# find, and it takes ten times as long. Of some packages that holds for some tests only.
pure="$(cd "$root" && go list ./tui/eventview ./tui/render ./tui/editor ./tui/keys ./tui/notify ./tui/slash ./tui/pages ./tui/markdown ./tui/listview ./cmd/arbiter/internal/manual \
  ./supervisor/machine ./supervisor/decision ./supervisor/prompts ./supervisor/verdict ./supervisor/envelope ./supervisor/restart \
  ./supervisor/agents ./sanitize)"
# The tests of ./supervisor that only call Apply skip themselves in builds with the detector.
both=./supervisor
pure_of='./supervisor/journal ./tui ./tui/history'
pure_tests='TestCrashStates|TestEveryBitFlipped|TestWhatIsKeptIsBounded|TestMemoryIsFlat|TestEveryFieldIsHostile'
pure_tests+='|TestHostileLooksLikeClean|TestFindAgreesWithLooking|TestScreens|TestModelOutputIsShown|TestFirstScreenIsClean|TestEveryKeyMeansSomething|TestRendersAreClean'

# The driver against the real CLI is raced by itself, now and then: for the most part it is
# the CLI that runs, and what of it is ours runs with the detector against the stand-in.
driver="$(cd "$root" && go list ./bridge/claude)"
rooms="$(comm -23 <(sort <<<"$all") <(sort <<<"$pure") | grep -vxE '.*/(cmd/arbiter|importrules)' | grep -vxF "$driver")"

# Of the tests of whole programs, and of real terminals with an emulator behind them, some of
# each kind run with the detector, which makes a screen that hangs hard to tell from one that
# is late. What the others are made of runs with it, too, in its own package.
plays='TestFullDialogue|TestSmallJob|TestAttendantsAreWaitedFor|TestJournalFailsAndSomebodyStops|TestImpatientSignals|TestSuspended'
plays+='|TestTerminalGone|TestWordsAtOddTimes|TestInterruptedAtAnyMoment|TestResumeWhileTheOldBridgeLives|TestCLIKilledInMidTurn|TestSignals'
plays+='|TestKilledArbiterLeavesNothing|TestKilledBridge|TestNobodyReads|TestHookPassesAnswersOn|TestBridgeFromOutside|TestResume|TestStrays'
plays+='|TestPermission.*|TestSteering|TestScreenFromTheFirstWordToTheEnd|TestScreenGoesOn|TestALostBridgeLeavesTheState|TestStoppedAgent'
plays+='|TestHaltWhereTheRunStandsStill|TestAgentsHaveNoSay|TestTerminalOfAnAttachmentIsClosed|TestTrustInTheRun|TestAsker.*'
