/** Settings of what runs code of tenants. */
import { totalmem } from "node:os"
import {
  dockerHost,
  domainName,
  integer,
  optional,
  portOrOff,
  registries,
  url,
  word,
} from "./config-parsers.ts"
import { driversByName, driversForOwnCode, runtimeDrivers } from "./ports/runtime/index.ts"
import type { Setting } from "./setting.ts"

const memoryMb = Math.floor(totalmem() / 2 ** 20)

const listed = (names: readonly string[]) => names.map(name => `\`${name}\``).join(", ")

export const workloadSettings = {
  runtime: {
    variable: "SVC_RUNTIME",
    otherwise: "auto: the strongest that works on this machine",
    meaning:
      `What runs sandboxes, computers and functions, strongest first: ${listed(runtimeDrivers)}. The one that is named ` +
      `runs them, or nothing does; \`auto\` never takes ${listed(driversByName)}, nor one that is slow or flawed here. ` +
      `\`SVC_MODE=production\` refuses ${listed(driversForOwnCode)}. \`npm run doctor\` tells which work here, and why ` +
      "others do not.",
    parse: word("auto", ...runtimeDrivers),
  },
  dockerHost: {
    variable: "SVC_DOCKER_HOST",
    otherwise: "unix:///var/run/docker.sock",
    meaning:
      "Docker of this machine for the driver `docker`: `unix:///path` or `tcp://host:port`, as DOCKER_HOST.",
    parse: dockerHost,
  },
  kubernetesConfig: {
    variable: "SVC_KUBERNETES_CONFIG",
    otherwise: "the service account of the Pod that Svc runs in",
    meaning:
      "File with the kubeconfig of a cluster for the driver `kubernetes`; its current context counts. docs/kubernetes.md has " +
      "the rights that it takes.",
    parse: optional,
  },
  kubernetesNamespace: {
    variable: "SVC_KUBERNETES_NAMESPACE",
    otherwise: "that of the kubeconfig or the service account",
    meaning: "Namespace of the Pods of workloads. Best one where nothing else runs.",
    parse: optional,
  },
  kubernetesImage: {
    variable: "SVC_KUBERNETES_IMAGE",
    otherwise: "docker.io/library/debian:13-slim",
    meaning:
      "Image that workloads in Pods begin with: any Linux with the Perl of Debian's `perl-base` or more. Best named by its digest.",
    parse: optional,
  },
  kubernetesRuntimeClass: {
    variable: "SVC_KUBERNETES_RUNTIME_CLASS",
    otherwise: "none: the nodes' usual containers",
    meaning:
      "RuntimeClass of the Pods. One of gVisor's makes their `isolation` `gvisor`, one of Kata's `microvm`.",
    parse: optional,
  },
  kubernetesStorageClass: {
    variable: "SVC_KUBERNETES_STORAGE_CLASS",
    otherwise: "the cluster's own",
    meaning: "Storage class of the disks that workloads in Pods keep.",
    parse: optional,
  },
  kubernetesSeccompProfile: {
    variable: "SVC_KUBERNETES_SECCOMP",
    otherwise: "RuntimeDefault: that of the nodes' container runtime",
    meaning: "Filter of system calls of the Pods, by its path below the kubelet's seccomp folder.",
    parse: optional,
  },
  workloadNetwork: {
    variable: "SVC_WORKLOAD_NETWORK",
    otherwise: "auto: where the machine can give one, which takes root and nftables",
    meaning: "Whether workloads reach public addresses: `filtered` (nothing runs without), `none` or `auto`.",
    parse: word("auto", "filtered", "none"),
  },
  runsc: {
    variable: "SVC_RUNSC",
    otherwise: "the machine's own",
    meaning:
      "Path of the runsc that the driver `gvisor` starts: one that is newer than the machine's package is quicker.",
    parse: optional,
  },
  qemuKernel: {
    variable: "SVC_QEMU_KERNEL",
    otherwise: "/usr/local/lib/svc/kernel where there is such a folder, else /",
    meaning:
      "Folder with the kernel that guests of the `qemu` driver run: `boot` and `lib/modules` of an unpacked package, as " +
      "linux-image-cloud-amd64 of Debian has them. It need not be installed.",
    parse: optional,
  },
  workloadMemoryMb: {
    variable: "SVC_WORKLOAD_MEMORY_MB",
    otherwise: "the memory of this machine",
    meaning: "Memory that may be promised to all workloads together.",
    parse: integer(64, 67_108_864, memoryMb),
  },
  workloadsMax: {
    variable: "SVC_WORKLOADS_MAX",
    otherwise: "256",
    meaning: "Workloads that may run at a time.",
    parse: integer(1, 100_000, 256),
  },
  peerUrl: {
    variable: "SVC_PEER_URL",
    otherwise: "none: what runs here is used through this process alone",
    meaning:
      "Where other processes of the same installation reach this one, as `http://10.0.0.5:4000`: what concerns a workload " +
      "goes on to the host that runs it, and one that finds no room to a host that has some. All need one SVC_MASTER_KEY.",
    parse: url("http:", "https:"),
  },
  sandboxPoolMax: {
    variable: "SVC_SANDBOX_POOL",
    otherwise: "8",
    meaning:
      "Sandboxes that may be kept started for the next who asks, of the shapes that were asked for lately; 0 for none.",
    parse: integer(0, 1_000, 8),
  },
  imagesMb: {
    variable: "SVC_IMAGES_MB",
    otherwise: "20480",
    meaning: "Disk that unpacked images may take together; what is needed stays beyond it.",
    parse: integer(64, 67_108_864, 20_480),
  },
  imageMbMax: {
    variable: "SVC_IMAGE_MB_MAX",
    otherwise: "10240",
    meaning: "Size of the largest image that is pulled, unpacked.",
    parse: integer(1, 67_108_864, 10_240),
  },
  imageRegistries: {
    variable: "SVC_IMAGE_REGISTRIES",
    otherwise: "any",
    meaning:
      "Registries whose public images anybody may start from, as `docker.io,ghcr.io`; `none` for none. Private addresses " +
      "take SVC_OUTBOUND_ALLOW too.",
    parse: registries,
  },
  sandboxDomain: {
    variable: "SVC_SANDBOX_DOMAIN",
    otherwise:
      "sandboxes.localhost where SVC_BASE_URL is of localhost; else none, and sandboxes have no URLs",
    meaning:
      "Domain whose names (`*.domain`) all lead here and are the URLs of sandboxes' ports. Not one that the platform's own name is below, and best one of its own.",
    parse: domainName,
  },
  sshPort: {
    variable: "SVC_SSH_PORT",
    otherwise: "SVC_PORT plus two",
    meaning: "Port on which computers are reached by ssh; `off` for none.",
    parse: portOrOff,
  },
  sshHost: {
    variable: "SVC_SSH_HOST",
    otherwise: "the host of SVC_BASE_URL",
    meaning: "Host name under which computers say that they are reached by ssh.",
    parse: optional,
  },
} as const satisfies Record<string, Setting<unknown>>
