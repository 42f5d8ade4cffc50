/**
 * The system calls that commands of a workload do without: those that reach parts of the kernel that no namespace
 * divides, or that only serve to get out. A classic BPF program over struct seccomp_data (seccomp(2)).
 */

interface Machine {
  /** AUDIT_ARCH_* of linux/audit.h. */
  readonly audit: number
  /** By asm/unistd.h. */
  readonly denied: readonly number[]
  readonly socket: number
  readonly clone: number
  readonly unshare: number
  /** Those that send a signal to the process that their first argument names. */
  readonly kills: readonly number[]
  /** Contexts of asynchronous input and output: the machine has 65,536 events for all of its users (fs.aio-max-nr). */
  readonly ioSetup: number
  /** Those that take huge pages, which the machine sets aside for all: with the argument that says so, and its flag. */
  readonly hugePages: readonly HugePages[]
}

interface HugePages {
  readonly call: number
  /** Counted from 0. */
  readonly argument: number
  readonly flag: number
}

const ALLOW = 0x7fff_0000
const KILL_PROCESS = 0x8000_0000
const errno = (number: number) => 0x0005_0000 | number
const EPERM = 1
const ENOMEM = 12
const ENOSYS = 38
const EAFNOSUPPORT = 97

/** Those of after 2019, which all machines number alike. */
const commonDenied = [
  // io_uring_setup io_uring_enter io_uring_register open_tree move_mount fsopen fsconfig fsmount fspick
  ...[425, 426, 427, 428, 429, 430, 431, 432, 433],
  // pidfd_getfd mount_setattr quotactl_fd memfd_secret open_tree_attr
  ...[438, 442, 443, 447, 467],
]
const CLONE3 = 435
/** Of linux/mman.h, linux/memfd.h and linux/shm.h. */
const [MAP_HUGETLB, MFD_HUGETLB, SHM_HUGETLB] = [0x4_0000, 4, 0o4000]
const hugePagesBy = (calls: {
  readonly mmap: number
  readonly memfdCreate: number
  readonly shmget: number
}): readonly HugePages[] => [
  { call: calls.mmap, argument: 3, flag: MAP_HUGETLB },
  { call: calls.memfdCreate, argument: 1, flag: MFD_HUGETLB },
  { call: calls.shmget, argument: 2, flag: SHM_HUGETLB },
]
/** CLONE_NEW* of linux/sched.h, but for CLONE_NEWTIME, which clone(2) does not know. */
const NAMESPACE_FLAGS = 0x7e02_0000
/** AF_UNIX, AF_INET, AF_INET6, AF_NETLINK. AF_VSOCK, for one, leads to the machine's own host past all namespaces. */
const families = [1, 2, 10, 16]

const machines: Readonly<Partial<Record<NodeJS.Architecture, Machine>>> = {
  x64: {
    audit: 0xc000_003e,
    socket: 41,
    clone: 56,
    unshare: 272,
    // kill tkill tgkill rt_sigqueueinfo rt_tgsigqueueinfo pidfd_open
    kills: [62, 200, 234, 129, 297, 434],
    ioSetup: 206,
    hugePages: hugePagesBy({ mmap: 9, memfdCreate: 319, shmget: 29 }),
    denied: [
      // mount umount2 pivot_root swapon swapoff reboot sethostname setdomainname iopl ioperm
      ...[165, 166, 155, 167, 168, 169, 170, 171, 172, 173],
      // create_module init_module delete_module get_kernel_syms query_module quotactl nfsservctl acct settimeofday
      ...[174, 175, 176, 177, 178, 179, 180, 163, 164],
      // clock_settime clock_adjtime adjtimex kexec_load kexec_file_load finit_module syslog uselib ustat _sysctl
      ...[227, 305, 159, 246, 320, 313, 103, 134, 136, 156],
      // add_key request_key keyctl setns perf_event_open bpf userfaultfd lookup_dcookie open_by_handle_at
      ...[248, 249, 250, 308, 298, 321, 323, 212, 304],
      // name_to_handle_at fanotify_init modify_ldt move_pages migrate_pages mbind set_mempolicy vmsplice vhangup
      ...[303, 300, 154, 279, 256, 237, 238, 278, 153],
    ],
  },
  arm64: {
    audit: 0xc000_00b7,
    socket: 198,
    clone: 220,
    unshare: 97,
    kills: [129, 130, 131, 138, 240, 434],
    ioSetup: 0,
    hugePages: hugePagesBy({ mmap: 222, memfdCreate: 279, shmget: 194 }),
    denied: [
      // mount umount2 pivot_root swapon swapoff reboot sethostname setdomainname quotactl nfsservctl acct settimeofday
      ...[40, 39, 41, 224, 225, 142, 161, 162, 60, 42, 89, 170],
      // init_module delete_module finit_module clock_settime clock_adjtime adjtimex kexec_load kexec_file_load syslog
      ...[105, 106, 273, 112, 266, 171, 104, 294, 116],
      // add_key request_key keyctl setns perf_event_open bpf userfaultfd lookup_dcookie open_by_handle_at
      ...[217, 218, 219, 268, 241, 280, 282, 18, 265],
      // name_to_handle_at fanotify_init move_pages migrate_pages mbind set_mempolicy vmsplice vhangup
      ...[264, 262, 239, 238, 235, 237, 75, 58],
    ],
  },
}

