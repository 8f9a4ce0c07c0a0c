// A server for scripts without a server: records what it is called with and answers what it is
// told.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "scripting/lua/command_port.h"

namespace sluice {

class FakePort final : public CommandPort {
 public:
  std::function<void(Args, ReplySink&)> answer = [](Args, ReplySink& reply) { reply.Ok(); };
  std::vector<std::vector<std::string>> calls;
  std::vector<std::string> log;
  int interrupts_left = 100;  // then the script is killed

  void Call(Args args, ReplySink& reply) override {
    calls.emplace_back(args.begin(), args.end());
    answer(args, reply);
  }
  void ErrorReplied(std::string_view) override {}
  void RepeatError(ReplySink& reply, std::string_view line) override { reply.Error(line); }
  Permission MayCall(Args) override { return Permission::kAllowed; }
  std::string_view Interrupt() override {
    return --interrupts_left < 0 ? std::string_view("killed") : std::string_view();
  }
  void BeginCompiling() override {}
  void Log(int level, std::string_view line) override {
    log.push_back(std::to_string(level) + " " + std::string(line));
  }
  void SetReplication(bool, bool) override {}
};

}  // namespace sluice
