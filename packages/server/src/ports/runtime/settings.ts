import type { Settings } from "../../kernel/setting.ts"
import { optional, word } from "../../kernel/setting-parsers.ts"
import { driversByName, driversForOwnCode, runtimeDrivers } from "./index.ts"

const listed = (names: readonly string[]) => names.map(name => `\`${name}\``).join(", ")

export const dockerHost = (text = "unix:///var/run/docker.sock"): string => {
  if (!/^(unix:\/\/\/|tcp:\/\/[^/]+:\d+$)/.test(text))
    throw new RangeError("must be unix:///path or tcp://host:port")
  return text
}

export const settings = {
  runtime: {
    variable: "SVC_RUNTIME",
    default: "auto: the strongest of gvisor, bubblewrap and process that works on this machine",
    description:
      `Isolation of sandboxes, computers and functions, strongest first: ${listed(runtimeDrivers)}. Only the chosen one ` +
      `is used; \`auto\` never chooses ${listed(driversByName)}, nor one that is slow or flawed on this machine. ` +
      `\`SVC_MODE=production\` rejects ${listed(driversForOwnCode)}. \`npm run doctor\` shows which work on this ` +
      "machine, and why others do not.",
    parse: word("auto", ...runtimeDrivers),
  },
  dockerHost: {
    variable: "SVC_DOCKER_HOST",
    default: "unix:///var/run/docker.sock",
    description:
      "Docker of this machine for the driver `docker`: `unix:///path` or `tcp://host:port`, as DOCKER_HOST.",
    parse: dockerHost,
  },
  kubernetesConfig: {
    variable: "SVC_KUBERNETES_CONFIG",
    default: "the service account of the Pod that Svc runs in",
    description:
      "File with the kubeconfig of a cluster for the driver `kubernetes`; its current context is used. docs/kubernetes.md lists the permissions that it needs.",
    parse: optional,
  },
  kubernetesNamespace: {
    variable: "SVC_KUBERNETES_NAMESPACE",
    default: "that of the kubeconfig or the service account",
    description: "Namespace of the Pods of workloads, preferably one without other Pods.",
    parse: optional,
  },
  kubernetesImage: {
    variable: "SVC_KUBERNETES_IMAGE",
    default: "docker.io/library/debian:13-slim",
    description:
      "Image of workloads in Pods: any Linux with at least the Perl of Debian's `perl-base`, preferably named by digest.",
    parse: optional,
  },
  kubernetesRuntimeClass: {
    variable: "SVC_KUBERNETES_RUNTIME_CLASS",
    default: "none: the nodes' usual containers",
    description:
      "RuntimeClass of the Pods. One of gVisor's makes their `isolation` `gvisor`, one of Kata's `microvm`.",
    parse: optional,
  },
  kubernetesStorageClass: {
    variable: "SVC_KUBERNETES_STORAGE_CLASS",
    default: "the cluster's own",
    description: "Storage class of the disks of workloads in Pods.",
    parse: optional,
  },
  kubernetesSeccompProfile: {
    variable: "SVC_KUBERNETES_SECCOMP",
    default: "RuntimeDefault: that of the nodes' container runtime",
    description: "Filter of system calls of the Pods, by its path below the kubelet's seccomp folder.",
    parse: optional,
  },
  workloadNetwork: {
    variable: "SVC_WORKLOAD_NETWORK",
    default: "auto: `filtered` where the machine supports it, which needs root and nftables",
    description:
      "Network of workloads: `filtered` reaches public addresses only and is required then, `none`, or `auto`.",
    parse: word("auto", "filtered", "none"),
  },
  runsc: {
    variable: "SVC_RUNSC",
    default: "the machine's own",
    description:
      "Path of the runsc of the driver `gvisor`; a newer one than the package of the machine is faster.",
    parse: optional,
  },
  qemuKernel: {
    variable: "SVC_QEMU_KERNEL",
    default: "/usr/local/lib/svc/kernel where there is such a folder, else /",
    description:
      "Folder with the kernel of guests of the `qemu` driver: `boot` and `lib/modules` of an unpacked package, as linux-image-cloud-amd64 of Debian has them. It need not be installed.",
    parse: optional,
  },
} as const satisfies Settings
