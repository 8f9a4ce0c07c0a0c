// The daemon. It includes of our headers only the public one, which so proves to be whole.
#include "server/embed/sluice.h"

int main(int argc, char** argv) { return sluice::RunDaemon(argc, argv); }
