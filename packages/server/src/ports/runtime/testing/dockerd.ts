/** A Docker daemon of a test's own, in folders of its own. */
import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { text } from "node:stream/consumers"
import { setTimeout as delay } from "node:timers/promises"
import { PortError } from "../../port-error.ts"
import { openDockerApi } from "../drivers/docker/api.ts"
import { programIn } from "../drivers/process/host.ts"
import type { RuntimePort } from "../port.ts"

export interface Dockerd extends AsyncDisposable {
  readonly host: string
}

const START_MS_MAX = 60_000
const POLL_MS = 50

const answers = async (host: string, child: ChildProcess): Promise<boolean> => {
  const deadline = performance.now() + START_MS_MAX
  while (child.exitCode === null && performance.now() < deadline) {
    try {
      ;(await openDockerApi(host))[Symbol.dispose]()
      return true
    } catch {
      await delay(POLL_MS)
    }
  }
  return false
}

/** Gives why there can be none in place of one. TEST_DOCKER_HOST: one that a test has started already. */
export const startDockerd = async (): Promise<Dockerd | string> => {
  const { TEST_DOCKER_HOST: host } = process.env
  return host === undefined ? startOwn() : { host, [Symbol.asyncDispose]: async () => undefined }
}

const startOwn = async (): Promise<Dockerd | string> => {
  const program = await programIn("dockerd")
  if (program === undefined) return "dockerd is missing: install the package docker.io"
  if (process.getuid?.() !== 0) return "only root can start a dockerd"
  const folder = await mkdtemp(join(tmpdir(), "svc-dockerd-"))
  // The machine's own would count otherwise.
  await writeFile(join(folder, "daemon.json"), "{}")
  const host = `unix://${folder}/docker.sock`
  const places = [
    "--data-root",
    `${folder}/data`,
    "--exec-root",
    `${folder}/exec`,
    "--pidfile",
    `${folder}/pid`,
  ]
  const alone = [
    "--iptables=false",
    "--ip6tables=false",
    "--ip-forward=false",
    "--bridge=none",
    "--config-file",
    `${folder}/daemon.json`,
  ]
  const child = spawn(program, ["--host", host, ...places, ...alone], { stdio: ["ignore", "ignore", "pipe"] })
  const told = text(child.stderr)
  const exited = once(child, "exit")
  let stopping: Promise<void> | undefined
  const stop = () => (stopping ??= end())
  const end = async () => {
    if (child.exitCode === null && child.signalCode === null) {
      child.kill("SIGTERM")
      await exited
    }
    await rm(folder, { recursive: true, force: true, maxRetries: 10 })
  }
  if (await answers(host, child)) return { host, [Symbol.asyncDispose]: stop }
  await stop()
  return `dockerd does not start here: ${(await told).trim().split("\n").at(-1)}`
}

/** Opens the driver on a daemon that is the runtime's own and ends with it. Rejects where there can be none. */
export const openWithDockerd = async (
  open: (dockerHost: string) => Promise<RuntimePort>,
): Promise<RuntimePort> => {
  const dockerd = await startDockerd()
  if (typeof dockerd === "string") throw new PortError("refused", dockerd)
  try {
    const runtime = await open(dockerd.host)
    return {
      ...runtime,
      async [Symbol.asyncDispose]() {
        await runtime[Symbol.asyncDispose]()
        await dockerd[Symbol.asyncDispose]()
      },
    }
  } catch (error) {
    await dockerd[Symbol.asyncDispose]()
    throw error
  }
}
