/** What workloads are made of in Kubernetes. */
import { apiVersions } from "../../../kubernetes/resources.ts"
import { words } from "../../guest/frames.ts"
import { memoryDiskBytes, type WorkloadSpec } from "../../port.ts"
import { seccompFilter } from "../process/seccomp.ts"

export const INSTANCE_LABEL = "svc.instance"
export const WORKLOAD_LABEL = "svc.workload"

/** How all Pods of one platform are. */
export interface PodOptions {
  /** Tells what is one platform's from what is another's. */
  readonly instance: string
  readonly image: string
  /** The ConfigMap of `scripts.ts`. */
  readonly scripts: string
  readonly runtimeClass?: string | undefined
  readonly storageClass?: string | undefined
  /** A profile on the nodes, in place of their container runtime's own. */
  readonly seccompProfile?: string | undefined
  /** Root in a Pod is somebody without rights on its node. */
  readonly hasOwnUsers: boolean
}

/** The workload's, and that by which the platform comes to it. */
export const WORKLOAD = "workload"
export const SIDECAR = "sidecar"
export const DISK = "disk"

const AGENT_AT = "/.svc/agent"
const DISK_AT = "/.svc/disk"
/** On the Pod's own loopback; the agent gives it up before a command runs. */
const AGENT_PORT = 61_001
/** For a node that is busy, and for a platform that is. */
const START_SECONDS = 120
/** How long the agent lives without a word of the platform, which says one each `HEARTBEAT_MS`. */
const PATIENCE_SECONDS = 90
export const HEARTBEAT_MS = 15_000
const MiB = 2 ** 20
export const SIDECAR_BYTES = 32 * MiB
/** What its processes use in common with nobody: their own logs, which say nothing. */
const EPHEMERAL_BYTES = 64 * MiB
/** Processors that a workload has for certain; what it may use beyond is shared. */
const CPU_REQUEST_PART = 0.1
const MILLICPU_MIN = 10

/** Directories of the disk, and what else of it is mounted where a node would have its own. */
const kept = ["etc", "home", "mnt", "opt", "root", "srv", "tmp", "var", "workspace", "etc/hosts"]
/** What is not lost with the Pod. */
export const keptPlaces = kept.filter(name => !name.includes("/")).map(name => `/${name}`)

export const nameOf = (instance: string, id: string) => `svc-${instance}-${id}`

export const labelsOf = (instance: string, id: string) => ({
  [INSTANCE_LABEL]: instance,
  [WORKLOAD_LABEL]: id,
  "app.kubernetes.io/managed-by": "svc",
})

/**
 * What root in a workload has elsewhere too (agent/kernel.pl), all of which the Pod Security Standard `baseline` admits.
 */
const capabilities = [
  "CHOWN",
  "DAC_OVERRIDE",
  "FOWNER",
  "FSETID",
  "KILL",
  "SETGID",
  "SETUID",
  "NET_BIND_SERVICE",
]

const securityOf = (add: readonly string[]) => ({
  ...{ allowPrivilegeEscalation: false, privileged: false, readOnlyRootFilesystem: true },
  ...{ runAsUser: 0, runAsGroup: 0, capabilities: { drop: ["ALL"], ...(add.length > 0 && { add }) } },
})

const limited = (vcpus: number, memoryBytes: number) => {
  const millicpus = Math.max(MILLICPU_MIN, Math.round(vcpus * 1_000))
  const memory = String(Math.floor(memoryBytes))
  const storage = { "ephemeral-storage": String(EPHEMERAL_BYTES) }
  const requested = Math.max(MILLICPU_MIN, Math.round(millicpus * CPU_REQUEST_PART))
  return {
    limits: { cpu: `${millicpus}m`, memory, ...storage },
    requests: { cpu: `${requested}m`, memory, ...storage },
  }
}

const agentMount = { name: "agent", mountPath: AGENT_AT, readOnly: true }

const perl = (script: string, ...given: readonly (string | number)[]) => [
  "perl",
  `${AGENT_AT}/${script}`,
  ...given.map(String),
]

/** What is run in the sidecar to bring the platform to the agent. */
export const relayCommand = () => perl("relay.pl", AGENT_PORT, START_SECONDS) as [string, ...string[]]
/** Tells whether the API server is reached from a Pod. */
export const reachCommand = (seconds: number) => perl("reach.pl", seconds) as [string, ...string[]]

const agentRequest = (): string => {
  const filters = (["x64", "arm64"] as const).flatMap(machine => [
    machine,
    seccompFilter(machine)?.toString("hex") ?? "",
  ])
  return words(String(AGENT_PORT), String(START_SECONDS), String(PATIENCE_SECONDS), ...filters).toString(
    "hex",
  )
}

