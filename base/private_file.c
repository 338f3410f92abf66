/* SPDX-License-Identifier: Apache-2.0 */
#include "base/private_file.h"

#include <fcntl.h>
#include <sys/stat.h>

/* stat is avoided: old C libraries have it in their static part only. */
bool ga_file_is_private(const char *path)
{
    struct statx file;
    return statx(AT_FDCWD, path, 0, STATX_MODE, &file) != 0 || (file.stx_mode & S_IRWXO) == 0;
}
