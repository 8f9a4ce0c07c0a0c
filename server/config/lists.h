// Options whose value is a list: how each is read and written.
#pragma once

#include "server/config/options.h"

namespace sluice {

extern const OptionCodec kBindList;
extern const OptionCodec kHttpBindList;
extern const OptionCodec kHttpHostList;
extern const OptionCodec kPort;  // a number, or `any`
extern const OptionCodec kOutputLimitList;
extern const OptionCodec kPercentileList;
extern const OptionCodec kEventClasses;
extern const OptionCodec kMetricsPrefixList;
extern const OptionCodec kMaster;
extern const OptionCodec kMaxMemory;  // of all 64 bits, as Redis has it
extern const OptionCodec kNeverEvicted;
extern const OptionCodec kSavePointList;
extern const OptionCodec kSigintWords;
extern const OptionCodec kSigtermWords;

// Lists of options that are not served: the fault as Redis words it, or empty.
std::string CheckOomScores(OptionValues values);
std::string CheckHostname(OptionValues values);
std::string CheckTitleTemplate(OptionValues values);

// Names of a file and a folder in the working directory.
std::string CheckAppendFileName(OptionValues values);
std::string CheckAppendFolderName(OptionValues values);
std::string CheckSnapshotFileName(OptionValues values);

}  // namespace sluice
