// See scan_args.h.
#include "server/commands/shared/scan_args.h"

#include "server/commands/shared/option_table.h"

namespace sluice {

// Without a pattern every name is wanted.
bool ScanOptions::Wants(std::string_view name) const { return !glob || glob->Matches(name); }

namespace {

// The rows below fill this. The pattern is compiled once, at the end: of two MATCH the last one
// counts.
struct Reading {
  ScanOptions& options;
  const ScanTarget target;
  std::string_view pattern = "*";
};

// COUNT n, MATCH pattern, and TYPE type where the walk is over keys.
constexpr OptionRow<Reading> kScanArgsOptions[] = {
    {"COUNT",
     [](ArgReader& args, Reading& reading) {
       reading.options.count = args.Int();
       if (reading.options.count < 1) args.Fail(ErrorCode::kSyntax);
     },
     1},
    {"MATCH", kTakeBytes<&Reading::pattern>, 1},
    {"TYPE",
     [](ArgReader& args, Reading& reading) {
       // An unknown type matches nothing. Redis compares C strings.
       const std::string_view type = args.Bytes();
       reading.options.type = type.substr(0, type.find('\0'));
     },
     1, [](const Reading& reading) { return reading.target == ScanTarget::kKeys; }},
};

}  // namespace

// MATCH * leaves the glob empty, which spares a comparison for every name.
bool ReadScanOptions(CommandCall& call, size_t first, ScanTarget target, ScanOptions& options) {
  ArgReader args(call.args, first);
  Reading reading{options, target};
  ReadOptions(args, kScanArgsOptions, reading);
  if (args.failed()) {
    call.reply.Error(args.error());
    return false;
  }
  if (!MatchesAll(reading.pattern)) options.glob.emplace(reading.pattern);
  return true;
}

// The cursor is a bulk string, not an integer: it has 64 bits without a sign.
void ReplyScan(CommandCall& call, uint64_t cursor, const std::vector<std::string>& found) {
  call.reply.Array(2);
  call.reply.Bulk(std::to_string(cursor));
  call.reply.Array(found.size());
  for (const std::string& text : found) call.reply.Bulk(text);
}

void ReplyEmptyScan(CommandCall& call) { ReplyScan(call, 0, {}); }

}  // namespace sluice
