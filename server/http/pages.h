// HttpPages: what the server answers by HTTP: a table of paths, each with the function that writes
// it. A page takes what counters know and walks over no keys, so that it ends within a turn.
//
//   HttpPages pages(config, [&]() -> const Parts& { return engine.parts(); });
//   HttpAnswer answer = pages.Answer(request, figures);
//
// A request is refused for its name (Host), its path, its method and its visitor, in this order. A
// new page is a row in pages.cc.
#pragma once

#include <functional>
#include <utility>

#include "server/config/config.h"
#include "server/core/parts.h"
#include "server/http/exchange.h"
#include "server/http/figures.h"

namespace sluice {

class HttpPages {
 public:
  // `parts`: those of the engine that there is now.
  HttpPages(const Config& config, std::function<const Parts&()> parts)
      : config_(config), parts_(std::move(parts)) {}

  HttpAnswer Answer(const HttpRequest& request, const HttpFigures& figures) const;

 private:
  const Config& config_;
  const std::function<const Parts&()> parts_;
};

}  // namespace sluice
