/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/secret.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

enum admin_code ctl_secret_make(const struct ctl_line *line, int *fd)
{
    const char *path = line->options[OPTION_OUT];
    *fd = -1;
    if (path == NULL || ctl_has(line, OPTION_DRY_RUN)) {
        return ADMIN_OK;
    }
    *fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (*fd < 0) {
        return ctl_wrong(ADMIN_ERROR, "--out %s: %s", path,
                         errno == EEXIST ? "it is there already: choose another name, or remove it"
                                         : strerror(errno));
    }
    return ADMIN_OK;
}

enum admin_code ctl_secret_write(const struct ctl_line *line, int fd, const char *text)
{
    FILE *file = fdopen(fd, "w");
    bool written =
        file != NULL && fprintf(file, "%s\n", text) > 0 && fflush(file) == 0 && fsync(fd) == 0;
    int error = errno;
    if (file != NULL) {
        (void)fclose(file);
    } else {
        close(fd);
    }
    return written ? ADMIN_OK
                   : ctl_wrong(ADMIN_PARTIAL,
                               "--out %s: %s; what was made is lost: revoke it, and make another",
                               line->options[OPTION_OUT], strerror(error));
}

void ctl_secret_drop(const struct ctl_line *line, int fd)
{
    if (fd >= 0) {
        (void)unlink(line->options[OPTION_OUT]);
        close(fd);
    }
}
