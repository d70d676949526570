"""What a conversation is told and what it wants done, by who is told of it."""

from __future__ import annotations

from gateway.events import (
    AgentAudio,
    AgentBeganSounding,
    AgentHeard,
    BackendCommand,
    BackendLost,
    BackendReady,
    BackendTurn,
    BeepHeard,
    CallerAnswered,
    CallerClaimed,
    CallerGone,
    CallerKey,
    CallerTurnEnded,
    CallerTyped,
    CallerWords,
    CallHeld,
    CallReleased,
    CallStarted,
    CancelTool,
    ChooseProfile,
    Duck,
    EndAsked,
    EndUtterance,
    Flush,
    HangUp,
    Hold,
    KeepFloor,
    PageTold,
    Play,
    PlayoutDry,
    PlayoutFlushed,
    PlayoutStalled,
    PlayoutStarved,
    Record,
    ReplyEnded,
    ReplyExpects,
    ReplyText,
    Resume,
    RunTool,
    SendKeys,
    Speak,
    SwitchBackend,
    TimePassed,
    ToolAnswered,
    ToolAsked,
    Transfer,
    TransferAsked,
    TransferEnded,
    UsageReported,
    UtteranceEnded,
)
from turn.events import (
    OverlapBegan,
    OverlapDismissed,
    OverlapHeld,
    SpeechStarted,
    SpeechStopped,
    TurnDrafted,
    TurnDropped,
    TurnResumed,
)

TurnNews = (
    SpeechStarted
    | SpeechStopped
    | TurnDrafted
    | TurnResumed
    | TurnDropped
    | OverlapBegan
    | OverlapHeld
    | OverlapDismissed
)
CallerSide = (
    TurnNews
    | CallerTurnEnded
    | CallerClaimed
    | CallerKey
    | CallerTyped
    | PageTold
    | CallerAnswered
    | CallerWords
    | BackendTurn
)
AgentSide = (
    ReplyText
    | ReplyExpects
    | AgentAudio
    | UtteranceEnded
    | ReplyEnded
    | AgentBeganSounding
    | AgentHeard
    | PlayoutDry
    | PlayoutFlushed
    | PlayoutStalled
    | PlayoutStarved
)
Course = (
    CallStarted
    | CallerGone
    | CallHeld
    | CallReleased
    | BeepHeard
    | TransferEnded
    | EndAsked
    | TransferAsked
    | TimePassed
    | BackendReady
    | BackendLost
    | UsageReported
    | ToolAsked
    | ToolAnswered
)
Event = CallerSide | AgentSide | Course
Effect = (
    BackendCommand
    | Speak
    | Play
    | EndUtterance
    | Duck
    | Hold
    | Resume
    | Flush
    | RunTool
    | CancelTool
    | ChooseProfile
    | KeepFloor
    | SendKeys
    | Transfer
    | HangUp
    | SwitchBackend
    | Record
)
Effects = list[Effect]
