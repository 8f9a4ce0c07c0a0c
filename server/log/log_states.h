// The states of the log, and what each event does in them: two tables. FileState is of the file
// that is appended to (CommitLog), BaseState of the base and of what the manifest names
// (LogService). Nothing else says what the log is doing.
//
// A job has the file, or the folder, as long as it runs: so a state in which the worker has it is
// one in which the loop has not. An event that a state cannot meet ends an asserting build.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace sluice {

// --- the file

enum class FileState : uint8_t {
  kOff,       // there is none
  kReady,     // what comes is written
  kSyncing,   // the worker has the file: it writes and syncs
  kRotating,  // the worker has it, and the next one, and makes that the log's
  kFull,      // a write has failed: it is tried again, and changes are denied
  kRetrying,  // the worker has the file: it tries
  kUnsure,    // what is on disk is not known: nothing is written, and changes are denied
  kInVain,    // the same, and the worker has the file still
};
inline constexpr size_t kFileStates = 8;
enum class FileEvent : uint8_t {
  kOpened,  // a file is there to be appended to: at the start, or beside a new base
  kStart,   // the worker gets the file
  kRotate,  // and the next one
  kDone,    // all is written, and synced where it was to be
  kWriteFailed,
  kSyncFailed,
  kLost,    // the file, or its folder, is not what it was
  kStands,  // a new base is on disk, from which the file goes on
  kClosed,
};
inline constexpr size_t kFileEvents = 9;
enum class FileAct : uint8_t {
  kNever,  // it cannot happen
  kNothing,
  kDeny,    // changes are denied; clients whose answers wait are closed
  kAccept,  // changes are accepted again
};
struct FileStep {
  FileAct act = FileAct::kNever;
  FileState next = FileState::kOff;
};
struct FileRow {
  FileState state;
  FileEvent event;
  FileAct act;
  FileState next;
};
namespace file_table {
using enum FileState;
using enum FileEvent;
using enum FileAct;

// Events that are not listed cannot happen.
inline constexpr FileRow kRows[] = {
    {kOff, kOpened, kNothing, kReady},         {kOff, kClosed, kNothing, kOff},

    {kReady, kOpened, kNothing, kReady},       {kReady, kStart, kNothing, kSyncing},
    {kReady, kRotate, kNothing, kRotating},    {kReady, kDone, kNothing, kReady},
    {kReady, kWriteFailed, kDeny, kFull},      {kReady, kSyncFailed, kDeny, kUnsure},
    {kReady, kLost, kDeny, kUnsure},           {kReady, kStands, kNothing, kReady},
    {kReady, kClosed, kNothing, kOff},

    {kSyncing, kDone, kNothing, kReady},       {kSyncing, kWriteFailed, kDeny, kFull},
    {kSyncing, kSyncFailed, kDeny, kUnsure},   {kSyncing, kLost, kDeny, kInVain},
    {kSyncing, kStands, kNothing, kSyncing},

    {kRotating, kDone, kNothing, kReady},      {kRotating, kWriteFailed, kDeny, kFull},
    {kRotating, kSyncFailed, kDeny, kUnsure},

    {kFull, kOpened, kNothing, kFull},         {kFull, kStart, kNothing, kRetrying},
    {kFull, kDone, kAccept, kReady},           {kFull, kWriteFailed, kDeny, kFull},
    {kFull, kSyncFailed, kDeny, kUnsure},      {kFull, kLost, kDeny, kUnsure},
    {kFull, kStands, kNothing, kFull},         {kFull, kClosed, kNothing, kOff},

    {kRetrying, kDone, kAccept, kReady},       {kRetrying, kWriteFailed, kDeny, kFull},
    {kRetrying, kSyncFailed, kDeny, kUnsure},  {kRetrying, kLost, kDeny, kInVain},
    {kRetrying, kStands, kNothing, kRetrying},

    {kUnsure, kOpened, kNothing, kUnsure},     {kUnsure, kLost, kDeny, kUnsure},
    {kUnsure, kStands, kNothing, kFull},  // what came meanwhile is still to be written
    {kUnsure, kClosed, kNothing, kOff},

    {kInVain, kDone, kNothing, kUnsure},       {kInVain, kWriteFailed, kNothing, kUnsure},
    {kInVain, kSyncFailed, kNothing, kUnsure}, {kInVain, kLost, kDeny, kInVain},
};
}  // namespace file_table

inline constexpr auto kFileSteps = [] {
  std::array<std::array<FileStep, kFileEvents>, kFileStates> steps{};
  for (const FileRow& row : file_table::kRows)
    steps[static_cast<size_t>(row.state)][static_cast<size_t>(row.event)] = {row.act, row.next};
  return steps;
}();
constexpr FileStep StepOf(FileState state, FileEvent event) {
  return kFileSteps[static_cast<size_t>(state)][static_cast<size_t>(event)];
}
// The loop has the file, if there is one.
constexpr bool IsAtRest(FileState state) {
  return state == FileState::kOff || state == FileState::kReady || state == FileState::kFull ||
         state == FileState::kUnsure;
}
// Turns may be written now.
constexpr bool MayWrite(FileState state) {
  return state == FileState::kReady || state == FileState::kFull;
}
constexpr bool IsUnsure(FileState state) {
  return state == FileState::kUnsure || state == FileState::kInVain;
}

// --- the base, and what the manifest names

