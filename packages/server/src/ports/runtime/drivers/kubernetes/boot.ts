/** One workload: its Pod, the way to the agent in it, and its end. */
import { setTimeout as delay } from "node:timers/promises"
import type { KubernetesApi } from "../../../kubernetes/api.ts"
import type { Observed } from "../../../kubernetes/observed.ts"
import type { ContainerStatus, PodResource } from "../../../kubernetes/resources.ts"
import type { RemoteProcess } from "../../../kubernetes/streams.ts"
import { PortError } from "../../../port-error.ts"
import type { Booted } from "../../engine.ts"
import type { WorkloadSpec } from "../../port.ts"
import type { Carrier } from "./carriers.ts"
import { withHeartbeat } from "./heartbeat.ts"
import { nameOf, type PodOptions, relayCommand, SIDECAR, WORKLOAD } from "./manifests.ts"
import { egressOf, workloadPolicy } from "./policies.ts"

export interface Parts {
  readonly api: KubernetesApi
  readonly pods: Observed<PodResource>
  readonly carrier: Carrier
  readonly options: PodOptions
  readonly log: (line: string) => void
  /** How long Pods may take to start, images to come included, and to be gone. */
  readonly startMsMax: number
  readonly endMsMax: number
  /** How long a node may take to make the name spaces of a first Pod, before any image comes. */
  readonly sandboxMsMax: number
}

/** For the node to tell how a Pod ended that has; one that is short of memory takes its time. */
const VERDICT_MS_MAX = 30_000
const RETRY_MS = 500
const MESSAGE_CHARACTERS_MAX = 300
/** Of a program in a Pod, as the API tells it. */
const FAILURE = '"Failure"'
const WITH_ITS_CONTAINER = '"137"'
/** After which the API is asked anew, whatever was heard. */
const LOOK_MS = 2_000

/** What no waiting mends. */
const hopeless: ReadonlySet<string> = new Set([
  ...["ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull", "CreateContainerError"],
  ...["CreateContainerConfigError", "RunContainerError", "CrashLoopBackOff"],
])

const statusesOf = ({ status }: PodResource): readonly ContainerStatus[] => [
  ...(status?.initContainerStatuses ?? []),
  ...(status?.containerStatuses ?? []),
]

/** For people. */
export const describePod = (pod: PodResource | undefined): string => {
  if (!pod) return "there is no such Pod"
  const waiting = statusesOf(pod).flatMap(({ name, state }) => {
    const { reason = "", message = "" } = state?.waiting ?? {}
    return reason === "" ? [] : [`${name}: ${reason} ${message}`.trim()]
  })
  const unmet = (pod.status?.conditions ?? []).flatMap(({ type, status, reason = "" }) =>
    type === "PodScheduled" && status === "False" ? [`${type}: ${reason}`] : [],
  )
  const { phase = "no phase", reason = "", message = "" } = pod.status ?? {}
  return [`${phase} ${reason} ${message}`.trim(), ...unmet, ...waiting].join("; ").slice(0, 500)
}

const stateOf = (pod: PodResource, container: string) =>
  pod.status?.containerStatuses?.find(({ name }) => name === container)?.state

/** What was said to end it too early; undefined when nothing was. */
const failureOf = (pod: PodResource): string | undefined => {
  const { phase } = pod.status ?? {}
  const isOver = phase === "Failed" || phase === "Succeeded" || pod.metadata.deletionTimestamp !== undefined
  const failed = statusesOf(pod).find(
    ({ state }) =>
      (state?.terminated && state.terminated.exitCode !== 0) || hopeless.has(state?.waiting?.reason ?? ""),
  )
  if (!isOver && !failed) return undefined
  const { reason, exitCode, message = "" } = failed?.state?.terminated ?? {}
  const ended = failed?.state?.terminated
    ? [`${failed.name} ended with ${exitCode} (${reason}) ${message.slice(-MESSAGE_CHARACTERS_MAX)}`.trim()]
    : []
  return [describePod(pod), ...ended].join("; ")
}

/** Waits until both containers of a Pod run. */
const untilRunning = (parts: Parts, name: string): Promise<PodResource> =>
  parts.pods.wait(name, parts.startMsMax, pod => {
    if (!pod) return undefined
    const failure = failureOf(pod)
    if (failure !== undefined) throw new PortError("unavailable", `the Pod ${name} did not start: ${failure}`)
    return [WORKLOAD, SIDECAR].every(container => stateOf(pod, container)?.running)
      ? { answer: pod }
      : undefined
  })

