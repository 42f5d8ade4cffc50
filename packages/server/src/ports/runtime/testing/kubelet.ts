/**
 * A node for the fake Kubernetes: really runs what Pods say, in containers of runc (Debian's docker.io brings it), each in
 * the name spaces, with the rights, the file systems and the limits that a kubelet with containerd gives it. Its network
 * leads nowhere, as that of Pods does to which NetworkPolicies allow nothing.
 */
import { type ChildProcess, execFile, spawn } from "node:child_process"
import { randomUUID } from "node:crypto"
import { once } from "node:events"
import { closeSync, existsSync, openSync } from "node:fs"
import { cp, mkdir, mkdtemp, readdir, readFile, rm, rmdir, symlink, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { setTimeout as delay } from "node:timers/promises"
import { promisify } from "node:util"
import type { WebSocket } from "ws"
import type { FakeKubernetes, Stored } from "../../kubernetes/testing/kubernetes.ts"
import { programIn } from "../drivers/process/host.ts"
import { hostPaths } from "./image-root.ts"
import { bundleOf, type Container } from "./oci.ts"
import { createVolumes, type Volumes } from "./pod-volumes.ts"

const run = promisify(execFile)

export interface Kubelet extends AsyncDisposable {
  /** Those of Pods that are there. */
  readonly pods: readonly string[]
  /** What containers of Pods that are there said, as nodes keep it. */
  logs(): Promise<readonly string[]>
}

export interface KubeletOptions {
  /** Where Pods are told that the API server is. */
  readonly apiServer?: { readonly host: string; readonly port: number }
  /** What nodes do whose cluster enforces no NetworkPolicies: this machine's network is the Pods' own. */
  readonly enforcesPolicies?: boolean
  /** Pods with users of their own do not start. */
  readonly refusesUsers?: boolean
}

const POLL_MS = 10
const OOM_POLL_MS = 25

interface Node {
  readonly kubernetes: FakeKubernetes
  readonly options: KubeletOptions
  readonly runc: string
  readonly folder: string
  readonly imageRoot: string
  readonly volumes: Volumes
  readonly isUnified: boolean
  /** The control groups of its Pods. */
  readonly group: string
}

interface Running {
  readonly id: string
  readonly pid: number
  readonly group: string
  readonly ended: Promise<{ readonly exitCode: number; readonly reason: string; readonly message: string }>
}

const memoryGroup = ({ isUnified }: Node, group: string) =>
  isUnified ? join("/sys/fs/cgroup", group) : join("/sys/fs/cgroup/memory", group)

const textOf = (path: string) => readFile(path, "utf8").catch(() => "")

/** Where the kernel only stops who wants too much memory: ends it. Tells whether that happened. */
const watchMemory = (node: Node, running: { pid: number; group: string }) => {
  let isOut = false
  const look = async () => {
    if (!/under_oom 1/.test(await textOf(join(memoryGroup(node, running.group), "memory.oom_control"))))
      return
    isOut = true
    for (const pid of (await textOf(join(memoryGroup(node, running.group), "cgroup.procs"))).split("\n"))
      if (pid !== "") kill(Number(pid), "SIGKILL")
  }
  const timer = node.isUnified ? undefined : setInterval(() => void look(), OOM_POLL_MS)
  return async () => {
    clearInterval(timer)
    const events = await textOf(join(memoryGroup(node, dirname(running.group)), "memory.events"))
    return isOut || Number(/^oom_kill (\d+)/m.exec(events)?.[1] ?? 0) > 0
  }
}

const kill = (pid: number, signal: NodeJS.Signals) => {
  try {
    process.kill(pid, signal)
  } catch {
    // It has ended.
  }
}

/** The Pod's name spaces, kept by a process that does nothing, and ends with this one in any case. */
const startSandbox = async ({ options }: Node, hostname: string) => {
  const network = options.enforcesPolicies === false ? [] : ["--net"]
  const script = `ip link set lo up && hostname ${hostname} && echo up && exec cat`
  const child = spawn("unshare", [...network, "--ipc", "--uts", "sh", "-c", script], {
    stdio: ["pipe", "pipe", "inherit"],
  })
  await once(child.stdout, "data")
  const at = (name: string) => `/proc/${child.pid}/ns/${name}`
  return { child, namespaces: { network: at("net"), ipc: at("ipc"), uts: at("uts") } }
}

const untilStarted = async (pidFile: string, child: ChildProcess): Promise<number> => {
  for (;;) {
    const pid = Number(await textOf(pidFile))
    if (pid > 0) return pid
    if (child.exitCode !== null) return 0
    await delay(POLL_MS)
  }
}

class PodRun {
  readonly #node: Node
  readonly #pod: Stored
  readonly #at: string
  readonly #running = new Map<string, Running>()
  #sandbox: Awaited<ReturnType<typeof startSandbox>> | undefined
  #isEnding = false
  readonly done: Promise<void>

  constructor(node: Node, pod: Stored) {
    this.#node = node
    this.#pod = pod
    this.#at = join(node.folder, "pods", pod.metadata.uid)
    this.done = this.#work().catch(error => this.#tell({ phase: "Failed", reason: String(error) }))
  }

  #tell(status: object) {
    const { name, uid } = this.#pod.metadata
    if (this.#node.kubernetes.get("pods", name)?.metadata.uid !== uid) return
    this.#node.kubernetes.put("pods", name, { status })
  }

  async #start(container: Container): Promise<Running> {
    const { runc, folder, imageRoot, isUnified, volumes, options } = this.#node
    const { uid } = this.#pod.metadata
    const [id, bundle] = [`${uid}-${container.name}`, join(this.#at, container.name)]
    const group = join(this.#node.group, `pod${uid}`, container.name)
    await mkdir(bundle, { recursive: true })
    if (!this.#sandbox) throw new Error("the Pod has no sandbox")
    const { host = "127.0.0.1", port = 1 } = options.apiServer ?? {}
    const mounts = await volumes.mountsOf(this.#pod, container, this.#at)
    const config = bundleOf({
      ...{ container, rootDir: imageRoot, isUnified, cgroupsPath: group },
      env: [`KUBERNETES_SERVICE_HOST=${host}`, `KUBERNETES_SERVICE_PORT=${port}`],
      namespaces: this.#sandbox.namespaces,
      mounts: [...hostPaths(), ...mounts],
    })
    await writeFile(join(bundle, "config.json"), JSON.stringify(config))
    const log = openSync(join(bundle, "log"), "w")
    const pidFile = join(bundle, "pid")
    const child = spawn(
      runc,
      ["--root", join(folder, "runc"), "run", "--pid-file", pidFile, "--bundle", bundle, id],
      { stdio: ["ignore", log, log] },
    )
    closeSync(log)
    const exited = once(child, "exit") as Promise<[number | null]>
    const pid = await untilStarted(pidFile, child)
    const outOfMemory = watchMemory(this.#node, { pid, group })
    const ended = exited.then(async ([code]) => {
      const isOut = await outOfMemory()
      const message = code === 0 ? "" : (await textOf(join(bundle, "log"))).slice(-2_048)
      return {
        exitCode: code ?? 137,
        reason: isOut ? "OOMKilled" : code === 0 ? "Completed" : "Error",
        message,
      }
    })
    return { id, pid, group, ended }
  }

  async #work() {
    const { spec, metadata } = this.#pod
    if (spec.hostUsers === false && this.#node.options.refusesUsers)
      return this.#tell({ phase: "Pending", conditions: [{ type: "PodScheduled", status: "True" }] })
    this.#sandbox = await startSandbox(this.#node, spec.hostname ?? metadata.name)
    const conditions = ["PodScheduled", "PodReadyToStartContainers"].map(type => ({ type, status: "True" }))
    this.#tell({ phase: "Pending", conditions })
    for (const container of spec.initContainers ?? []) {
      const running = await this.#start(container)
      this.#running.set(container.name, running)
      const terminated = await running.ended
      if (this.#isEnding) return
      this.#tell({ initContainerStatuses: [{ name: container.name, state: { terminated } }] })
      if (terminated.exitCode !== 0) return this.#tell({ phase: "Failed" })
    }
    const states = new Map<string, object>()
    const tellStates = () =>
      this.#tell({
        phase: [...states.values()].some(state => "running" in state) ? "Running" : "Succeeded",
        containerStatuses: [...states].map(([name, state]) => ({ name, state })),
      })
    await Promise.all(
      spec.containers.map(async (container: Container) => {
        const running = await this.#start(container)
        this.#running.set(container.name, running)
        states.set(container.name, { running: { startedAt: new Date().toISOString() } })
        if (this.#isEnding) kill(running.pid, "SIGKILL")
        tellStates()
        states.set(container.name, { terminated: await running.ended })
        tellStates()
      }),
    )
  }

  exec(container: string, argv: readonly string[], socket: WebSocket) {
    const running = this.#running.get(container)
    if (!running) return socket.close()
    const { runc, folder } = this.#node
    const child = spawn(runc, ["--root", join(folder, "runc"), "exec", running.id, ...argv], {
      stdio: ["pipe", "pipe", "pipe"],
    })
    child.stdin.on("error", () => undefined)
    socket.on("message", (message: Buffer) => {
      if (message[0] === 0 && !child.stdin.write(message.subarray(1))) {
        socket.pause()
        child.stdin.once("drain", () => socket.resume())
      }
    })
    for (const [stream, output] of [[1, child.stdout] as const, [2, child.stderr] as const])
      output.on("data", (bytes: Buffer) => {
        output.pause()
        socket.send(Buffer.concat([Buffer.of(stream), bytes]), () => output.resume())
      })
    socket.on("close", () => child.stdin.end())
    child.on("close", code => {
      const status = code === 0 ? { status: "Success" } : { status: "Failure", message: `exit code ${code}` }
      socket.send(Buffer.concat([Buffer.of(3), Buffer.from(JSON.stringify(status))]), () => socket.close())
    })
  }

  /** As a deletion does: asks, and insists after the grace. */
  async end(graceSeconds: number) {
    if (this.#isEnding) return
    this.#isEnding = true
    const all = [...this.#running.values()]
    for (const { pid } of all) kill(pid, "SIGTERM")
    const timer = setTimeout(() => {
      for (const { pid } of all) kill(pid, "SIGKILL")
    }, graceSeconds * 1_000)
    await this.done
    clearTimeout(timer)
    this.#sandbox?.child.kill("SIGKILL")
    await this.#node.volumes.release(this.#at)
    await rm(this.#at, { recursive: true, force: true })
    const pod = join(this.#node.group, `pod${this.#pod.metadata.uid}`)
    await removeGroups(this.#node, pod)
    const { name, uid } = this.#pod.metadata
    if (this.#node.kubernetes.get("pods", name)?.metadata.uid === uid)
      this.#node.kubernetes.remove("pods", name)
  }
}

const removeGroups = async ({ isUnified }: Node, group: string) => {
  const at = "/sys/fs/cgroup"
  const roots = isUnified ? [at] : (await readdir(at)).map(name => join(at, name))
  await Promise.all(roots.map(root => rmdir(join(root, group)).catch(() => undefined)))
}

/** Why there can be none here; undefined when there can. */
export const withoutKubelet = async (): Promise<string | undefined> => {
  if (process.getuid?.() !== 0) return "only root can be a node"
  for (const [program, name] of Object.entries({ runc: "docker.io", ip: "iproute2", unshare: "util-linux" }))
    if ((await programIn(program)) === undefined) return `${program} is missing: install the package ${name}`
  return undefined
}

/** The image that Pods start from here: this machine's programs, with settings of an image's own. */
const makeImage = async (folder: string): Promise<string> => {
  const root = join(folder, "image")
  for (const name of ["etc/ssl", "var/lib/dpkg", "tmp", "root", "opt"])
    await mkdir(join(root, name), { recursive: true })
  for (const name of ["bin", "sbin", "lib", "lib64"]) await symlink(`usr/${name}`, join(root, name))
  for (const name of ["alternatives", "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "ssl/certs"])
    if (existsSync(`/etc/${name}`))
      await cp(`/etc/${name}`, join(root, "etc", name), { recursive: true, verbatimSymlinks: true })
  const texts = {
    passwd: "root:x:0:0:root:/root:/bin/bash\nnobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n",
    group: "root:x:0:\ntty:x:5:\nnogroup:x:65534:\n",
    "nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\n",
  }
  for (const [name, text] of Object.entries(texts)) await writeFile(join(root, "etc", name), text)
  return root
}

export const startKubelet = async (
  kubernetes: FakeKubernetes,
  options: KubeletOptions = {},
): Promise<Kubelet> => {
  const folder = await mkdtemp(join(tmpdir(), "svc-kubelet-"))
  const pods = new Map<string, PodRun>()
  const ended = new Set<Promise<void>>()
  const node: Node = {
    ...{ kubernetes, options, folder, runc: (await programIn("runc")) ?? "runc" },
    imageRoot: await makeImage(folder),
    volumes: createVolumes(kubernetes, folder),
    isUnified: existsSync("/sys/fs/cgroup/cgroup.controllers"),
    group: `/kubepods-${randomUUID().slice(0, 8)}`,
  }
  let isClosed = false
  const end = (uid: string, grace: number) => {
    const pod = pods.get(uid)
    pods.delete(uid)
    if (!pod) return
    const ending = pod.end(grace).finally(() => ended.delete(ending))
    ended.add(ending)
  }
  kubernetes.listen(({ type, kind, object }) => {
    if (isClosed) return
    const { uid, deletionTimestamp, deletionGracePeriodSeconds } = object.metadata
    if (kind === "persistentvolumeclaims" && type === "DELETED") void node.volumes.free(object)
    if (kind !== "pods") return
    if (type === "ADDED") pods.set(uid, new PodRun(node, object))
    else if (type === "DELETED") end(uid, 0)
    else if (deletionTimestamp !== undefined) end(uid, deletionGracePeriodSeconds ?? 30)
  })
  kubernetes.serveExec(({ pod, container, argv }, socket) => {
    const { uid } = kubernetes.get("pods", pod)?.metadata ?? {}
    const found = pods.get(uid)
    if (found) found.exec(container, argv, socket)
    else socket.close()
  })
  return {
    get pods() {
      return [...pods.keys()]
    },
    async logs() {
      // <uid>/<container>/log: deeper are volumes.
      const files = (await readdir(join(folder, "pods"), { recursive: true })).filter(name =>
        /^[^/]+\/[^/]+\/log$/.test(name),
      )
      return Promise.all(files.map(name => readFile(join(folder, "pods", name), "utf8")))
    },
    async [Symbol.asyncDispose]() {
      isClosed = true
      for (const uid of [...pods.keys()]) end(uid, 0)
      await Promise.all(ended)
      await node.volumes[Symbol.asyncDispose]()
      await removeGroups(node, node.group)
      await run("umount", ["-R", "-l", folder]).catch(() => undefined)
      await rm(folder, { recursive: true, force: true })
    },
  }
}
