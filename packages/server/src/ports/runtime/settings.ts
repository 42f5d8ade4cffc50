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
} as const satisfies Settings