/** How a container is told to run, and to say why it did not: its log, which no tenant writes to. */
const startOf = (image: string, command: readonly string[]) => ({
  ...{ image, imagePullPolicy: "IfNotPresent", workingDir: "/", command },
  terminationMessagePolicy: "FallbackToLogsOnError",
})

const prepareContainer = ({ image }: PodOptions, { hostname, memoryBytes }: WorkloadSpec) => ({
  ...{ name: "prepare", ...startOf(image, perl("prepare.pl", hostname)) },
  volumeMounts: [agentMount, { name: DISK, mountPath: DISK_AT }],
  // Files in memory that it makes count as its own.
  resources: limited(1, Math.max(memoryBytes, SIDECAR_BYTES)),
  securityContext: securityOf(capabilities),
})

const workloadContainer = ({ image }: PodOptions, { vcpus, memoryBytes }: WorkloadSpec) => ({
  ...{ name: WORKLOAD, ...startOf(image, perl("pod.pl", agentRequest())) },
  volumeMounts: [
    agentMount,
    ...kept.map(name => ({ name: DISK, mountPath: `/${name}`, subPath: name })),
    { name: "run", mountPath: "/run" },
  ],
  resources: limited(vcpus, memoryBytes),
  securityContext: securityOf(capabilities),
})

const sidecarContainer = ({ image }: PodOptions) => ({
  ...{ name: SIDECAR, ...startOf(image, perl("sidecar.pl", START_SECONDS)), volumeMounts: [agentMount] },
  resources: limited(1, SIDECAR_BYTES),
  securityContext: securityOf([]),
})

const diskVolume = ({ instance }: PodOptions, spec: WorkloadSpec) => {
  const { kind, bytes } = spec.disk
  if (kind === "persistent")
    return { name: DISK, persistentVolumeClaim: { claimName: nameOf(instance, spec.id) } }
  return kind === "scratch"
    ? { name: DISK, emptyDir: { sizeLimit: String(bytes) } }
    : { name: DISK, emptyDir: { medium: "Memory", sizeLimit: String(memoryDiskBytes(spec)) } }
}

/** The labels and the spec of a workload's Pod, whoever makes it. */
export const podTemplate = (options: PodOptions, spec: WorkloadSpec) => ({
  metadata: { labels: labelsOf(options.instance, spec.id) },
  spec: {
    ...{ hostname: spec.hostname, restartPolicy: "Never", terminationGracePeriodSeconds: 1 },
    ...{ automountServiceAccountToken: false, enableServiceLinks: false, shareProcessNamespace: false },
    ...{ hostNetwork: false, hostPID: false, hostIPC: false },
    ...(options.hasOwnUsers && { hostUsers: false }),
    ...(options.runtimeClass !== undefined && { runtimeClassName: options.runtimeClass }),
    securityContext: {
      runAsUser: 0,
      seccompProfile:
        options.seccompProfile === undefined
          ? { type: "RuntimeDefault" }
          : { type: "Localhost", localhostProfile: options.seccompProfile },
    },
    initContainers: [prepareContainer(options, spec)],
    containers: [workloadContainer(options, spec), sidecarContainer(options)],
    volumes: [
      { name: "agent", configMap: { name: options.scripts, defaultMode: 0o555 } },
      diskVolume(options, spec),
      { name: "run", emptyDir: { medium: "Memory", sizeLimit: String(16 * MiB) } },
    ],
  },
})

export const podOf = (options: PodOptions, spec: WorkloadSpec) => {
  const { metadata, spec: pod } = podTemplate(options, spec)
  const name = nameOf(options.instance, spec.id)
  return { apiVersion: apiVersions.pods, kind: "Pod", metadata: { name, ...metadata }, spec: pod }
}

export const claimSpec = ({ storageClass }: PodOptions, { disk }: WorkloadSpec) => ({
  accessModes: ["ReadWriteOnce"],
  ...(storageClass !== undefined && { storageClassName: storageClass }),
  resources: { requests: { storage: String(Math.ceil(disk.bytes)) } },
})

export const claimOf = (options: PodOptions, spec: WorkloadSpec) => ({
  ...{ apiVersion: apiVersions.persistentvolumeclaims, kind: "PersistentVolumeClaim" },
  metadata: { name: nameOf(options.instance, spec.id), labels: labelsOf(options.instance, spec.id) },
  spec: claimSpec(options, spec),
})

export const configMapOf = (instance: string, { name, data }: { name: string; data: object }) => ({
  ...{ apiVersion: apiVersions.configmaps, kind: "ConfigMap", immutable: true, data },
  metadata: { name, labels: { [INSTANCE_LABEL]: instance, "app.kubernetes.io/managed-by": "svc" } },
})
