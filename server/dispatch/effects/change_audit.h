// ChangeAudit: whether handlers say what they do, and touch no key that their row does not tell of:
// the rules of users are asked about those alone. In builds that assert, it compares for each
// command the keys that the keyspace has touched with those that the handler has told of
// (CommandCall::Changed and its kin), and the dispatcher asserts that they are the same. A handler
// that changes a key and says nothing, or says something and changes nothing, ends the first test
// that runs it.
//
// Commands run others (EXEC, scripts, FENCED): each answers for its own changes. Outside of
// commands nothing is compared. In builds that do not assert every function here is empty.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace sluice {

class ChangeAudit {
 public:
#ifdef NDEBUG
  static constexpr bool kOn = false;
#else
  static constexpr bool kOn = true;
#endif

  // --- from the keyspace's observer, which says nothing of keys whose time is over
  void Touched(int db, std::string_view key) {
    if constexpr (kOn) NoteTouched(db, key);
  }
  // A change that is not the command's to tell of: LockRecorder tells what the locks change.
  void TouchedByOwner() {
    if constexpr (kOn) NoteTouchedByOwner();
  }

  // A key was looked for by its name.
  void LookedUp(std::string_view key) {
    if constexpr (kOn) NoteLookedUp(key);
  }

  // --- from handlers
  void Told(int db, std::string_view key) {
    if constexpr (kOn) NoteTold(db, key);
  }
  // Too many keys have changed to name them: a database was flushed, swapped or loaded.
  void ToldOfAll() {
    if constexpr (kOn) NoteToldOfAll();
  }

  // --- from the dispatcher, around each handler. `changes` is Keyspace::changes().
  void Begin(uint64_t changes) {
    if constexpr (kOn) Push(changes);
  }
  // Behind Begin: the command that begins may look for these keys alone. Without it, for any.
  void MayLookUp(std::string_view key) {
    if constexpr (kOn) NoteMayLookUp(key);
  }
  void MayLookUpTold() {
    if constexpr (kOn) NoteMayLookUpTold();
  }
  // The handler's fault, as the end of a sentence, or empty. O(n log n) of the keys that the
  // command has touched.
  std::string_view End(uint64_t changes) {
    if constexpr (kOn) return Pop(changes);
    return {};
  }

 private:
  using KeyHashes = std::vector<uint64_t>;

  // A command that runs.
  struct Frame {
    uint64_t changes_before = 0;
    uint64_t changes_of_others = 0;  // of commands that it has run, and of owners
    KeyHashes touched;
    KeyHashes told;
    bool told_of_all = false;
    KeyHashes may_look_up;
    bool looks_are_told = false;  // what it may look for is may_look_up
    bool strayed = false;         // it has looked for another key
  };

  void NoteTouched(int db, std::string_view key);
  void NoteTouchedByOwner();
  void NoteTold(int db, std::string_view key);
  void NoteToldOfAll();
  void NoteLookedUp(std::string_view key);
  void NoteMayLookUp(std::string_view key);
  void NoteMayLookUpTold();
  void Push(uint64_t changes);
  std::string_view Pop(uint64_t changes);
  static std::string_view FaultOf(Frame& frame, uint64_t changes);

  // The innermost is frames_[running_ - 1]; frames behind it are kept for their memory.
  std::vector<Frame> frames_;
  size_t running_ = 0;
};

}  // namespace sluice