enum class BaseState : uint8_t {
  kNone,           // nothing is being written anew; with a log, its files tell of all there is
  kDue,            // they do not: a base is to be begun as soon as it can be
  kRotating,       // the log rotates to a new increment, and a base of that instant is written
  kRotatingWhole,  // the base is on disk already
  kRotatingAlone,  // the base has failed
  kBase,           // the log has rotated, the base is being written
  kNaming,         // the worker names the two, and nothing else
  kFirst,          // a base that was due is being written; the log goes into the file beside it
  kFirstNaming,
  kInVain,  // the worker names them still, and another base is due
  kAside,   // there is no log: a base for a later start is being written
  kAsideNaming,
};
inline constexpr size_t kBaseStates = 12;
enum class BaseEvent : uint8_t {
  kBegun,       // a base beside the log that tells of all
  kFirstBegun,  // one without which it tells of nothing
  kAsideBegun,
  kRotated,
  kNotRotated,
  kWritten,
  kFailed,
  kNamed,
  kNotNamed,
  kUnsure,    // what is on disk of the log is not known
  kOutdated,  // it is turned on beside data, or other data were loaded
  kStopped,   // what is being written has no use any more
  kClosed,    // the log is turned off, or the server ends
};
inline constexpr size_t kBaseEvents = 13;
enum class BaseAct : uint8_t {
  kNever,
  kNothing,
  kName,   // the worker is to name base and increment
  kFail,   // a rewriting has failed, what it wrote is removed
  kTidy,   // it has failed before: what it wrote is removed now
  kDrop,   // nobody wants it: the base is given up, without a word
  kDone,   // a rewriting has ended well
  kStand,  // and from now on the log stands
};
struct BaseStep {
  BaseAct act = BaseAct::kNever;
  BaseState next = BaseState::kNone;
};
struct BaseRow {
  BaseState state;
  BaseEvent event;
  BaseAct act;
  BaseState next;
};
namespace base_table {
using enum BaseState;
using enum BaseEvent;
using enum BaseAct;

// Events that are not listed cannot happen.
inline constexpr BaseRow kRows[] = {
    {kNone, kBegun, kNothing, kRotating},
    {kNone, kAsideBegun, kNothing, kAside},
    {kNone, kUnsure, kNothing, kDue},
    {kNone, kOutdated, kNothing, kDue},
    {kNone, kStopped, kNothing, kNone},
    {kNone, kClosed, kNothing, kNone},

    {kDue, kFirstBegun, kNothing, kFirst},
    {kDue, kUnsure, kNothing, kDue},
    {kDue, kOutdated, kNothing, kDue},
    {kDue, kStopped, kNothing, kDue},
    {kDue, kClosed, kNothing, kNone},

    {kRotating, kRotated, kNothing, kBase},
    {kRotating, kNotRotated, kFail, kNone},
    {kRotating, kWritten, kNothing, kRotatingWhole},
    {kRotating, kFailed, kFail, kRotatingAlone},
    {kRotating, kStopped, kDrop, kRotatingAlone},

    {kRotatingWhole, kRotated, kName, kNaming},
    {kRotatingWhole, kNotRotated, kFail, kNone},
    {kRotatingWhole, kStopped, kNothing, kRotatingWhole},

    {kRotatingAlone, kRotated, kTidy, kNone},
    {kRotatingAlone, kNotRotated, kTidy, kNone},
    {kRotatingAlone, kStopped, kNothing, kRotatingAlone},

    {kBase, kWritten, kName, kNaming},
    {kBase, kFailed, kFail, kNone},
    {kBase, kUnsure, kFail, kDue},
    {kBase, kStopped, kDrop, kNone},

    {kNaming, kNamed, kDone, kNone},
    {kNaming, kNotNamed, kFail, kNone},
    {kNaming, kUnsure, kNothing, kInVain},
    {kNaming, kStopped, kNothing, kNaming},

    {kFirst, kWritten, kName, kFirstNaming},
    {kFirst, kFailed, kFail, kDue},
    {kFirst, kUnsure, kFail, kDue},
    {kFirst, kStopped, kDrop, kDue},

    {kFirstNaming, kNamed, kStand, kNone},
    {kFirstNaming, kNotNamed, kFail, kDue},
    {kFirstNaming, kUnsure, kNothing, kInVain},
    {kFirstNaming, kStopped, kNothing, kFirstNaming},

    {kInVain, kNamed, kFail, kDue},
    {kInVain, kNotNamed, kFail, kDue},
    {kInVain, kUnsure, kNothing, kInVain},
    {kInVain, kStopped, kNothing, kInVain},

    {kAside, kWritten, kName, kAsideNaming},
    {kAside, kFailed, kFail, kNone},
    {kAside, kStopped, kDrop, kNone},

    {kAsideNaming, kNamed, kDone, kNone},
    {kAsideNaming, kNotNamed, kFail, kNone},
    {kAsideNaming, kStopped, kNothing, kAsideNaming},
};
}  // namespace base_table

inline constexpr auto kBaseSteps = [] {
  std::array<std::array<BaseStep, kBaseEvents>, kBaseStates> steps{};
  for (const BaseRow& row : base_table::kRows)
    steps[static_cast<size_t>(row.state)][static_cast<size_t>(row.event)] = {row.act, row.next};
  return steps;
}();
constexpr BaseStep StepOf(BaseState state, BaseEvent event) {
  return kBaseSteps[static_cast<size_t>(state)][static_cast<size_t>(event)];
}
// A base is on its way, or only its rotation.
constexpr bool IsRewriting(BaseState state) {
  return state != BaseState::kNone && state != BaseState::kDue;
}
// A start would find in the files what the log holds.
constexpr bool DoFilesTell(BaseState state) {
  return state != BaseState::kDue && state != BaseState::kFirst &&
         state != BaseState::kFirstNaming && state != BaseState::kInVain;
}

}  // namespace sluice
