/* SPDX-License-Identifier: Apache-2.0 */
/* Values of JSON as texts: for people, and plain. */
#ifndef CTL_VALUE_H
#define CTL_VALUE_H

#include "api/limits.h"
#include "ctl/ctl.h"
#include "ctl/page.h"

#define CTL_CELL_BYTES 100u

/* The item's member by a key with dots; NULL: there is none. */
json_t *ctl_value_at(json_t *item, const char *key);
/* A cell of a table, safe for terminals, to be freed. NULL: no memory. */
char *ctl_value_text(json_t *item, const struct ctl_column *column, bool wide);
/* A cell of values: two of a key "used|limit". To be freed. */
char *ctl_value_text_of(const struct ctl_value values[2], enum ctl_form form, bool wide);
/* A cell that needs no memory, as most do: *text, which may be `room`. False: it needs some. */
bool ctl_value_cell(const struct ctl_value values[2], enum ctl_form form, bool wide,
                    char room[CTL_CELL_BYTES], const char **text);
/* The first (0) or second (1) part of a column's key "used|limit"; "": there is none. */
void ctl_value_key(const char *keys, unsigned part, char key[CTL_KEY_BYTES]);
char *ctl_value_plain_text(const struct ctl_value *value);
/* The member without a unit, as in CSV, safe for terminals, to be freed. */
char *ctl_value_plain(json_t *item, const char *key);
/* The value of a member that is called `key`, for people: the unit is in its name (_bytes, _ms). To
 * be freed; NULL: there is none. */
char *ctl_value_plain_of(const char *key, json_t *value);
/* A setting as it is typed, by its member of a JSON object: the name, and the value (to be freed;
 * NULL: there is none). */
void ctl_setting_name(const char *member, char *name, size_t size);
char *ctl_setting_value(const char *member, json_t *value);
/* How much of a limit is used is the member used.X of a tenant, X of a user; or nothing tells. */
enum ctl_used { CTL_USED_UNTOLD, CTL_USED_TENANT, CTL_USED_USER };
/* The column of a limit, and of what is used of it; its form is that of the unit. Without a title
 * (NULL) it has the one of lists of all limits. */
struct ctl_column ctl_setting_column(enum limit limit, enum ctl_used used, const char *title,
                                     bool wide);
/* Reads "90s", "15m", "12h", "7d" or "2w", in seconds. */
bool ctl_duration_read(const char *text, uint64_t *seconds);
/* Ten years: where nothing else is the limit */
#define CTL_DURATION_MAX (UINT64_C(3653) * 86400)
/* The option's value as a duration; without the option *seconds stays as it is. The error has been
 * told. */
enum admin_code ctl_option_duration(const struct ctl_line *line, enum ctl_option option,
                                    uint64_t least_s, uint64_t most_s, uint64_t *seconds);
/* Writes a number of bytes with a unit: "1.5 GiB". */
void ctl_bytes_write(uint64_t bytes, char *text, size_t size);

#endif
