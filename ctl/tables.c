/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of commands and options. */
#include "ctl/ctl.h"

const struct ctl_option_row ctl_options[OPTION_COUNT] = {
#define OPTION(name_, word_, letter_, value_, help_)                                               \
    [OPTION_##name_] = {.word = word_, .letter = letter_, .value = value_, .help = help_},
#include "ctl/options.def"
#undef OPTION
};

const struct ctl_command ctl_commands[] = {
#define COMMAND(words_, arguments_, least_, most_, options_, run_, summary_, more_)                \
    {.words = words_,                                                                              \
     .arguments = arguments_,                                                                      \
     .least = least_,                                                                              \
     .most = most_,                                                                                \
     .options = (options_) | CTL_EVERYWHERE,                                                       \
     .run = run_,                                                                                  \
     .summary = summary_,                                                                          \
     .more = more_},
#include "ctl/commands.def"
#undef COMMAND
};
const size_t ctl_command_count = sizeof ctl_commands / sizeof *ctl_commands;
