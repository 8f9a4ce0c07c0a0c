// The program `sluice`: `server/main.cc` is RunDaemon and nothing else.
#pragma once

namespace sluice {

// The daemon: reads the command line (`sluice --help` shows it) and the configuration file, serves
// until SHUTDOWN or a signal, and returns the process's exit code. Sentences about what is wrong go
// to standard error.
int RunDaemon(int argc, char** argv);

}  // namespace sluice
