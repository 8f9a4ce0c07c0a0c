// A test of scripts without a server.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "protocol/output_buffer.h"
#include "protocol/reply_writer.h"
#include "scripting/script_cache.h"
#include "scripting/script_runner.h"
#include "tests/support/output_text.h"
#include "tests/unit/scripting/fake_port.h"

namespace sluice {

class ScriptFixture : public testing::Test {
 protected:
  // The script's answer in RESP2, or its error.
  std::string Eval(std::string_view text, std::vector<std::string_view> keys = {},
                   std::vector<std::string_view> arguments = {}) {
    std::string error;
    const Script* const script = cache_.Load(text, /*stays=*/false, error);
    if (!script) return error;
    OutputBuffer out;
    ReplyWriter writer(out);
    ScriptFailure failure;
    const ScriptRun run{script->function, script->name(), keys, arguments, script->largest_block};
    if (!RunScript(cache_.lua(), run, writer, failure)) return failure.line;
    return OutputText(out);
  }

  FakePort port_;
  ScriptCache cache_{port_, SipKey{1}};
};

}  // namespace sluice
