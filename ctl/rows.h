/* SPDX-License-Identifier: Apache-2.0 */
/* A list as it is printed: a table, CSV or JSON, made row by row and printed when all are there. */
#ifndef CTL_ROWS_H
#define CTL_ROWS_H

#include "ctl/ctl.h"
#include "ctl/page.h"

struct ctl_rows;

/* `columns` and `kind` are borrowed. NULL: no memory, which ctl_rows_end tells. */
struct ctl_rows *ctl_rows_begin(const struct ctl_line *line, const char *kind,
                                const struct ctl_column *columns, size_t count);
/* A row that is an object; not of JSON. */
void ctl_rows_item(struct ctl_rows *rows, json_t *item);
/* The rows of a page. False: they make no sense. */
bool ctl_rows_page(struct ctl_rows *rows, struct ctl_page *page);
/* Prints it, unless it is of no use (`whole` false), and frees it. */
enum admin_code ctl_rows_end(struct ctl_rows *rows, bool whole);

#endif
