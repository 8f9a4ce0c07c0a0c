// What nearly every unit includes, of the standard library and abseil: compiled once for all of
// them. Nothing of ours stands here: a change of it would rebuild everything.
#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// abseil includes <iostream>, by which every unit sees to it that the standard streams are made
// before main. Nothing here uses them, so that header is taken for included meanwhile (its guard in
// libstdc++).
#define _GLIBCXX_IOSTREAM
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/functional/function_ref.h"
#undef _GLIBCXX_IOSTREAM
