/** What runsc is told of a workload (OCI runtime specification 1.0.2, config.md). */
import type { WorkloadSpec } from "../../port.ts"
import { UIDS_EACH } from "../process/host.ts"

/** Those that root has in a workload; its user has none. */
const capabilities = [
  ...["CAP_CHOWN", "CAP_DAC_OVERRIDE", "CAP_FOWNER", "CAP_FSETID", "CAP_KILL", "CAP_SETGID", "CAP_SETUID"],
  "CAP_NET_BIND_SERVICE",
]
const NOFILE_MAX = 65_536
/** Past the killer's usual choices, so that a workload dies of its own memory before others do. */
const OOM_SCORE = 500

/** Paths are those in the root that the launcher makes. `agent` starts it there; `filter` is its own, for commands. */
export const bundleOf = (
  spec: WorkloadSpec,
  given: { uidBase: number; agent: readonly string[]; filter: Buffer | undefined },
) => {
  const users = [{ containerID: 0, hostID: given.uidBase, size: UIDS_EACH }]
  const memory = (destination: string, bytes: number) => ({
    ...{ destination, type: "tmpfs", source: "svc" },
    options: ["nosuid", "nodev", "mode=1777", `size=${bytes}`],
  })
  return {
    ociVersion: "1.0.2",
    process: {
      user: { uid: 0, gid: 0 },
      args: [...given.agent, given.filter?.toString("hex") ?? ""],
      env: ["PATH=/usr/bin:/bin"],
      cwd: "/",
      capabilities: { bounding: capabilities, effective: capabilities, permitted: capabilities },
      noNewPrivileges: true,
      oomScoreAdj: OOM_SCORE,
      rlimits: [
        { type: "RLIMIT_CORE", hard: 0, soft: 0 },
        { type: "RLIMIT_NOFILE", hard: NOFILE_MAX, soft: NOFILE_MAX },
      ],
    },
    root: { path: "/workload", readonly: false },
    hostname: spec.hostname,
    mounts: [
      { destination: "/proc", type: "proc", source: "proc", options: ["nosuid", "nodev", "noexec"] },
      memory("/dev/shm", 2 ** 26),
      // It would put memory there by itself where it finds nothing.
      { destination: "/tmp", type: "bind", source: "/workload/tmp", options: ["bind", "nosuid", "nodev"] },
      ...spec.mounts.map(({ target }, number) => ({
        ...{ destination: target, type: "bind", source: `/mounts/${number}` },
        options: ["bind", "ro", "nosuid", "nodev"],
      })),
    ],
    linux: {
      namespaces: [
        ...["pid", "mount", "ipc", "uts", "user"].map(type => ({ type })),
        // The one that runsc is started in: its devices become those of the sandbox.
        ...(spec.network.mode === "none" ? [] : [{ type: "network", path: "/proc/self/ns/net" }]),
      ],
      uidMappings: users,
      gidMappings: users,
    },
  }
}
