// See fence_mark.h.
#include "server/engine/fence_mark.h"

#include <cerrno>
#include <cstring>
#include <optional>

#include "protocol/concat.h"
#include "protocol/number_text.h"
#include "server/engine/engine.h"

namespace sluice {
namespace {

constexpr int64_t kTokensReady = 1'000'000;

}  // namespace

void FenceMark::Load() {
  loaded_ = true;
  const std::string& path = engine_.settings().fence_mark_file;
  if (path.empty()) return tokens_.set_mark(kTokenMax);
  std::string text;
  const int fault = engine_.config().disk().Read(path, text);
  if (fault == ENOENT) return;
  while (!text.empty() && text.back() == '\n') text.pop_back();
  const std::optional<int64_t> mark = fault ? std::nullopt : ParseInt64(text);
  if (mark && *mark >= 0 && *mark <= kTokenMax) {
    tokens_.JumpPast(*mark);
    memory_.RaiseFloor(*mark);
    return;
  }
  // Without it a number might be given twice: better none at all.
  damaged_ = true;
  engine_.host().Log(3, Concat("no locks can be taken: ", path, " cannot be read: ",
                               fault ? std::strerror(fault) : "it holds no token"));
}

void FenceMark::Ensure() {
  const Now& now = engine_.now();
  if (tokens_.CanIssue(now, kTokensReady)) [[likely]]
    return;
  if (!loaded_) Load();
  if (damaged_ || tokens_.Next(now) == 0 || tokens_.CanIssue(now, kTokensReady)) return;
  const int64_t mark = tokens_.MarkFor(now, kTokensReady);
  if (mark <= tokens_.mark()) return;
  const std::string& path = engine_.settings().fence_mark_file;
  const int fault = engine_.config().disk().Replace(path, Concat(mark, "\n"));
  if (fault == 0) return tokens_.set_mark(mark);
  engine_.host().Log(3, Concat("no locks can be taken: ", path,
                               " cannot be written: ", std::strerror(fault)));
}

}  // namespace sluice
