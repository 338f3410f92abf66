/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of a list as the JSON that is printed, which looks like that of ctl_print_json, without
 * a tree of it. */
#ifndef CTL_INDENT_H
#define CTL_INDENT_H

#include "ctl/page.h"

struct ctl_indent {
    FILE *out;
    bool any; /* a row has been written */
};

void ctl_indent_begin(const struct ctl_indent *indent, const char *kind);
/* False: they are no JSON. */
bool ctl_indent_rows(struct ctl_indent *indent, struct ctl_page *page);
void ctl_indent_end(const struct ctl_indent *indent);

#endif
