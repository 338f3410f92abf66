/* SPDX-License-Identifier: Apache-2.0 */
/* Files for secrets: new, and for their owner alone. */
#ifndef CTL_SECRET_H
#define CTL_SECRET_H

#include "ctl/ctl.h"

/* Makes the file of --out, which must not be there yet; -1 in `fd` if the option is not given. To
 * be called before the secret is made: it is there once. */
enum admin_code ctl_secret_make(const struct ctl_line *line, int *fd);
/* Writes the text and a newline, and closes the file. */
enum admin_code ctl_secret_write(const struct ctl_line *line, int fd, const char *text);
/* There is no secret: the file goes. */
void ctl_secret_drop(const struct ctl_line *line, int fd);

#endif
