// The unit with whose flags precompiled.h is compiled.
