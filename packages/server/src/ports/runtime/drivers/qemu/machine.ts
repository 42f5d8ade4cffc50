/** How QEMU is started: the smallest machine it has, with what a workload needs and no more (QEMU docs, system/i386/microvm). */

export type Accelerator = "kvm" | "tcg"

/** What all guests of one template have in common. */
export interface Shape {
  readonly accelerator: Accelerator
  readonly processors: number
  readonly memoryBytes: number
  /** Of this machine's processors. */
  readonly counterKhz: number
  readonly hasNetwork: boolean
}

/** `template`: boots and is written down; `copy`: goes on from there. */
export type Beginning = "template" | "copy"

const MiB = 2 ** 20
/** Translated code; QEMU would take an eighth of the machine's memory. */
const TRANSLATED_MIB = 64

/**
 * `init_on_alloc`: pages that are set aside would be touched. An emulated processor has the counter of this machine's,
 * and nothing by which its rate could be found out; and it speculates about nothing. `norandmaps`: QEMU translates a program
 * anew for each address that it lies at, which takes four times as long as all else of a short command.
 */
const kernelArguments = ({ accelerator, counterKhz }: Shape) =>
  [
    ...[
      "quiet",
      "panic=-1",
      "init_on_alloc=0",
      "transparent_hugepage=never",
      "cgroup_no_v1=all",
      "nowatchdog",
      "random.trust_cpu=on",
    ],
    ...["8250.nr_uarts=0", "tsc=reliable", "no_timer_check", "rcupdate.rcu_expedited=1"],
    ...(accelerator === "tcg"
      ? [`tsc_early_khz=${counterKhz}`, "lpj=4000000", "mitigations=off", "norandmaps"]
      : []),
  ].join(" ")

const port = (name: string, number: number, fd: number) => [
  ...["-chardev", `socket,id=${name},fd=${fd}`],
  ...["-device", `virtserialport,chardev=${name},nr=${number},name=${name}`],
]

/** Of the file a shape's memory is in. All copies map the same one, each in pages of its own where it writes. */
const memory = ({ memoryBytes }: Shape, beginning: Beginning) => {
  const size = `size=${memoryBytes}`
  const place =
    beginning === "template" ? "mem-path=/template/memory,share=on" : "mem-path=/proc/self/fd/8,share=off"
  return `memory-backend-file,id=ram,${size},${place}`
}

/** The kernel is not looked at any more by a copy. */
const start = (shape: Shape, beginning: Beginning) =>
  beginning === "copy"
    ? ["-incoming", "defer"]
    : ["-kernel", "/kernel", "-initrd", "/initrd", "-append", kernelArguments(shape)]

/** A template has room for a disk and none in it. */
const disk = (hasDisk: boolean) =>
  hasDisk
    ? [
        ...["-add-fd", "fd=6,set=1", "-blockdev"],
        "driver=raw,node-name=disk,discard=unmap,file.driver=file,file.filename=/dev/fdset/1,file.discard=unmap",
      ]
    : ["-blockdev", "driver=null-co,node-name=disk,size=1048576,read-zeroes=on"]

/** Its address of hardware is that of all guests: each is alone on its cable. */
const network = ({ hasNetwork }: Shape) =>
  hasNetwork
    ? [
        ...["-netdev", "tap,id=network,fd=9", "-device"],
        "virtio-net-device,netdev=network,mac=02:00:00:00:00:01,guest_announce=off",
      ]
    : []

/**
 * Descriptors and paths are those that launch.pl gives it. Its filter of system calls lets it start no program and become
 * nobody else; a template's has to start a shell.
 */
export const argumentsOf = (
  shape: Shape,
  { beginning, hasDisk }: { beginning: Beginning; hasDisk: boolean },
): readonly string[] => {
  const { accelerator, processors, memoryBytes } = shape
  const spawn = beginning === "template" ? "allow" : "deny"
  return [
    ...[
      "qemu-system-x86_64",
      "-name",
      "svc",
      "-nodefaults",
      "-no-user-config",
      "-no-reboot",
      "-display",
      "none",
    ],
    ...["-sandbox", `on,obsolete=deny,elevateprivileges=deny,spawn=${spawn},resourcecontrol=deny`],
    ...["-M", "microvm,memory-backend=ram,isa-serial=off,auto-kernel-cmdline=off,acpi=on"],
    ...(accelerator === "kvm"
      ? ["-accel", "kvm", "-cpu", "host"]
      : ["-accel", `tcg,thread=multi,tb-size=${TRANSLATED_MIB}`, "-cpu", "qemu64"]),
    ...["-smp", String(processors), "-m", `${Math.round(memoryBytes / MiB)}M`],
    ...["-object", memory(shape, beginning)],
    ...start(shape, beginning),
    ...["-device", "virtio-serial-device,max_ports=4"],
    ...[...port("agent", 1, 0), ...port("control", 2, 3), ...port("share", 3, 4)],
    ...[...disk(hasDisk), "-device", "virtio-blk-device,drive=disk"],
    ...network(shape),
    ...["-chardev", "socket,id=monitor,fd=5", "-mon", "monitor,mode=control"],
  ]
}
