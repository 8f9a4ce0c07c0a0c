// TextEdit: a string opened for changes in place, created empty if it is missing. From then on it
// is "raw", as Redis shows what APPEND, SETRANGE, SETBIT and BITFIELD have written to. Opening
// counts as a change of the key: open only what is going to be changed.
//
// Cost: opening an integer or a short inline text makes a block of it once, O(bytes); later edits
// of the same key work on that block.
#pragma once

#include <cstddef>

#include "server/dispatch/command.h"

namespace sluice {

class TextEdit {
 public:
  // Requires: the key is missing or holds a string.
  TextEdit(CommandCall& call, HashedKey key)
      : db_(call.db), entry_(call.db.Modify(key, call.now)), text_(Open(call, key)) {}
  // Accounts the memory. Until then nothing else may call the database.
  ~TextEdit() { db_.TextChanged(*entry_); }
  TextEdit(const TextEdit&) = delete;
  TextEdit& operator=(const TextEdit&) = delete;

  // Valid as long as the edit is.
  TextBlock& text() { return text_; }
  // Zeros to the end until it has so many bytes.
  void GrowTo(size_t bytes) {
    if (text_.size() < bytes) text_.Resize(bytes);
  }

 private:
  // The entry may move when it gets a block of its own; MutableText follows it.
  TextBlock& Open(CommandCall& call, HashedKey key) {
    if (!entry_) entry_ = &db_.PutTextAsIs(key, "", Deadline::None(), call.now);
    return db_.MutableText(entry_);
  }

  Database& db_;
  Entry* entry_;
  TextBlock& text_;
};

}  // namespace sluice
