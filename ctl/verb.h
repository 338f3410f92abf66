/* SPDX-License-Identifier: Apache-2.0 */
/* Commands that are little more than a verb of the socket. */
#ifndef CTL_VERB_H
#define CTL_VERB_H

#include "ctl/ctl.h"

#define CTL_COUNT(array) (sizeof(array) / sizeof *(array))

/* Asks for a list and prints it. `arguments` is taken. */
enum admin_code ctl_verb_list(const struct ctl_line *line, const char *verb, json_t *arguments,
                              const char *kind, const struct ctl_column *columns, size_t count);
/* Asks for one thing and prints it. */
enum admin_code ctl_verb_show(const struct ctl_line *line, const char *verb, json_t *arguments,
                              const char *kind, const struct ctl_column *columns, size_t count);
/* Asks for a change and prints it; `name` is of what changes, for people. */
enum admin_code ctl_verb_change(const struct ctl_line *line, const char *verb, json_t *arguments,
                                const char *kind, const char *name);

/* As ctl_verb_change, refused if the generation is no longer that of --if-generation. */
enum admin_code ctl_verb_change_checked(const struct ctl_line *line, const char *verb,
                                        json_t *arguments, const char *kind, const char *name);

/* Sets an argument that is an option's text, if it is given. */
void ctl_verb_option(const struct ctl_line *line, json_t *arguments, const char *name,
                     enum ctl_option option);
/* As ctl_verb_option, with a number; an error about a wrong one has been printed. */
enum admin_code ctl_verb_number(const struct ctl_line *line, json_t *arguments, const char *name,
                                enum ctl_option option);
/* The words from `first` on, as an array of texts. */
json_t *ctl_verb_words(const struct ctl_line *line, unsigned first);

#endif
