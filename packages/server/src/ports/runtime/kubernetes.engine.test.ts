import assert from "node:assert/strict"
import { spawn } from "node:child_process"
import { randomUUID } from "node:crypto"
import { once } from "node:events"
import { writeFile } from "node:fs/promises"
import { join } from "node:path"
import { type TestContext, test } from "node:test"
import { fileURLToPath } from "node:url"
import { atEnd, temporaryDir } from "../../kernel/db/embedded/testing/directories.ts"
import { eventually } from "../../testing/eventually.ts"
import type { Kind, Resource } from "../kubernetes/resources.ts"
import { startFakeKubernetes } from "../kubernetes/testing/kubernetes.ts"
import { MiB, persistent, processesWith, rejectsAs, shell, specOf } from "./conformance/fixture.ts"
import { runtimeConformance } from "./conformance.ts"
import { openKubernetesRuntime } from "./drivers/kubernetes/driver.ts"
import { openRuntime } from "./index.ts"
import type { RuntimePort } from "./port.ts"
import { startAgentSandbox } from "./testing/agent-sandbox.ts"
import { type Cluster, type ClusterOptions, openIn, startCluster } from "./testing/cluster.ts"
import { withoutKubelet } from "./testing/kubelet.ts"

const lacking = await withoutKubelet()
const skip = lacking ?? false
const log = () => undefined

if (skip) test("kubernetes keeps the promises of the runtime port", { skip }, () => undefined)
else
  runtimeConformance("kubernetes", async () => {
    const cluster = await startCluster()
    const runtime = await openIn(cluster)
    return {
      ...runtime,
      async [Symbol.asyncDispose]() {
        await runtime[Symbol.asyncDispose]()
        await cluster[Symbol.asyncDispose]()
      },
    }
  })

const clusterOf = async (t: TestContext, options?: ClusterOptions): Promise<Cluster> => {
  const cluster = await startCluster(options)
  atEnd(t, () => cluster[Symbol.asyncDispose]())
  return cluster
}

const runtimeOf = async (
  t: TestContext,
  cluster: Cluster,
  options?: Parameters<typeof openIn>[1],
): Promise<RuntimePort> => {
  const runtime = await openIn(cluster, options)
  atEnd(t, () => runtime[Symbol.asyncDispose]())
  return runtime
}

const kinds: readonly Kind[] = [
  "pods",
  "persistentvolumeclaims",
  "configmaps",
  "networkpolicies",
  "sandboxes",
]

/** All that the cluster has, as `pods/name`. */
const namesIn = ({ kubernetes }: Pick<Cluster, "kubernetes">): readonly string[] =>
  kinds.flatMap(kind =>
    (kubernetes.list(kind) as readonly Resource[]).map(({ metadata }) => `${kind}/${metadata.name}`),
  )

test("workloads that were used and destroyed leave nothing in the cluster, and a platform that closes neither", {
  skip,
}, async t => {
  const cluster = await clusterOf(t)
  const runtime = await openIn(cluster, { hasNetwork: true })
  const network = { mode: "filtered", allow: null, deny: [] } as const
  const specs = [specOf(), specOf({ ...persistent, network }), specOf({ network })]
  await Promise.all(
    specs.map(async spec => {
      await shell(await runtime.start(spec), "setsid sleep 1000 & echo")
      await runtime.destroy(spec.id)
    }),
  )
  assert.deepEqual(await runtime.list(), [])
  assert.deepEqual(
    namesIn(cluster).map(name => name.replace(/-[0-9a-f]{10}/, "").replace(/-[0-9a-f]{16}$/, "")),
    ["configmaps/svc-agent", "networkpolicies/svc-deny-all"],
  )
  await runtime[Symbol.asyncDispose]()
  assert.deepEqual(namesIn(cluster), [])
})

test("a workload is destroyed when the cluster has let go of its disk, and can be made anew then", {
  skip,
}, async t => {
  const cluster = await clusterOf(t)
  const runtime = await runtimeOf(t, cluster)
  const spec = specOf(persistent)
  await runtime.create(spec)
  const [{ metadata }] = cluster.kubernetes.list("persistentvolumeclaims")
  cluster.kubernetes.put("persistentvolumeclaims", metadata.name, {
    metadata: { finalizers: ["kubernetes.io/pvc-protection"] },
  })
  let isGone = false
  const destroyed = runtime.destroy(spec.id).then(() => {
    isGone = true
  })
  const asked = () =>
    cluster.kubernetes.get("persistentvolumeclaims", metadata.name)?.metadata.deletionTimestamp
  await eventually("it was asked to go", () => asked() !== undefined)
  assert.equal(isGone, false)
  cluster.kubernetes.remove("persistentvolumeclaims", metadata.name)
  await destroyed
  assert.equal((await shell(await runtime.start(spec), "echo anew")).stdout, "anew\n")
})

