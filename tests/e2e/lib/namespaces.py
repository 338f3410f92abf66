# SPDX-License-Identifier: Apache-2.0
"""Machines of their own: network, processes and files of a test."""

import os
import shutil
import subprocess

# Folders of the machine, as they are where gpuaas has just been installed: seen in this mount
# namespace alone. Nothing is made outside: two tests would take it away from each other.
OWN_FOLDERS = """
cp -a /etc {folder}/etc; mount --bind {folder}/etc /etc
mount -t tmpfs tmpfs /var/lib; mount -t tmpfs tmpfs /run
rm -rf /etc/gpuaas; mkdir /etc/gpuaas /var/lib/gpuaas /run/gpuaas
cp {folder}/gpuaasd.conf /etc/gpuaas
echo 127.0.0.1 localhost gpu1 > /etc/hosts
cd {folder}
"""


def namespaces():
    return os.getuid() == 0 and shutil.which("unshare") and subprocess.run(
        ["unshare", "--mount", "--net", "ip", "link", "set", "lo", "up"],
        check=False, capture_output=True).returncode == 0
