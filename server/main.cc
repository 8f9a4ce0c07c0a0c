// The entry of the program.
#include "server/program/daemon.h"

int main(int argc, char** argv) { return sluice::RunDaemon(argc, argv); }
