/**
 * The system calls that nothing in a container may make, in Docker's form: those that process/seccomp.ts denies to
 * commands, but for what the agent sets up their root with, whose own filter denies that to them.
 */

const errno = (names: readonly string[], errnoRet: number) => ({
  ...{ names, action: "SCMP_ACT_ERRNO", errnoRet },
})
const EPERM = 1
const ENOSYS = 38
const EAFNOSUPPORT = 97

const denied = [
  ...["swapon", "swapoff", "reboot", "sethostname", "setdomainname", "iopl", "ioperm"],
  ...["create_module", "init_module", "finit_module", "delete_module", "get_kernel_syms", "query_module"],
  ...["quotactl", "quotactl_fd", "nfsservctl", "acct", "settimeofday", "clock_settime", "clock_adjtime"],
  ...["adjtimex", "kexec_load", "kexec_file_load", "syslog", "uselib", "ustat", "_sysctl"],
  ...["add_key", "request_key", "keyctl", "setns", "perf_event_open", "bpf", "userfaultfd"],
  ...["lookup_dcookie", "open_by_handle_at", "name_to_handle_at", "fanotify_init", "modify_ldt"],
  ...["move_pages", "migrate_pages", "mbind", "set_mempolicy", "vmsplice", "vhangup"],
  ...["io_uring_setup", "io_uring_enter", "io_uring_register", "fsopen", "fsconfig", "fsmount", "fspick"],
  ...["pidfd_getfd", "memfd_secret", "open_tree_attr"],
]

/** AF_UNIX, AF_INET, AF_INET6 and AF_NETLINK are left; libseccomp takes one condition on an argument, so each is named. */
const FAMILIES_LEFT: ReadonlySet<number> = new Set([1, 2, 10, 16])
const FAMILY_MAX = 64

const argument = (value: number, op: "SCMP_CMP_EQ" | "SCMP_CMP_GE") => [{ index: 0, value, op }]

export const seccompProfile = (): string => {
  const families = Array.from({ length: FAMILY_MAX }, (_, family) => family)
  const sockets = [
    ...families.filter(family => !FAMILIES_LEFT.has(family)).map(family => argument(family, "SCMP_CMP_EQ")),
    argument(FAMILY_MAX, "SCMP_CMP_GE"),
  ]
  return JSON.stringify({
    defaultAction: "SCMP_ACT_ALLOW",
    // Calls of other kinds of machine, as 32 bits on 64, end the process.
    architectures: [process.arch === "arm64" ? "SCMP_ARCH_AARCH64" : "SCMP_ARCH_X86_64"],
    syscalls: [
      errno(denied, EPERM),
      errno(["clone3"], ENOSYS),
      ...sockets.map(args => ({ ...errno(["socket"], EAFNOSUPPORT), args })),
    ],
  })
}
