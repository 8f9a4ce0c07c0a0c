// See lock_options.h. An option is a row with the bits of the rows that exclude it.
#include "server/commands/locks/lock_options.h"

#include <algorithm>
#include <string_view>

#include "server/dispatch/script_state.h"
#include "server/locks/lock_service.h"

namespace sluice {
namespace {

void ReadLease(ArgReader& args, AcquireOptions& options) {
  options.terms.lease_ms = args.IntIn(1, kLeaseMsMax);
}
void ReadSession(ArgReader&, AcquireOptions& options) { options.session = true; }
void ReadWait(ArgReader& args, AcquireOptions& options) {
  options.wait_ms = args.IntIn(0, kLeaseMsMax);
}
void ReadShared(ArgReader&, AcquireOptions& options) {
  options.terms.shape.mode = LockMode::kShared;
}
void ReadPermits(ArgReader& args, AcquireOptions& options) {
  LockShape& shape = options.terms.shape;
  shape.mode = LockMode::kPermits;
  shape.permits = args.IntIn(1, kPermitsMax);
  if (!args.TakeWord("OF")) return args.Fail(ErrorCode::kSyntax);
  shape.of = args.IntIn(1, kPermitsMax);
  if (!args.failed() && shape.permits > shape.of) {
    args.Fail("ERR PERMITS asks for more than there are");
  }
}
void ReadMinHold(ArgReader& args, AcquireOptions& options) {
  options.terms.minhold_ms = args.IntIn(0, kLeaseMsMax);
}
void ReadLabel(ArgReader& args, AcquireOptions& options) {
  options.terms.label = args.Bytes();
  if (options.terms.label->size() > kLabelBytesMax) {
    args.Fail("ERR label is longer than 1024 bytes");
  }
}
void ReadNotify(ArgReader&, AcquireOptions& options) { options.notify = true; }

struct OptionWord {
  std::string_view word;
  void (*read)(ArgReader& args, AcquireOptions& options);
  uint32_t excludes;  // bits of the rows that must not have come before, its own among them
  bool several;       // MACQUIRE has it too
};
constexpr OptionWord kOptionWords[] = {
    {"LEASE", ReadLease, 1u << 0, true},
    {"SESSION", ReadSession, 1u << 1, true},
    {"WAIT", ReadWait, 1u << 2, true},
    {"SHARED", ReadShared, 1u << 3 | 1u << 4, true},
    {"PERMITS", ReadPermits, 1u << 3 | 1u << 4, false},
    {"MINHOLD", ReadMinHold, 1u << 5, true},
    {"LABEL", ReadLabel, 1u << 6, true},
    {"NOTIFY", ReadNotify, 1u << 7, true},
};

// Whose connection it is: a script acts for its caller.
Session& CallerOf(CommandCall& call) {
  const RunningScript* const script = call.part<ScriptState>().now_running();
  return script ? *script->caller : call.client;
}

}  // namespace

AcquireOptions ReadAcquireOptions(CommandCall& call, ArgReader& args, bool several) {
  AcquireOptions options;
  uint32_t seen = 0;
  while (args.more()) {
    const auto row = std::ranges::find_if(kOptionWords, [&](const OptionWord& option) {
      return (option.several || !several) && IsWord(args.Peek(), option.word);
    });
    if (row == std::end(kOptionWords) || (seen & row->excludes)) {
      args.Fail(ErrorCode::kSyntax);
      break;
    }
    seen |= 1u << (row - std::begin(kOptionWords));
    args.Skip();
    row->read(args, options);
  }
  if (args.failed()) return options;
  if (options.terms.lease_ms == 0 && !options.session) {
    args.Fail("ERR a lock needs a LEASE or a SESSION");
  }
  const Session& caller = CallerOf(call);
  if (options.session) options.terms.session = LockService::ConnectionOf(caller);
  if (options.notify) options.terms.notify = LockService::ConnectionOf(caller);
  if (options.notify && caller.resp() < 3) args.Fail("ERR NOTIFY needs RESP3 (HELLO 3)");
  if (!call.may_wait()) options.wait_ms = 0;
  return options;
}

}  // namespace sluice