const isGone = (pod: PodResource | undefined, uid: string | undefined): boolean =>
  !pod || (uid !== undefined && pod.metadata.uid !== uid)

/** Asks a Pod to end, and waits until the API says that it is gone. Rejects when that takes too long. */
export const endPod = async (
  { api, carrier, pods, options, endMsMax }: Parts,
  { id, isKept, uid }: { readonly id: string; readonly isKept: boolean; readonly uid?: string | undefined },
): Promise<void> => {
  const name = nameOf(options.instance, id)
  const deadline = performance.now() + endMsMax
  const look = async () => {
    await carrier.end(id, isKept)
    const found = await api.get("pods", name)
    if (!found || isGone(found, uid)) return true
    pods.note(found)
    // What is watched is quicker than asking, and what is asked is surer.
    const gone = pods.wait(name, LOOK_MS, pod => (isGone(pod, uid) ? { answer: true } : undefined))
    return gone.catch(() => false)
  }
  for (;;) {
    const isOver = await look().catch(async error => {
      if (performance.now() > deadline) throw error
      await delay(RETRY_MS)
      return false
    })
    if (isOver) return
    if (performance.now() > deadline) throw new PortError("unavailable", `the Pod ${name} does not end`)
  }
}

/** What cannot be taken away now is when the driver opens again. */
const takeAway = async (parts: Parts, spec: WorkloadSpec, uid: string | undefined): Promise<void> => {
  const name = nameOf(parts.options.instance, spec.id)
  try {
    await endPod(parts, { id: spec.id, isKept: spec.disk.kind === "persistent", uid })
    if (spec.network.mode === "filtered") await parts.api.remove("networkpolicies", name)
  } catch (error) {
    parts.log(`the Pod ${name} was left to its end: ${error}`)
  }
}

/** How a Pod ended that was not told to. */
const verdict = async ({ pods, options }: Parts, id: string): Promise<"out_of_memory" | "died"> => {
  const name = nameOf(options.instance, id)
  return pods
    .wait(name, VERDICT_MS_MAX, pod => {
      const terminated = pod && stateOf(pod, WORKLOAD)?.terminated
      if (pod && !terminated && !pod.metadata.deletionTimestamp) return undefined
      const isOut = terminated?.reason === "OOMKilled"
      return { answer: isOut ? ("out_of_memory" as const) : ("died" as const) }
    })
    .catch(() => "died")
}

const bootedOf = (
  parts: Parts,
  spec: WorkloadSpec,
  given: { remote: RemoteProcess; uid: string },
): Booted => {
  const { remote, uid } = given
  let isKilled = false
  const leave = Promise.withResolvers<string>()
  const unable = async () => {
    throw new PortError("refused", "a Pod cannot be frozen")
  }
  return {
    stream: { input: withHeartbeat(remote.input), output: remote.output },
    ended: Promise.race([remote.ended, leave.promise]).then(async said => {
      const reason = isKilled ? "died" : await verdict(parts, spec.id)
      if (said.includes(FAILURE) && !said.includes(WITH_ITS_CONTAINER))
        parts.log(`the way to workload ${spec.id} ended: ${said}`)
      remote.close()
      await takeAway(parts, spec, uid)
      return reason
    }),
    kill() {
      isKilled = true
      // The agent ends with that, whether or not the API answers what follows.
      remote.close()
      leave.resolve("")
    },
    ...{ freeze: unable, thaw: unable },
    stats: async () => ({}),
  }
}

export const boot = async (parts: Parts, spec: WorkloadSpec): Promise<Booted> => {
  const { api, carrier, options } = parts
  const name = nameOf(options.instance, spec.id)
  const egress = egressOf(spec.network)
  if (egress.length > 0) {
    // One of a former start may have said something else.
    await api.remove("networkpolicies", name)
    await api.create("networkpolicies", workloadPolicy(options.instance, spec.id, egress))
  }
  // One that was made though its maker did not hear so ends by itself, for nobody comes to it.
  if (!(await carrier.launch(options, spec))) {
    await takeAway(parts, spec, undefined)
    throw new PortError("unavailable", `workload ${spec.id} had a Pod that had not ended`)
  }
  let uid: string | undefined
  try {
    uid = (await untilRunning(parts, name)).metadata.uid
    const remote = await api.exec(name, { container: SIDECAR, argv: relayCommand() })
    return bootedOf(parts, spec, { remote, uid: uid ?? "" })
  } catch (error) {
    await takeAway(parts, spec, uid)
    if (error instanceof PortError && error.kind === "missing")
      throw new PortError("unavailable", error.message, error)
    throw error
  }
}
