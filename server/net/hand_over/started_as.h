// How this process was started, so that another can be started in the same way.
#pragma once

#include <string>
#include <vector>

namespace sluice {

struct StartedAs {
  std::vector<std::string> words;  // the program first; empty: it is not known
  std::string folder;              // where it was started, from which its paths are seen
};

}  // namespace sluice
