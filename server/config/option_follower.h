// OptionFollower: a part that carries out changes of options, or has to be told of them. Most
// options need none: their readers look at Settings each time.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace sluice {

class OptionFollower {
 public:
  // That option has a new value, which settings() shows already. Answers why it cannot be had: then
  // the old value comes back, and this is called once more for it. Empty: it is done. None: the
  // option is no matter of this part. `option` is a row's name, in lower case.
  virtual std::optional<std::string> OptionChanged(std::string_view option) = 0;

 protected:
  ~OptionFollower() = default;
};

}  // namespace sluice
