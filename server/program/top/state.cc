// See state.h.
#include "server/program/top/state.h"

#include <algorithm>

#include "protocol/text/concat.h"

namespace sluice {
namespace {

using Kind = Key::Kind;
using Mode = TopState::Mode;
using Locks = std::span<const LockFacts* const>;

void Say(std::string_view message, bool is_bad, TopState& state) {
  state.message = message;
  state.is_message_bad = is_bad;
}

// --- moving

void Select(size_t at, Locks list, TopState& state) {
  if (list.empty()) return;
  state.selected_at = std::min(at, list.size() - 1);
  state.selected = list[state.selected_at]->name;
}

void SelectFirst(TopState& state) {
  state.selected.reset();
  state.selected_at = 0;
  state.window.first = 0;
}

TopWish Up(Locks list, TopState& state) {
  Select(state.selected_at - std::min<size_t>(state.selected_at, 1), list, state);
  return TopWish::kSee;
}

TopWish Down(Locks list, TopState& state) {
  Select(state.selected_at + 1, list, state);
  return TopWish::kSee;
}

// A page leaves the last lock in view, so that the eye finds its place again.
size_t PageOf(const TopState& state) { return std::max<size_t>(state.window.count, 2) - 1; }

TopWish PageUp(Locks list, TopState& state) {
  const size_t page = PageOf(state);
  state.window.first -= std::min(state.window.first, page);
  Select(state.selected_at - std::min(state.selected_at, page), list, state);
  return TopWish::kSee;
}

TopWish PageDown(Locks list, TopState& state) {
  state.window.first += PageOf(state);
  Select(state.selected_at + PageOf(state), list, state);
  return TopWish::kSee;
}

TopWish First(Locks, TopState& state) {
  SelectFirst(state);
  return TopWish::kSee;
}

TopWish Last(Locks list, TopState& state) {
  Select(list.size(), list, state);
  return TopWish::kSee;
}

// --- the others

TopWish Search(Locks, TopState& state) {
  state.mode = Mode::kSearch;
  return TopWish::kNothing;
}

TopWish ShowAll(Locks, TopState& state) {
  if (state.part.empty()) return TopWish::kNothing;
  state.part.clear();
  return TopWish::kLook;
}

TopWish AskToBreak(Locks list, TopState& state) {
  if (list.empty()) {
    Say("no lock is selected", true, state);
    return TopWish::kNothing;
  }
  const LockFacts& lock = *list[std::min(state.selected_at, list.size() - 1)];
  if (!lock.is_known) {
    Say(Concat(lock.name, " cannot be broken from here: ",
               lock.obstacle.empty() ? "it has not been looked at yet" : lock.obstacle),
        true, state);
    return TopWish::kNothing;
  }
  state.order = {lock.name, HolderText(lock), lock.holders == 1 ? lock.token : 0};
  state.mode = Mode::kQuestion;
  return TopWish::kNothing;
}

TopWish Help(Locks, TopState& state) {
  state.mode = Mode::kHelp;
  return TopWish::kNothing;
}

TopWish LookAgain(Locks, TopState&) { return TopWish::kLook; }
TopWish Quit(Locks, TopState&) { return TopWish::kQuit; }

using Act = TopWish (*)(Locks list, TopState& state);

constexpr struct {
  Kind kind;
  Act act;
} kMoves[] = {{Kind::kUp, Up},         {Kind::kDown, Down},
              {Kind::kPageUp, PageUp}, {Kind::kPageDown, PageDown},
              {Kind::kHome, First},    {Kind::kEnd, Last}};

constexpr struct {
  std::string_view text;
  Act act;
} kLetters[] = {{"k", Up},   {"j", Down},       {"g", First},     {"G", Last}, {"/", Search},
                {"?", Help}, {"b", AskToBreak}, {" ", LookAgain}, {"q", Quit}, {"Q", Quit}};

// Null: it is no such key.
Act MoveOf(const Key& key) {
  const auto* const found =
      std::ranges::find(kMoves, key.kind, [](const auto& row) { return row.kind; });
  return found == std::end(kMoves) ? nullptr : found->act;
}

Act LetterOf(const Key& key) {
  const auto* const found =
      std::ranges::find(kLetters, key.text, [](const auto& row) { return row.text; });
  return found == std::end(kLetters) ? nullptr : found->act;
}

// --- by mode

TopWish PressInBrowse(const Key& key, Locks list, TopState& state) {
  state.message.clear();
  if (key.kind == Kind::kRedraw) return TopWish::kLook;
  if (key.kind == Kind::kEscape) return ShowAll(list, state);
  const Act act = key.kind == Kind::kText ? LetterOf(key) : MoveOf(key);
  return act ? act(list, state) : TopWish::kNothing;
}

// The last character, whose first byte is the one that is inside none.
void EraseCharacter(std::string& text) {
  while (!text.empty() && (text.back() & 0xc0) == 0x80) text.pop_back();
  if (!text.empty()) text.pop_back();
}

TopWish PressInSearch(const Key& key, Locks list, TopState& state) {
  if (const Act move = MoveOf(key)) return move(list, state);
  const std::string before = state.part;
  if (key.kind == Kind::kText && before.size() + key.text.size() <= TopState::kPartBytesMax)
    state.part += key.text;
  if (key.kind == Kind::kBackspace) EraseCharacter(state.part);
  if (key.kind == Kind::kEscape) state.part.clear();
  const bool is_left = key.kind == Kind::kEscape || key.kind == Kind::kEnter ||
                       (key.kind == Kind::kBackspace && before.empty());
  if (is_left) state.mode = Mode::kBrowse;
  if (state.part == before) return TopWish::kNothing;
  if (!state.part.empty()) SelectFirst(state);
  return TopWish::kLook;
}

TopWish PressInQuestion(const Key& key, TopState& state) {
  state.mode = Mode::kBrowse;
  if (key.text == "y" || key.text == "Y") return TopWish::kBreak;
  Say(Concat(state.order.name, " was not broken"), false, state);
  return TopWish::kNothing;
}

}  // namespace

TopWish Press(const Key& key, Locks list, TopState& state) {
  if (key.kind == Kind::kInterrupt) return TopWish::kQuit;
  if (key.kind == Kind::kStop) return TopWish::kStop;
  switch (state.mode) {
    case Mode::kBrowse:
      return PressInBrowse(key, list, state);
    case Mode::kSearch:
      return PressInSearch(key, list, state);
    case Mode::kQuestion:
      return PressInQuestion(key, state);
    case Mode::kHelp:
      state.mode = Mode::kBrowse;
  }
  return TopWish::kNothing;
}

void Follow(Locks list, TopState& state) {
  if (!state.selected) {
    state.selected_at = 0;
    return;
  }
  const auto found = std::ranges::find(list, *state.selected, &LockFacts::name);
  found == list.end() ? Select(state.selected_at, list, state)
                      : Select(static_cast<size_t>(found - list.begin()), list, state);
}

std::string HolderText(const LockFacts& lock) {
  if (lock.holders == 0) return {};
  std::string text = lock.owner;
  if (!lock.label.empty()) ConcatTo(text, " (", lock.label, ')');
  if (lock.holders > 1)
    ConcatTo(text, " and ", lock.holders - 1, lock.holders == 2 ? " other" : " others");
  return text;
}

std::string QuestionText(const BreakOrder& order) {
  if (order.holder.empty()) return Concat("break ", order.name, ", held by nobody? y/n");
  return Concat("break ", order.name, " held by ", order.holder, "? y/n");
}

}  // namespace sluice
