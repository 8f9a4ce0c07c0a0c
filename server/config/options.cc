// See options.h.
#include "server/config/options.h"

#include "protocol/text/letters.h"

namespace sluice {
size_t OptionCount() { return ServedOptions().size() + UnservedOptions().size(); }

const Option& OptionAt(size_t index) {
  const std::span<const Option> served = ServedOptions();
  return index < served.size() ? served[index] : UnservedOptions()[index - served.size()];
}

size_t FindOption(std::string_view name) {
  const size_t count = OptionCount();
  for (size_t i = 0; i < count; ++i) {
    const Option& option = OptionAt(i);
    if (IsSameInAnyCase(option.name, name) ||
        (!option.alias.empty() && IsSameInAnyCase(option.alias, name))) {
      return i;
    }
  }
  return count;
}

std::vector<std::string_view> DirectiveNames() {
  std::vector<std::string_view> names = {"include"};
  for (size_t i = 0; i < OptionCount(); ++i) names.push_back(OptionAt(i).name);
  for (const CommandDirective& directive : CommandDirectives()) names.push_back(directive.name);
  return names;
}

}  // namespace sluice
