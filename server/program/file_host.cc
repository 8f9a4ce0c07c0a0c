// See file_host.h.
#include "server/program/file_host.h"

#include "server/program/top/safe_text.h"
#include "server/program/top/terminal.h"
#include "server/system/system_random.h"

namespace sluice {

void PrintLine(std::FILE* file, std::string_view line) {
  std::fprintf(file, "sluice: %s\n", HarmlessLine(line, TextOfTerminal()).c_str());
}

void FileHost::FillWithRandom(std::span<uint8_t> bytes) { FillWithSystemRandom(bytes); }

void FileHost::Log(LogLevel level, std::string_view line) {
  if (level >= LogLevel::kNotice) PrintLine(level >= LogLevel::kWarning ? errors_ : out_, line);
}

}  // namespace sluice