test("kill -9 of the platform ends its Pods, and the next one finds the disks, and leaves Pods of others alone", {
  skip,
}, async t => {
  const cluster = await clusterOf(t)
  const { kubernetes, place } = cluster
  const dataDir = temporaryDir(t)
  const config = join(dataDir, "kubeconfig.json")
  const { apiUrl: server, token, namespace } = place
  await writeFile(
    config,
    JSON.stringify({
      "current-context": "test",
      contexts: [{ name: "test", context: { cluster: "fake", user: "svc", namespace } }],
      clusters: [{ name: "fake", cluster: { server } }],
      users: [{ name: "svc", user: { token } }],
    }),
  )
  const others = await runtimeOf(t, cluster)
  const neighbour = await others.start(specOf())
  const marker = `.${Math.floor(Math.random() * 1e9)}`
  const [kept, other] = [randomUUID(), randomUUID()] as const
  const program = fileURLToPath(new URL("testing/holder.ts", import.meta.url))
  const child = spawn(process.execPath, [program, "kubernetes", dataDir, marker, kept, other], {
    stdio: ["ignore", "pipe", "inherit"],
    env: { ...process.env, SVC_KUBERNETES_CONFIG: config },
  })
  atEnd(t, () => child.kill("SIGKILL"))
  await once(child.stdout, "data")
  assert.ok((await processesWith(marker)).length > 0)
  const exited = once(child, "exit")
  child.kill("SIGKILL")
  await exited
  // The agent hears of it, though nobody is there who would ask for a Pod's end.
  await eventually("its processes end", async () => (await processesWith(marker)).length === 0)

  const kubernetesOf = {
    demand: "kubernetes",
    refusesWeak: true,
    dataDir,
    log,
    kubernetes: { config },
  } as const
  const runtime = await openRuntime(kubernetesOf)
  atEnd(t, () => runtime[Symbol.asyncDispose]())
  assert.deepEqual(await runtime.list(), [kept])
  assert.equal(kubernetes.list("pods").length, 1)
  assert.equal((await shell(neighbour, "echo alive")).stdout, "alive\n")
  const again = await runtime.start(specOf({ id: kept, disk: { kind: "persistent", bytes: 32 * MiB } }))
  assert.equal((await shell(again, "cat /workspace/file")).stdout, "kept\n")
  await runtime.destroy(kept)
  assert.deepEqual(await runtime.list(), [])
})

test("a workload whose connection breaks has died, its Pod is gone, and it starts again", {
  skip,
}, async t => {
  const cluster = await clusterOf(t)
  const runtime = await runtimeOf(t, cluster)
  const spec = specOf(persistent)
  const guest = await runtime.start(spec)
  await shell(guest, "echo kept >/workspace/file; sync")
  const command = await guest.exec({ argv: ["sleep", "1000"] })
  const fate = assert.rejects(command.exited, { kind: "unavailable" })
  cluster.kubernetes.cutStreams()
  await fate
  assert.equal(await guest.ended, "died")
  assert.deepEqual(cluster.kubernetes.list("pods"), [])
  assert.equal((await shell(await runtime.start(spec), "cat file")).stdout, "kept\n")
})

test("a Pod that somebody deletes has died", { skip }, async t => {
  const cluster = await clusterOf(t)
  const runtime = await runtimeOf(t, cluster)
  const guest = await runtime.start(specOf())
  const [pod] = cluster.kubernetes.list("pods")
  cluster.kubernetes.put("pods", pod.metadata.name, {
    metadata: { deletionTimestamp: "2026-01-01T00:00:00Z", deletionGracePeriodSeconds: 1 },
  })
  assert.equal(await guest.ended, "died")
  await rejectsAs("unavailable", () => shell(guest, "true"))
})

test("while the API is away starts are unavailable and what runs goes on; then all is as before", {
  skip,
}, async t => {
  const { kubernetes, ...cluster } = await clusterOf(t)
  const runtime = await runtimeOf(t, { kubernetes, ...cluster })
  const spec = specOf()
  const guest = await runtime.start(spec)
  kubernetes.setDown(true)
  await rejectsAs("unavailable", () => runtime.start(specOf()))
  await rejectsAs("unavailable", () => runtime.create(specOf(persistent)))
  assert.match((await runtime.health()).reason ?? "", /Kubernetes answered 503/)
  assert.equal((await shell(guest, "echo alive")).stdout, "alive\n")
  kubernetes.setDown(false)
  assert.deepEqual(await runtime.health(), { ok: true })
  await runtime.stop(spec.id, 0)
  assert.equal(await guest.ended, "stopped")
  assert.equal((await shell(await runtime.start(spec), "echo again")).stdout, "again\n")
})

test("what commands say is nowhere on the node", { skip }, async t => {
  const cluster = await clusterOf(t)
  const runtime = await runtimeOf(t, cluster)
  const guest = await runtime.start(specOf())
  assert.equal((await shell(guest, "echo a-secret-of-a-tenant")).stdout, "a-secret-of-a-tenant\n")
  for (const log of await cluster.kubelet.logs()) assert.doesNotMatch(log, /a-secret/)
})

