// See categories.h.
#include "server/dispatch/categories.h"

#include <cstddef>
#include <iterator>

#include "server/access/catalogue.h"

namespace sluice {
namespace {

struct CategoryRule {
  uint32_t category = 0;
  uint32_t flags = 0;
  uint32_t without_flag = 0;      // implied by the lack of this one
  uint32_t without_category = 0;  // not implied in this one
};

// In the order of AccessCategoryNames().
constexpr CategoryRule kRules[] = {
    {kCatKeyspace},   {0, kReadOnly, 0, kCatScripting},
    {0, kWrite},      {kCatSet},
    {kCatSortedSet},  {kCatList},
    {kCatHash},       {kCatString},
    {kCatBitmap},     {kCatHyperLogLog},
    {kCatGeo},        {kCatStream},
    {0, kPubSub},     {kCatAdmin, kAdmin},
    {0, kFast},       {0, 0, kFast},
    {0, kBlocking},   {kCatDangerous, kAdmin},
    {kCatConnection}, {kCatTransaction},
    {kCatScripting},  {kCatLock},
    {kCatLimit},
};

bool Holds(const CategoryRule& rule, const CommandSpec& spec) {
  if (spec.categories & rule.without_category) return false;
  return (spec.categories & rule.category) || (spec.flags & rule.flags) ||
         (rule.without_flag && !(spec.flags & rule.without_flag));
}

}  // namespace

uint32_t CategoriesOf(const CommandSpec& spec) {
  uint32_t bits = 0;
  for (size_t i = 0; i < std::size(kRules); ++i) {
    if (Holds(kRules[i], spec)) bits |= 1u << i;
  }
  return bits;
}

}  // namespace sluice