/** BPF_LD | BPF_W | BPF_ABS; BPF_JMP | BPF_JEQ, JGE and JSET | BPF_K; BPF_RET | BPF_K. */
const [LOAD, EQUAL, AT_LEAST, ANY_OF, RETURN] = [0x20, 0x15, 0x35, 0x45, 0x06]
/** Offsets in struct seccomp_data: nr, arch, the low half of the first argument (both machines are little-endian). */
const [NUMBER, ARCHITECTURE, FIRST_ARGUMENT] = [0, 4, 16]
const ARGUMENT_BYTES = 8

const instruction = (code: number, value: number, whenTrue = 0, whenFalse = 0): Buffer => {
  const bytes = Buffer.alloc(8)
  bytes.writeUInt16LE(code, 0)
  bytes.writeUInt8(whenTrue, 2)
  bytes.writeUInt8(whenFalse, 3)
  bytes.writeUInt32LE(value >>> 0, 4)
  return bytes
}

const give = (action: number) => instruction(RETURN, action)
/** Each of these is a step of its own: when it does not apply, it skips what it would give. */
const when = (code: number, value: number, action: number) => [instruction(code, value, 0, 1), give(action)]

/**
 * Undefined where we know no numbers: a filter with wrong ones would be worse than none. `commands` may do nothing that
 * only serves to get out; an `agent` whose commands have names of their own for its one user makes namespaces for them.
 */
export const seccompFilter = (
  architecture: NodeJS.Architecture,
  subject: "commands" | "agent" = "commands",
): Buffer | undefined => {
  const machine = machines[architecture]
  if (!machine) return undefined
  const { audit, socket, clone, kills, ioSetup, hugePages } = machine
  const denied = [...machine.denied, ...commonDenied, ...(subject === "agent" ? [] : [machine.unshare])]
  const onArgument = (call: number, argument: number, steps: readonly Buffer[]) => [
    instruction(EQUAL, call, 0, steps.length + 1),
    instruction(LOAD, FIRST_ARGUMENT + argument * ARGUMENT_BYTES),
    ...steps,
  ]
  return Buffer.concat([
    instruction(LOAD, ARCHITECTURE),
    instruction(EQUAL, audit, 1, 0),
    give(KILL_PROCESS),
    instruction(LOAD, NUMBER),
    // The x32 numbers of x86-64.
    ...when(AT_LEAST, 0x4000_0000, errno(ENOSYS)),
    // Its flags lie in memory, where no filter sees them; libraries go back to clone.
    ...when(EQUAL, CLONE3, errno(ENOSYS)),
    // As of a kernel that was built without it, which programs expect.
    ...when(EQUAL, ioSetup, errno(ENOSYS)),
    ...denied.flatMap(call => when(EQUAL, call, errno(EPERM))),
    // The agent: not all kernels keep the first process from signals of others.
    ...kills.flatMap(call => onArgument(call, 0, [...when(EQUAL, 1, errno(EPERM)), give(ALLOW)])),
    ...hugePages.flatMap(({ call, argument, flag }) =>
      onArgument(call, argument, [...when(ANY_OF, flag, errno(ENOMEM)), give(ALLOW)]),
    ),
    ...onArgument(clone, 0, [...when(ANY_OF, NAMESPACE_FLAGS, errno(EPERM)), give(ALLOW)]),
    ...onArgument(socket, 0, [
      ...families.flatMap(family => when(EQUAL, family, ALLOW)),
      give(errno(EAFNOSUPPORT)),
    ]),
    give(ALLOW),
  ])
}