test("a cluster that does not enforce NetworkPolicies is refused", { skip }, async t => {
  // There the Pods' network is this machine's, where the API server listens.
  const cluster = await clusterOf(t, { enforcesPolicies: false })
  await assert.rejects(openIn(cluster), { kind: "refused", message: /does not enforce NetworkPolicies/ })
  assert.deepEqual(namesIn(cluster), [])
})

test("Pods have users of their own where server and nodes can, and the operator reads where they cannot", {
  skip,
}, async t => {
  const usersOf = async (options: ClusterOptions) => {
    const cluster = await clusterOf(t, options)
    const runtime = await runtimeOf(t, cluster, options.refusesUsers ? { sandboxMsMax: 1_000 } : {})
    await runtime.start(specOf())
    const [pod] = cluster.kubernetes.list("pods")
    return [
      pod.spec.hostUsers,
      runtime.capabilities.reasons.find(reason => reason.includes("hostUsers")) ?? "",
    ]
  }
  const [known, unknown, refused] = await Promise.all([
    usersOf({ knowsUsers: true }),
    usersOf({ knowsUsers: false }),
    usersOf({ knowsUsers: true, refusesUsers: true }),
  ])
  assert.deepEqual(known, [false, ""])
  assert.match(String(unknown[1]), /knows no users/)
  assert.equal(refused[0], undefined)
  assert.match(String(refused[1]), /start no Pod that has users/)
})

test("where agent-sandbox is, workloads are Sandboxes, which keep their disks while they are suspended", {
  skip,
}, async t => {
  const cluster = await clusterOf(t, { lacks: [] })
  startAgentSandbox(cluster.kubernetes)
  const { kubernetes } = cluster
  const runtime = await runtimeOf(t, cluster)
  const [spec, brief, other] = [specOf(persistent), specOf(), specOf(persistent)]
  await runtime.create(other)
  const modeOf = (id: string) =>
    kubernetes.list("sandboxes").find(({ metadata }) => metadata.labels["svc.workload"] === id)?.spec
      .operatingMode
  assert.equal(modeOf(other.id), "Suspended")
  assert.deepEqual(kubernetes.list("pods"), [])
  await shell(await runtime.start(spec), "echo kept >file; sync")
  assert.equal(modeOf(spec.id), "Running")
  await runtime.start(brief)
  assert.deepEqual(new Set(await runtime.list()), new Set([spec.id, brief.id, other.id]))
  await runtime.stop(spec.id, 0)
  await runtime.stop(brief.id, 0)
  assert.deepEqual([modeOf(spec.id), modeOf(brief.id)], ["Suspended", undefined])
  assert.deepEqual(kubernetes.list("pods"), [])
  const again = await runtime.start({ ...spec, memoryBytes: 128 * MiB })
  assert.equal((await shell(again, "cat file")).stdout, "kept\n")
  const [pod] = kubernetes.list("pods")
  assert.equal(pod.spec.containers[0].resources.limits.memory, String(128 * MiB))
  for (const { id } of [spec, other]) await runtime.destroy(id)
  assert.deepEqual(
    [kubernetes.list("sandboxes"), kubernetes.list("persistentvolumeclaims"), kubernetes.list("pods")],
    [[], [], []],
  )
})

test("an image that does not come and a RuntimeClass that is not there are told at once, with their names", async t => {
  const kubernetes = await startFakeKubernetes("workloads", { lacks: ["sandboxes"], hasNodes: true })
  atEnd(t, () => kubernetes[Symbol.asyncDispose]())
  const place = { apiUrl: kubernetes.url, token: kubernetes.token, namespace: "workloads" }
  const open = (given: object) => openKubernetesRuntime({ dataDir: temporaryDir(t), log, ...place, ...given })
  await assert.rejects(open({ runtimeClass: "gvisor" }), {
    kind: "refused",
    message: /no RuntimeClass gvisor/,
  })
  const waiting = { reason: "ErrImagePull", message: "no such image" }
  kubernetes.listen(({ kind, type, object: { metadata } }) => {
    if (kind !== "pods") return
    const status = { phase: "Pending", containerStatuses: [{ name: "workload", state: { waiting } }] }
    if (type === "ADDED") setImmediate(() => kubernetes.put("pods", metadata.name, { status }))
    else if (metadata.deletionTimestamp) setImmediate(() => kubernetes.remove("pods", metadata.name))
  })
  await assert.rejects(open({ image: "example.com/none" }), /ErrImagePull no such image/)
  assert.deepEqual(namesIn({ kubernetes }), [])
})

test("without a cluster the driver is refused, with what would help", async t => {
  const given = { dataDir: temporaryDir(t), log, demand: "kubernetes", refusesWeak: true } as const
  await using none = await openRuntime(given)
  assert.match((await none.health()).reason ?? "", /SVC_KUBERNETES_CONFIG/)
  await using unreadable = await openRuntime({ ...given, kubernetes: { config: "/nonexistent" } })
  assert.match((await unreadable.health()).reason ?? "", /\/nonexistent cannot be read/)
})
