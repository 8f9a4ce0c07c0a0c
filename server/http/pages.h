// HttpPages: what the server answers by HTTP: a table of paths, each with the function that writes
// it. An answer is one short piece between two turns: it reads counters, or looks at a bounded
// number of keys.
//
//   HttpPages pages(config, [&]() -> Engine& { return engine; });
//   HttpAnswer answer = pages.Answer(request, figures);
//   pages.Sample(now_ns);                          // every History::kEveryS seconds
//
// A request is refused for its name (Host), its path, its method, its visitor, and for what runs
// around it, in this order. A new page is a row in pages.cc.
#pragma once

#include <functional>
#include <string>
#include <utility>

#include "server/config/config.h"
#include "server/core/parts.h"
#include "server/http/exchange.h"
#include "server/http/figures.h"
#include "server/http/front_page.h"
#include "server/http/history.h"

namespace sluice {

class Engine;

class HttpPages {
 public:
  // `engine`: the one that there is now. `host_name`: of the machine, as people call it; empty: it
  // is not known.
  HttpPages(const Config& config, std::function<Engine&()> engine, std::string host_name = {})
      : config_(config), engine_(std::move(engine)), host_name_(std::move(host_name)) {}

  HttpAnswer Answer(const HttpRequest& request, const HttpFigures& figures);
  // It asks whether the server lives, is ready, or, on this machine, how it is.
  static bool IsProbe(const HttpRequest& request);
  // Goes on with the history, and with the keys of limiters: once an hour refusals of before count
  // half.
  void Sample(int64_t now_ns);
  const History& history() const { return history_; }

 private:
  std::string TokenOf(const HttpRequest& request, const Parts& parts);

  const Config& config_;
  const std::function<Engine&()> engine_;
  const std::string host_name_;
  const FrontPage front_page_;
  History history_;
  std::string secret_;  // of tokens; made when it is first needed
};

}  // namespace sluice
