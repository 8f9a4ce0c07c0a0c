// TopState: what a person at the screen has done so far, and what each key does to it. Knows no
// terminal and no server: a key and the list of locks in, a wish out.
//
//   browse   ->  /  search      names are narrowed down with each letter
//            ->  b  question    y breaks the lock, anything else leaves it
//            ->  ?  help        any key goes back
//
// A lock is selected by its name, so that it stays selected wherever it moves.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "server/program/top/facts.h"
#include "server/program/top/keys.h"
#include "server/program/top/lock_order.h"

namespace sluice {

// A holder, or all of them, to be thrown out of a lock.
struct BreakOrder {
  std::string name;
  std::string holder;  // in words
  int64_t token = 0;   // of the only holder; 0: whoever holds it
};

struct TopState {
  static constexpr size_t kPartBytesMax = 256;

  enum class Mode : uint8_t { kBrowse, kSearch, kQuestion, kHelp };
  Mode mode = Mode::kBrowse;
  std::string part;  // of the names that are shown; empty: all
  // Null: the first of the list, whichever that is. Else the index is where it stood last: when it
  // is gone, the lock that has taken its place is selected.
  std::optional<std::string> selected;
  size_t selected_at = 0;
  LockWindow window;  // as it was drawn last
  BreakOrder order;   // what the question is about
  std::string message;
  bool is_message_bad = false;
};

enum class TopWish : uint8_t { kNothing, kSee, kLook, kBreak, kStop, kQuit };

// The list is the one that is shown. kSee: other locks may be in view, which may not be known yet;
// kLook: the server is to be asked at once; kBreak: state.order is to be carried out.
TopWish Press(const Key& key, std::span<const LockFacts* const> list, TopState& state);

// Takes notice of a list that may be another one.
void Follow(std::span<const LockFacts* const> list, TopState& state);

// "worker-1 (nightly)", or "worker-1 and 2 others"; empty: nobody is known to hold it.
std::string HolderText(const LockFacts& lock);
// "break build held by worker-1? y/n"
std::string QuestionText(const BreakOrder& order);

}  // namespace sluice
