"""What Linux has and another system has not, by name. docs.python.org: "Availability"."""

from __future__ import annotations

import re
import signal

POSIX_MODULES = frozenset(
    {
        "crypt", "curses", "fcntl", "grp", "nis", "posix", "pty", "pwd", "readline", "resource",
        "spwd", "syslog", "termios", "tty",
    }
)  # fmt: skip
POSIX_OS = (
    "O_(ACCMODE|ASYNC|CLOEXEC|DIRECT|DIRECTORY|DSYNC|LARGEFILE|NDELAY|NOATIME|NOCTTY|NOFOLLOW"
    "|NONBLOCK|PATH|RSYNC|SYNC|TMPFILE)|EX_[A-Z]+|F_[A-Z]+|GRND_.*|P_P?G?ID|POSIX_.*|PRIO_.*"
    "|RTLD_.*|SCHED_.*|SEEK_(DATA|HOLE)|ST_.*|W(CONTINUED|EXITED|NOHANG|NOWAIT|STOPPED|UNTRACED"
    "|COREDUMP|EXITSTATUS|IF[A-Z]+|STOPSIG|TERMSIG)|XATTR_.*|chown|chroot|confstr.*"
    "|copy_file_range|ctermid|eventfd.*|fchdir|fchmod|fchown|fdatasync|fork|forkpty|fpathconf"
    "|fstatvfs|fwalk|get(e|res)?[ug]id|getgrouplist|getgroups|getloadavg|getpgid|getpgrp"
    "|getpriority|getsid|getxattr|initgroups|killpg|lchmod|lchown|listxattr|lockf|major|makedev"
    "|memfd_create|minor|mkfifo|mknod|nice|openpty|pathconf.*|pidfd_open|pipe2|posix_.*|pread"
    "|preadv|pwrite|pwritev|readv|register_at_fork|removexattr|sched_.*|sendfile"
    "|set(e|re|res)?[ug]id|[gs]et_blocking|setgroups|setns|setpgid|setpriority|setsid|setxattr"
    "|splice|statvfs.*|sync|sysconf.*|tc[gs]etpgrp|ttyname|uname.*|unshare|wait|wait3|wait4"
    "|waitid.*|writev"
)
LINUX_OS = (
    "O_(DIRECT|LARGEFILE|NOATIME|PATH|RSYNC|TMPFILE)|GRND_.*|RTLD_DEEPBIND|SCHED_(BATCH|IDLE)"
    "|XATTR_.*|copy_file_range|eventfd.*|fdatasync|getrandom|[gls]etxattr|listxattr|removexattr"
    "|memfd_create|pidfd_open|pipe2|posix_fa.*|sched_([gs]et(affinity|param|scheduler))|setns"
    "|[gs]etres[ug]id|splice|unshare|waitid.*"
)
WINDOWS_SIGNALS = ("SIGABRT", "SIGFPE", "SIGILL", "SIGINT", "SIGSEGV", "SIGTERM")
POSIX_SIGNAL = (
    "|".join(one.name for one in signal.Signals if one.name not in WINDOWS_SIGNALS)
    + "|SIGCLD|SIGPOLL|SIG_(UN)?BLOCK|SIG_SETMASK|alarm|pause|[gs]etitimer|ITIMER.*|ItimerError"
    "|pthread_.*|sig(pending|wait.*|interrupt|timedwait)"
)
POSIX_SELECT = "e?poll|kqueue|kevent|devpoll|EPOLL.*|POLL.*|PIPE_BUF"
POSIX_SOCKET = "AF_(UNIX|NETLINK|PACKET|VSOCK)|SO_REUSEPORT|SCM_.*|sethostname"
NTFS_NEVER = re.compile(
    r"(con|prn|aux|nul|com[1-9]|lpt[1-9])(\..*)?|.*[. ]|.*[<>:\"|?*\\].*", re.IGNORECASE
)
"""Names that no program of Windows makes, or that it makes as others."""
