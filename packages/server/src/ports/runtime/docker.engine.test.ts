import assert from "node:assert/strict"
import { spawn } from "node:child_process"
import { randomUUID } from "node:crypto"
import { once } from "node:events"
import { chmod, chown, mkdtemp, readdir, readFile, readlink, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { text } from "node:stream/consumers"
import { after, type TestContext, test } from "node:test"
import { fileURLToPath } from "node:url"
import { eventually } from "../../testing/eventually.ts"
import { PortError } from "../port-error.ts"
import { MiB, persistent, processesWith, rejectsAs, shell, specOf, startIn } from "./conformance/fixture.ts"
import { runtimeConformance } from "./conformance.ts"
import { type DockerApi, openDockerApi } from "./drivers/docker/api.ts"
import { openDockerRuntime } from "./drivers/docker/driver.ts"
import { openRuntime } from "./index.ts"
import { startDockerd } from "./testing/dockerd.ts"

const log = () => undefined
const dockerd = await startDockerd()
const dockerHost = typeof dockerd === "string" ? "" : dockerd.host
const openIn = (dataDir: string) => openDockerRuntime({ dataDir, log, dockerHost })

const openWithFolder = async () => {
  const dataDir = await mkdtemp(join(tmpdir(), "svc-runtime-"))
  const leave = () => rm(dataDir, { recursive: true, force: true })
  const runtime = await openIn(dataDir).catch(async error => {
    await leave()
    throw error
  })
  return {
    ...runtime,
    async [Symbol.asyncDispose]() {
      await runtime[Symbol.asyncDispose]()
      await leave()
    },
  }
}

/** What is tested, or why nothing can be here. */
const opened = await (async () => {
  if (typeof dockerd === "string") return dockerd
  try {
    return await openWithFolder()
  } catch (error) {
    if (error instanceof PortError) return error.message
    throw error
  }
})()
const skip = typeof opened === "string" ? opened : false
after(async () => {
  if (typeof opened !== "string") await opened[Symbol.asyncDispose]()
  if (typeof dockerd !== "string") await dockerd[Symbol.asyncDispose]()
})

const temporaryFolder = async (t: TestContext): Promise<string> => {
  const folder = await mkdtemp(join(tmpdir(), "svc-runtime-"))
  t.after(() => rm(folder, { recursive: true, force: true }))
  return folder
}

if (typeof opened === "string")
  test("docker keeps the promises of the runtime port", { skip }, () => undefined)
// Whose end comes after the other tests'.
else runtimeConformance("docker", async () => ({ ...opened, [Symbol.asyncDispose]: async () => undefined }))

/** The driver that most tests share. */
const shared = () => {
  assert.ok(typeof opened !== "string")
  return opened
}

interface Inspected {
  readonly Id: string
  readonly State: { readonly Pid: number }
}

/** Those of one workload, or all that the daemon has. */
const containersOf = async (api: DockerApi, id?: string): Promise<readonly Inspected[]> => {
  const filters = JSON.stringify(id === undefined ? {} : { label: [`svc.workload=${id}`] })
  const query = { all: "1", filters }
  const found = (await api.call("GET", "/containers/json", { query })) as readonly Inspected[]
  const inspected = await Promise.all(
    // One that goes between the two questions is not there.
    found.map(({ Id }) => api.call("GET", `/containers/${Id}/json`, { accepts: [404] })),
  )
  return (inspected as readonly (Inspected | undefined)[]).filter(one => one !== undefined)
}

/** What Docker and this machine still have of workloads. */
const leftBy = async (api: DockerApi, folder: string): Promise<readonly string[]> => {
  const volumes = (await api.call("GET", "/volumes")) as { Volumes: readonly { Name: string }[] | null }
  const loops = await Promise.all(
    (await readdir("/sys/block").catch(() => []))
      .filter(name => name.startsWith("loop"))
      .map(name => readFile(`/sys/block/${name}/loop/backing_file`, "utf8").catch(() => "")),
  )
  return [
    ...(await containersOf(api)).map(({ Id }) => `container ${Id}`),
    ...(volumes.Volumes ?? []).map(({ Name }) => `volume ${Name}`),
    ...loops.filter(path => path.startsWith(folder)).map(path => `loop device of ${path}`),
  ]
}

/**
 * A daemon mounts disks where whoever makes a name space of mounts gets a copy, as every workload of another driver does
 * at first: until that copy is gone the kernel keeps the device.
 */
const untilNothingIsLeft = (api: DockerApi, folder: string): Promise<true> =>
  eventually("nothing is left", async () => (await leftBy(api, folder)).length === 0)

test("a container has none of the machine's name spaces, rights or files that can be written", {
  skip,
}, async t => {
  const runtime = shared()
  using api = await openDockerApi(dockerHost)
  assert.deepEqual(
    [runtime.capabilities.driver, runtime.capabilities.isolation, runtime.capabilities.separatesRoot],
    ["docker", "container", true],
  )
  const { guest, spec } = await startIn(t, { runtime })
  const [container] = await containersOf(api, spec.id)
  assert.ok(container)
  const pid = container.State.Pid
  for (const name of ["cgroup", "ipc", "mnt", "net", "pid", "user", "uts"])
    assert.notEqual(await readlink(`/proc/${pid}/ns/${name}`), await readlink(`/proc/self/ns/${name}`), name)
  const status = await readFile(`/proc/${pid}/status`, "utf8")
  // In the users of its own, who are none of the machine's.
  assert.match(status, /^Uid:\t19\d{8}\t/m)
  assert.match(status, /^NoNewPrivs:\t1$/m)
  assert.match(status, /^Seccomp:\t2$/m)
  const { stdout } = await shell(guest, "cat /proc/self/uid_map | tr -s ' '", { user: "root" })
  assert.match(stdout, /^ 0 19\d{8} 65536$/m)
  const mounts = await readFile(`/proc/${pid}/mountinfo`, "utf8")
  assert.doesNotMatch(mounts, /docker\.sock|guests\.sock|\/\.svc\/platform/)
})

test("what Docker itself starts in a container of ours has no rights that reach out of it", {
  skip,
}, async t => {
  const runtime = shared()
  using api = await openDockerApi(dockerHost)
  const { spec } = await startIn(t, { runtime })
  const [container] = await containersOf(api, spec.id)
  const isArm = process.arch === "arm64"
  // bpf userfaultfd keyctl setns io_uring_setup open_by_handle_at kexec_load
  const calls = isArm ? [280, 282, 219, 268, 425, 265, 104] : [321, 323, 250, 308, 425, 304, 246]
  const program = `my @open = grep { my $z = "\\0" x 256; syscall($_, 1, $z, 64, 0, 0) >= 0 } ${calls.join()};
    push @open, grep { socket my $s, $_, 3, 0 } 17, 38, 40, 2;
    open my $s, "<", "/proc/self/status"; push @open, grep { /^Cap(Prm|Bnd|Eff)/ && !/\\t00000000000000c3$/ } <$s>;
    exit(@open ? 1 : 0)`
  const made = await api.call("POST", `/containers/${container?.Id}/exec`, {
    body: { Cmd: ["/usr/bin/perl", "-e", program] },
  })
  const { Id } = made as { Id: string }
  await api.call("POST", `/exec/${Id}/start`, { body: { Detach: true } })
  const state = async () =>
    (await api.call("GET", `/exec/${Id}/json`)) as { Running: boolean; ExitCode: number | null }
  await eventually("it has tried", async () => !(await state()).Running)
  assert.equal((await state()).ExitCode, 0)
})

test("kill -9 of the platform ends its containers, and the next one finds the disks and nothing else", {
  skip,
}, async t => {
  const dataDir = await temporaryFolder(t)
  using api = await openDockerApi(dockerHost)
  const marker = `.${Math.floor(Math.random() * 1e9)}`
  const [kept, other, frozen] = [randomUUID(), randomUUID(), randomUUID()] as const
  const program = fileURLToPath(new URL("testing/holder.ts", import.meta.url))
  const child = spawn(process.execPath, [program, "docker", dataDir, marker, kept, other, frozen], {
    stdio: ["ignore", "pipe", "inherit"],
    env: { ...process.env, SVC_DOCKER_HOST: dockerHost },
  })
  t.after(() => child.kill("SIGKILL"))
  await once(child.stdout, "data")
  const before = (await processesWith(marker)).length
  assert.ok(before > 6, String(before))
  const exited = once(child, "exit")
  child.kill("SIGKILL")
  await exited
  await eventually(
    "only the frozen one is there",
    async () => (await processesWith(marker)).length < before / 2,
  )

  const runtime = await openIn(dataDir)
  t.after(() => runtime[Symbol.asyncDispose]())
  assert.deepEqual(await processesWith(marker), [])
  await untilNothingIsLeft(api, dataDir)
  assert.deepEqual(await runtime.list(), [kept])
  const again = await runtime.start(specOf({ id: kept, disk: { kind: "persistent", bytes: 32 * MiB } }))
  assert.equal((await shell(again, "cat /workspace/file")).stdout, "kept\n")
  await runtime.destroy(kept)
  await untilNothingIsLeft(api, dataDir)
  assert.deepEqual(await readdir(join(dataDir, "workloads", "disks")), [])
})

test("workloads that were used and destroyed leave nothing in Docker and nothing on this machine", {
  skip,
}, async t => {
  const dataDir = await temporaryFolder(t)
  using api = await openDockerApi(dockerHost)
  const runtime = await openIn(dataDir)
  const marker = `.${Math.floor(Math.random() * 1e9)}`
  const specs = [specOf(), specOf(persistent), specOf(persistent)]
  await Promise.all(
    specs.map(async spec => {
      const guest = await runtime.start(spec)
      await shell(guest, `setsid sleep 1000${marker} & echo`)
      await runtime.destroy(spec.id)
    }),
  )
  assert.deepEqual(await processesWith(marker), [])
  await untilNothingIsLeft(api, dataDir)
  assert.deepEqual(await runtime.list(), [])
  await runtime[Symbol.asyncDispose]()
  assert.deepEqual(await readdir(dataDir, { recursive: true }), ["workloads", "workloads/disks"])
})

test("a container that somebody ends from outside has died, and starts again", { skip }, async t => {
  const runtime = shared()
  using api = await openDockerApi(dockerHost)
  const { guest, spec } = await startIn(t, { runtime })
  const [container] = await containersOf(api, spec.id)
  await api.call("POST", `/containers/${container?.Id}/kill`)
  assert.equal(await guest.ended, "died")
  assert.equal((await shell(await runtime.start(spec), "echo again")).stdout, "again\n")
})

test("when the daemon is stopped its workloads end with it, and the driver tells that it is away", {
  skip,
}, async t => {
  const own = await startDockerd()
  assert.ok(typeof own !== "string")
  const dataDir = await temporaryFolder(t)
  const runtime = await openDockerRuntime({ dataDir, log, dockerHost: own.host })
  t.after(() => runtime[Symbol.asyncDispose]())
  const marker = `.${Math.floor(Math.random() * 1e9)}`
  const guest = await runtime.start(specOf())
  await guest.exec({ argv: ["sleep", `1000${marker}`] })
  await own[Symbol.asyncDispose]()
  assert.equal(await guest.ended, "died")
  assert.deepEqual(await processesWith(marker), [])
  assert.match((await runtime.health()).reason ?? "", /SVC_DOCKER_HOST/)
  await rejectsAs("unavailable", () => runtime.start(specOf()))
})

test("an image that somebody tidied away is there again when it is needed", { skip }, async t => {
  const runtime = shared()
  using api = await openDockerApi(dockerHost)
  const filters = JSON.stringify({ dangling: ["false"] })
  await api.call("POST", "/images/prune", { query: { filters } })
  assert.deepEqual(await api.call("GET", "/images/json"), [])
  const { guest } = await startIn(t, { runtime })
  assert.equal((await shell(guest, "echo again")).stdout, "again\n")
})

const NOBODY = 65_534
const asNobody =
  "to the letter|SIGKILL all|owner, mode|after a stop and a start, until|mounted|agent cannot|megabytes"

test("started by an ordinary user who may use Docker, workloads keep all but the size of their disks", {
  skip: skip || (process.getuid?.() !== 0 && "only root can become somebody else"),
}, async t => {
  const folder = await temporaryFolder(t)
  await chown(folder, NOBODY, NOBODY)
  const socket = dockerHost.replace("unix://", "")
  await chmod(dirname(socket), 0o711)
  await chmod(socket, 0o666)
  const { NODE_TEST_CONTEXT: _, ...inherited } = process.env
  const args = ["--test", "--test-name-pattern", asNobody, fileURLToPath(import.meta.url)]
  const env = { ...inherited, TMPDIR: folder, TEST_DOCKER_HOST: dockerHost }
  const options = { uid: NOBODY, gid: NOBODY, env }
  const program = spawn(process.execPath, args, { ...options, stdio: ["ignore", "pipe", "inherit"] })
  t.after(() => program.kill("SIGKILL"))
  const [said, [code]] = await Promise.all([text(program.stdout), once(program, "close")])
  if (/EACCES/.test(said)) return t.skip("nobody may read the program")
  assert.equal(code, 0, said)
  assert.match(said, /pass [1-9]/)
  using api = await openDockerApi(dockerHost)
  assert.deepEqual(await leftBy(api, folder), [])
})

test("without Docker the driver is refused, with what would help", async t => {
  const dataDir = await temporaryFolder(t)
  const given = { dataDir, log, demand: "docker", refusesWeak: true } as const
  await using runtime = await openRuntime({ ...given, dockerHost: `unix://${dataDir}/none.sock` })
  await rejectsAs("unavailable", () => runtime.start(specOf()))
  assert.match((await runtime.health()).reason ?? "", /docker\.io.*SVC_DOCKER_HOST/)
})
