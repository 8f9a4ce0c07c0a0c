// See member.h.
#include "storage/types/member.h"

#include <cstdlib>
#include <new>

#include "storage/memory/block_size.h"

namespace sluice {

// Both lengths are wide or both are narrow: one bit says so.
Member::Shape::Shape(std::string_view name, const MemberContent& content)
    : flags(content.value ? kValue : 0),
      name_bytes(name.size()),
      value_bytes(content.value ? content.value->size() : 0) {
  if (name_bytes > UINT8_MAX || value_bytes > UINT8_MAX) flags |= kWide;
  if (!content.deadline.none()) flags |= kDeadline;
  if (content.deadline.kind == Deadline::Kind::kUnix) flags |= kUnix;
}

// As much as malloc makes of it anyhow.
size_t Member::Shape::BlockBytes() const {
  const size_t lengths = ((flags & kWide) != 0 ? 4 : 1) * ((flags & kValue) != 0 ? 2 : 1);
  const size_t bytes = 1 + lengths + ((flags & kDeadline) != 0 ? 8 : 0) + name_bytes + value_bytes;
  return BlockSize(bytes);
}

// Found from the block itself: members keep no size.
size_t Member::BlockBytes() const {
  return BlockSize(names_offset() + name_bytes() + value().size());
}

// Then content can be written over in place.
bool Member::HasShape(const Shape& shape) const {
  return flags_ == shape.flags && value().size() == shape.value_bytes;
}

Member* Member::Make(const Shape& shape, std::string_view name, const MemberContent& content) {
  void* block = std::malloc(shape.BlockBytes());
  if (block == nullptr) std::abort();  // as `new` without exceptions would
  Member* member = new (block) Member;
  member->flags_ = shape.flags;
  const auto store_length = [member](size_t index, size_t length) {
    if (!member->has(kWide)) {
      member->base()[1 + index] = static_cast<char>(length);
      return;
    }
    const auto wide = static_cast<uint32_t>(length);
    std::memcpy(member->base() + 1 + index * sizeof(wide), &wide, sizeof(wide));
  };
  store_length(0, shape.name_bytes);
  if (member->has(kValue)) store_length(1, shape.value_bytes);
  if (member->has(kDeadline)) member->StoreDeadline(content.deadline);
  if (!name.empty()) std::memcpy(member->base() + member->names_offset(), name.data(), name.size());
  if (content.value) member->StoreValue(*content.value);
  return member;
}

void Member::Free(Member* member) { std::free(member); }

void Member::StoreDeadline(const Deadline& deadline) {
  std::memcpy(base() + deadline_offset(), &deadline.ms, sizeof(deadline.ms));
}

// `value` may be this member's own.
void Member::StoreValue(std::string_view value) {
  if (!value.empty())
    std::memmove(base() + names_offset() + name_bytes(), value.data(), value.size());
}

Deadline Member::deadline() const {
  if (!has(kDeadline)) return Deadline::None();
  int64_t ms;
  std::memcpy(&ms, base() + deadline_offset(), sizeof(ms));
  return has(kUnix) ? Deadline::Unix(ms) : Deadline::Steady(ms);
}

MemberContent Member::content() const {
  MemberContent content{.deadline = deadline()};
  if (has(kValue)) content.value = value();
  return content;
}

}  // namespace sluice
