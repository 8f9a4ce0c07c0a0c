// One script that a fuzz target runs again and again with what it makes up as arguments.
#pragma once

#include <string>
#include <string_view>

#include "protocol/output_buffer.h"
#include "protocol/reply_writer.h"
#include "scripting/script_cache.h"
#include "scripting/script_runner.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/support/output_text.h"
#include "tests/unit/scripting/fake_port.h"

namespace sluice {

class FuzzScript {
 public:
  explicit FuzzScript(std::string_view text) {
    std::string error;
    script_ = cache_.Load(text, /*stays=*/false, error);
    FuzzCheck(script_ != nullptr, "the target's script compiles");
  }

  // The reply, or empty when the script raised an error.
  std::string Run(Args arguments) {
    port_.interrupts_left = 1000;
    OutputBuffer out;
    ReplyWriter writer(out);
    ScriptFailure failure;
    const ScriptRun run{script_->function, script_->name(), {}, arguments};
    const bool returned = RunScript(cache_.lua(), run, writer, failure);
    FuzzCheck(returned || failure.line.starts_with("ERR "), "a value or an error");
    FuzzCheck(cache_.lua_bytes() < LuaState::kMemoryKept * 2, "memory comes back");
    return OutputText(out);
  }

 private:
  FakePort port_;
  ScriptCache cache_{port_, SipKey{1}};
  const Script* script_ = nullptr;
};

}  // namespace sluice
