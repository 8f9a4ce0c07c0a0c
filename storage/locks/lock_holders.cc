// See lock_holders.h.
#include "storage/locks/lock_holders.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "storage/memory/heap_bytes.h"

namespace sluice {

// --- a holder

void LockHolder::BecomeMinimumHold() {
  holds = 0;
  if (!extra.is_made()) return;
  assert(extra->bonds.list.empty());
  extra.Make().sessions.clear();
  extra.Make().notify.clear();
}

size_t LockHolder::OutsideBytes() const {
  const size_t extra_bytes =
      extra.is_made() ? BlockSize(sizeof(LockHolderExtra)) + HeapBytes(extra->label) : 0;
  return HeapBytes(owner) + extra_bytes;
}

// --- all of them

void LockHolders::Clear() {
  if (std::exchange(has_book_, false)) {
    std::destroy_at(&book_);
  } else {
    std::destroy_at(&one_);
  }
  std::construct_at(&one_);
}

const LockHolder* LockHolders::Find(int64_t token) const {
  if (!has_book_) return TheOne() && one_.token == token ? &one_ : nullptr;
  const auto found = book_->holders.find(token);
  return found == book_->holders.end() ? nullptr : &found->second;
}

LockHolder& LockHolders::Put(LockHolder holder) {
  assert(!holder.owner.is_none() && !Find(holder.token));
  // A token below one that was here needs the book: in one_ it would make that be forgotten.
  if (!has_book_ && !TheOne() && holder.token >= one_.token) return one_ = std::move(holder);
  LockBook& book = MakeBook();
  const int64_t token = holder.token;
  book.newest_token = std::max(book.newest_token, token);
  // Tokens that come mostly grow.
  return book.holders.emplace_hint(book.holders.end(), token, std::move(holder))->second;
}

void LockHolders::Erase(int64_t token) {
  if (has_book_) {
    book_->holders.erase(token);
  } else if (one_.token == token) {
    one_ = LockHolder{.token = token};
  }
}

// --- bonds

SessionBond& LockHolders::AddBond(LockHolder& holder) {
  auto& list = holder.extra.Make().bonds.list;
  assert(list.size() + 1 == holder.sessions().size());
  if (has_book_) ++book_->bonds;
  return *list.emplace_back(std::make_unique<SessionBond>());
}

// Nothing where the lock is tied to nothing.
void LockHolders::DropBond(LockHolder& holder, size_t at) {
  if (at >= holder.extra->bonds.list.size()) return;
  auto& list = holder.extra.Make().bonds.list;
  list.erase(list.begin() + static_cast<ptrdiff_t>(at));
  if (has_book_) --book_->bonds;
}

void LockHolders::DropBonds(LockHolder& holder) {
  if (!holder.extra.is_made()) return;
  auto& list = holder.extra.Make().bonds.list;
  if (has_book_) book_->bonds -= list.size();
  list.clear();
}

// --- the book

LockBook& LockHolders::MakeBook() {
  if (has_book_) return *book_;
  auto book = std::make_unique<LockBook>();
  book->bonds = bonds();
  book->newest_token = one_.token;
  if (TheOne()) book->holders.emplace(newest_token(), std::move(one_));
  std::destroy_at(&one_);
  std::construct_at(&book_, std::move(book));
  has_book_ = true;
  return *book_;
}

// Nodes of trees are estimated.
size_t LockHolders::OutsideBytes() const {
  const size_t bond_bytes = bonds() * BlockSize(sizeof(SessionBond));
  if (!has_book_) return one_.OutsideBytes() + bond_bytes;
  constexpr size_t kIndexed = TreeNodeBytes<decltype(LockIndex::by_owner)>() +
                              TreeNodeBytes<decltype(LockIndex::minholds)>();
  size_t bytes = BlockSize(sizeof(LockBook)) + HeapBytes(book_->key) + bond_bytes +
                 book_->holders.size() * TreeNodeBytes<decltype(LockBook::holders)>();
  if (const LockIndex* const index = book_->index.get())
    return bytes + BlockSize(sizeof(LockIndex)) + index->outside_bytes + size() * kIndexed;
  for (const LockHolder& holder : *this) bytes += holder.OutsideBytes();
  return bytes;
}

}  // namespace sluice
